"""`hakiri engine`: the warm Spark servers of this user."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, examples, group_door

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hakiri.cli.reports import EngineStatusReport
    from hakiri.cli.reports.engine import ServerRow
    from hakiri.engine import ServerState

cli = group_door(
    "Start, stop and watch the warm Spark servers of this user.\n\n"
    "Commands that need Spark start a server when there is none, and find it again the next time. It "
    "listens on loopback only, wants a token that only you can read, and stops by itself when nothing has "
    "used it for `engine.idle_timeout` (10 minutes).",
    epilog=examples("hakiri engine status", "hakiri engine stop"),
)


@cli.command("status", epilog=examples("hakiri engine status", "hakiri engine status --json"))
def status(ctx: typer.Context, *, as_json: AsJson = False) -> None:
    """Show every server that is up or starting."""
    from hakiri.engine import EngineHome, server_states

    app = app_of(ctx)
    states = server_states(EngineHome.of(app.env))
    if as_json:
        app.console.data(_report(states))
    elif not states:
        app.console.print("no Spark server is up; the first command that needs one starts it")
    else:
        rows = [_row(state) for state in states]
        app.console.table(
            ("server", "state", "master", "spark", "java", "pid", "up since", "stops after"),
            [
                (
                    row.server,
                    row.state,
                    row.master or "",
                    row.spark_version or "",
                    row.java or "",
                    "" if row.pid is None else str(row.pid),
                    (row.started_at or "")[:19].replace("T", " "),
                    "" if row.idle_seconds is None else f"{row.idle_seconds:.0f} s idle",
                )
                for row in rows
            ],
        )


@cli.command(
    "start", epilog=examples("hakiri engine start", "hakiri engine start --set engine.master=local[2]")
)
def start(ctx: typer.Context, *, as_json: AsJson = False) -> None:
    """Start the server that the settings describe, or find it up."""
    from hakiri.cli.progress import SparkDisplay
    from hakiri.cli.project import settings_of
    from hakiri.cli.spark import engine_of
    from hakiri.core.errors import UsageError
    from hakiri.engine import join_server, server_states

    app = app_of(ctx)
    engine = engine_of(app, settings_of(app))
    if not engine.config.kind.needs_server:
        raise UsageError(
            "engine.master is an sc:// address, whose server is not ours to start",
            hint="start it where it runs, or set engine.master to local[*]",
        )
    display = SparkDisplay(app.console)
    try:
        joined = join_server(engine.plan(), engine.home, engine.clock, while_starting=display.starting)
        joined.leave()
    finally:
        display.close()
    if as_json:
        states = server_states(engine.home)
        app.console.data(_report([state for state in states if state.key == joined.record.key]))
    elif joined.was_started:
        app.console.print(f"server {joined.record.key} is up after {joined.record.start_seconds:.1f} s")
    else:
        app.console.print(f"server {joined.record.key} was up already")


@cli.command("stop", epilog=examples("hakiri engine stop", "hakiri engine stop --force"))
def stop(
    ctx: typer.Context,
    *,
    force: Annotated[bool, typer.Option("--force", help="Also stop servers that a command uses.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop every server of this user. Refused (exit code 4) while a command uses one."""
    from hakiri.engine import EngineHome, stop_servers

    app = app_of(ctx)
    stopped = stop_servers(EngineHome.of(app.env), app.clock, force=force)
    if as_json:
        app.console.data(_report(stopped))
    elif not stopped:
        app.console.print("no Spark server was up")
    for state in stopped if not as_json else ():
        app.console.print(f"stopped server {state.key}")


@cli.command("logs", epilog=examples("hakiri engine logs", "hakiri engine logs --lines 200"))
def logs(
    ctx: typer.Context,
    *,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="How many lines from the end.")] = 50,
) -> None:
    """Print the end of the log of every server, the latest last."""
    from hakiri.engine import EngineHome

    app = app_of(ctx)
    folders = [folder for folder in EngineHome.of(app.env).servers() if folder.log.is_file()]
    if not folders:
        app.console.note("no Spark server has written a log yet")
    for folder in sorted(folders, key=lambda each: each.log.stat().st_mtime):
        app.console.note(f"==> {folder.log} <==")
        for line in folder.log_tail(lines):
            app.console.print(line)


@cli.command("archive", epilog=examples("hakiri engine archive"))
def archive(ctx: typer.Context) -> None:
    """Make the archive that halves Spark's start now, and wait for it.

    It is made by itself in the background after the first start; this is for images and for the impatient.
    """
    from hakiri.cli.project import settings_of
    from hakiri.cli.spark import engine_of
    from hakiri.engine import archive_for, make_archive

    app = app_of(ctx)
    engine = engine_of(app, settings_of(app))
    plan = engine.plan()
    if not archive_for(plan.java, plan.spark, engine.home).exists():
        app.console.note("making the class archive; this takes about a minute …")
    made = make_archive(plan.java, plan.spark, engine.home, app.env, app.clock)
    app.console.print(f"the archive is {made.path}")


def _report(states: Sequence[ServerState]) -> EngineStatusReport:
    from hakiri.cli.reports import EngineStatusReport

    return EngineStatusReport(servers=tuple(_row(state) for state in states))


def _row(state: ServerState) -> ServerRow:
    from hakiri.cli.reports.engine import ServerRow
    from hakiri.cli.values import moment_text

    record = state.record
    return ServerRow(
        server=state.key,
        state="starting" if not state.is_up else "in use" if state.is_in_use else "idle",
        master=record.master if record else None,
        spark_version=record.spark_version if record else None,
        java=record.java if record else None,
        pid=record.pid if record else None,
        started_at=moment_text(datetime.fromisoformat(record.started_at)) if record else None,
        start_seconds=record.start_seconds if record else None,
        archive_used=record.archive_used if record else None,
        idle_seconds=state.idle_seconds,
        log=state.log,
    )
