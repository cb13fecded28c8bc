"""`hakiri status`: how every pipeline stands, also while another process works."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.console import BOLD, CYAN, GREEN, RED, YELLOW
from hakiri.cli.frame import AsJson, command_door, examples
from hakiri.cli.operating import ago, brief_count, brief_time, desk_of, fact_lines, moment_words, wrapped
from hakiri.core.errors import UsageError

if TYPE_CHECKING:
    from hakiri.cli.console import Console
    from hakiri.cli.operating import Desk
    from hakiri.cli.reports import StatusReport
    from hakiri.pipelines.operations.looking import Standing

cli = command_door()

WATCH_SECONDS = 2.0
_LIGHTS = {"ok": GREEN, "running": CYAN, "partial": YELLOW, "failed": RED}


@cli.command(
    "status",
    epilog=examples(
        "hakiri status", "hakiri status orders", "hakiri status orders --json", "hakiri status --watch"
    ),
)
def status(
    ctx: typer.Context,
    *,
    pipeline_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One pipeline; all if left out.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Look again every 2 seconds, until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show how every pipeline stands, and what waits for a decision.

    Reads the catalog only, so it tells of what another process does right now. With `--json` there is one
    line for each pipeline.
    """
    app = app_of(ctx)
    desk = desk_of(app)
    if pipeline_id is not None:
        desk.project.pipeline(pipeline_id)
    if watch and not as_json and not app.console.out.isatty():
        raise UsageError(
            "`--watch` writes over what it has written, which only a terminal shows",
            hint="leave it out, or add `--json` for lines every 2 seconds",
        )
    if not watch:
        _show(desk, pipeline_id, as_json=as_json)
        return
    try:
        if as_json:
            repeat(lambda: _show(desk, pipeline_id, as_json=True), wait=_wait)
        else:
            watch_lines(app.console, lambda: _lines(desk, pipeline_id), wait=_wait)
    except KeyboardInterrupt:
        return  # that is how one stops watching


def watch_lines(
    console: Console, look: Callable[[], Sequence[str]], *, wait: Callable[[float], object]
) -> None:
    """Write what a look brings over what the last one brought, until somebody interrupts."""
    from rich.live import Live
    from rich.text import Text

    with Live(console=console.rich_out(), auto_refresh=False, vertical_overflow="crop") as live:
        repeat(lambda: live.update(Text.from_ansi("\n".join(look())), refresh=True), wait=wait)


def repeat(work: Callable[[], None], *, wait: Callable[[float], object]) -> None:
    """Do it, wait, and do it again, until somebody interrupts."""
    while True:
        work()
        wait(WATCH_SECONDS)


def _wait(seconds: float) -> object:
    return threading.Event().wait(seconds)


def _show(desk: Desk, pipeline_id: str | None, *, as_json: bool) -> None:
    console = desk.app.console
    if as_json:
        for standing in _look(desk, pipeline_id):
            console.data(_report(standing))
        return
    for line in _lines(desk, pipeline_id):
        console.print(line)


def _look(desk: Desk, pipeline_id: str | None) -> list[Standing]:
    from hakiri.pipelines.operations.looking import standing_of

    now = desk.app.clock.now()
    lease = desk.settings.runtime.lease.after(now) - now
    with desk.looking() as catalog:
        return [
            standing_of(catalog, spec, desk.project.root, now, lease=lease)
            for spec in desk.project.pipelines
            if pipeline_id in (None, spec.id)
        ]


def _lines(desk: Desk, pipeline_id: str | None) -> list[str]:
    console, now = desk.app.console, desk.app.clock.now()
    standings = _look(desk, pipeline_id)
    if pipeline_id is not None:
        return _card(console, standings[0], now)
    if not standings:
        return ["the project has no pipelines yet"]
    lines = _table(console, standings, now)
    if all(standing.latest is None for standing in standings):
        return [*lines, "", "nothing ran yet; `hakiri apply` pulls what there is"]
    for standing in standings:
        trouble = _trouble(console, standing, now)
        if trouble:
            lines += ["", *trouble]
    return lines


def _table(console: Console, standings: Sequence[Standing], now: datetime) -> list[str]:
    from hakiri.cli.board.parts import WIDEST_NAME
    from hakiri.cli.columns import Column, column_lines

    def cells(fact: Callable[[Standing], str]) -> list[str]:
        return [fact(standing) for standing in standings]

    return column_lines(
        console,
        [
            Column(title="state", cells=cells(lambda each: each.light), styles=_LIGHTS),
            Column(title="pipeline", cells=cells(lambda each: each.status.pipeline_id), comfort=WIDEST_NAME),
            Column(title="phase", cells=cells(_phase), worth=75),
            Column(title="chunks", cells=cells(_chunk_cell), is_number=True),
            Column(title="rows", cells=cells(_rows_cell), is_number=True, worth=50),
            Column(title="rows/s", cells=cells(_rate_cell), is_number=True, worth=55),
            Column(title="left", cells=cells(_left_cell), is_number=True, worth=90),
            Column(title="last run", cells=cells(lambda each: _last_cell(each, now)), worth=60),
        ],
    )


def _phase(standing: Standing) -> str:
    return "" if standing.light == "new" else standing.status.phase


def _chunk_cell(standing: Standing) -> str:
    chunks = standing.status.chunks
    if not chunks.total:
        return ""
    return f"{chunks.done}/{chunks.total} {chunks.done * 100 // chunks.total:>3}%"


def _rows_cell(standing: Standing) -> str:
    return "" if standing.latest is None else brief_count(standing.rows)


def _rate_cell(standing: Standing) -> str:
    rate = standing.status.throughput.rows_per_sec
    return brief_count(round(rate)) if standing.is_running and rate else ""


def _left_cell(standing: Standing) -> str:
    seconds = standing.status.eta_seconds
    return brief_time(seconds) if standing.is_running and seconds else ""


def _last_cell(standing: Standing, now: datetime) -> str:
    latest = standing.latest
    if latest is None:
        return ""
    return ago(latest.ended_at or latest.started_at, now)


def _trouble(console: Console, standing: Standing, now: datetime) -> list[str]:
    """What keeps a pipeline from going on, and the commands that help; nothing if all is well."""
    from hakiri.cli.columns import width_of

    pipeline, failure, width = standing.status.pipeline_id, standing.failure, width_of(console)
    if failure is not None:
        when = f"failed {ago(failure.at, now)}"
        lines = [f"{console.highlighted(pipeline, BOLD)} {when}: {failure.kind}"]
        lines += wrapped(failure.message, width, first="  ", rest="  ")
        return lines + _ways_on(standing)
    latest = standing.latest
    if standing.has_failed_openly and latest is not None:
        when = ago(latest.ended_at or latest.started_at, now)
        name = console.highlighted(pipeline, BOLD)
        lines = [f"{name} did not make it with its last run, {when}: {latest.error_kind}"]
        if latest.error_message:
            lines += wrapped(latest.error_message, width, first="  ", rest="  ")
        return lines + _ways_on(standing)
    if standing.is_stalled:
        return [
            f"{console.highlighted(pipeline, BOLD)} has a run that nobody works on any more",
            f"  hakiri apply {pipeline}  goes on with it",
        ]
    return []


def _ways_on(standing: Standing) -> list[str]:
    widest = max((len(way.command) for way in standing.ways_on), default=0)
    return [f"  {way.command:<{widest}}  {way.does}" for way in standing.ways_on]


def _card(console: Console, standing: Standing, now: datetime) -> list[str]:
    from hakiri.cli.board.words import bytes_rate, rows_rate, sentence
    from hakiri.core.grammar import format_size

    status, light = standing.status, standing.light
    state = console.highlighted(light, _LIGHTS[light]) if light in _LIGHTS else light
    name = console.highlighted(status.pipeline_id, BOLD)
    lines = [f"{name}  {state}, {status.phase}" if light != "new" else f"{name}  {state}: it never ran"]
    speed = [rows_rate(status.throughput.rows_per_sec), bytes_rate(status.throughput.bytes_per_sec)]
    facts = [
        ("chunks", _chunk_words(standing)),
        ("rows", f"{standing.rows:,} ({format_size(standing.bytes)})" if standing.latest else ""),
        ("speed", sentence(speed) if standing.is_running and status.throughput.rows_per_sec else ""),
        ("left", _left_cell(standing)),
        ("budget", _budget_words(standing)),
        ("last run", _run_words(standing, now)),
    ]
    trouble = _trouble(console, standing, now)
    return lines + fact_lines(console, facts) + (["", *trouble] if trouble else [])


def _chunk_words(standing: Standing) -> str:
    from hakiri.cli.board.words import sentence

    chunks = standing.status.chunks
    if not chunks.total:
        return ""
    named = {
        "running": chunks.running,
        "pending": chunks.pending,
        "failed": chunks.failed,
        "skipped": standing.skipped,
    }
    done = f"{chunks.done:,} of {chunks.total:,} done ({chunks.done * 100 // chunks.total}%)"
    return sentence([done, *(f"{count:,} {what}" for what, count in named.items() if count)])


def _budget_words(standing: Standing) -> str:
    status = standing.status
    if status.rate_budget is None:
        return ""
    used = status.rate_budget_consumed_pct
    return status.rate_budget.text + (f", {used}% used" if used is not None else "")


def _run_words(standing: Standing, now: datetime) -> str:
    from hakiri.pipelines.operations.stories import short_ids

    run = standing.latest
    if run is None:
        return ""
    took = (
        ""
        if run.ended_at is None
        else f", took {brief_time((run.ended_at - run.started_at).total_seconds())}"
    )
    begun = f"{moment_words(run.started_at)} ({ago(run.started_at, now)})"
    return f"{short_ids([run.run])[run.run]} {run.status}, {begun}{took}"


def _report(standing: Standing) -> StatusReport:
    from hakiri.cli.reports import StatusReport
    from hakiri.cli.reports.runs import FailureRow, WayOnRow
    from hakiri.cli.runs import run_facts

    failure = standing.failure
    return StatusReport(
        **standing.status.as_dict(),
        light=standing.light,
        rows=standing.rows,
        bytes=standing.bytes,
        skipped=standing.skipped,
        is_stalled=standing.is_stalled,
        failure=None
        if failure is None
        else FailureRow(kind=failure.kind, message=failure.message, at=failure.at, run=failure.run),
        ways_on=tuple(WayOnRow(command=way.command, does=way.does) for way in standing.ways_on),
        last_run=None if standing.latest is None else run_facts([standing.latest])[0],
    )
