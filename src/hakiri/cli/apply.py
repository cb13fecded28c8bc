"""`hakiri apply`: make it so, for all pipelines or for one; and what is told of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, command_door, examples
from hakiri.core.errors import ExitCode, HakiriError

if TYPE_CHECKING:
    from hakiri.cli.app import App
    from hakiri.cli.reports import ApplyReport
    from hakiri.cli.reports.runs import AppliedRow
    from hakiri.pipelines.choosing import Applied
    from hakiri.pipelines.runtime.shop import RunResult

cli = command_door()

ASIDE_HINT = "see why in the view `<table>__quarantine`"


@cli.command(
    "apply",
    epilog=examples("hakiri apply", "hakiri apply orders", "hakiri apply --json"),
)
def apply(
    ctx: typer.Context,
    *,
    pipeline_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One pipeline; all if left out.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Pull what the manifest says and the store does not have yet.

    A pipeline that was interrupted goes on where it was. One that is up to date is left alone until its
    schedule comes; without a schedule, until its source says that it has news. `hakiri run` pulls at once.
    """
    from hakiri.cli.runtime import open_ground, open_place, way_on_told
    from hakiri.pipelines.choosing import left_alone, needs_now, retire_the_gone, the_gone

    app = app_of(ctx)
    with (
        way_on_told(app, f"hakiri apply {pipeline_id}" if pipeline_id else "hakiri apply"),
        open_place(app, only=pipeline_id) as place,
    ):
        project, catalog = place.project, place.catalog
        needs = needs_now(project, catalog, only=pipeline_id, env=app.env, clock=app.clock)
        working = [name for name, need in needs.items() if need.is_work]
        gone = the_gone(project, catalog) if pipeline_id is None else []
        if working:
            from hakiri.pipelines.runtime.apply import apply_project

            with open_ground(app, place, pipelines=working) as (ground, _):
                applied = apply_project(ground, only=pipeline_id, needs=needs)
        else:
            if pipeline_id is None:
                retire_the_gone(project, catalog, app.clock.now())
            applied = [left_alone(catalog, spec, needs[spec.id]) for spec in place.specs]
    for name in gone:
        app.console.note(f"{name} left the manifest and is forgotten; its tables stay")
    return told(app, applied, as_json=as_json)


def told(app: App, applied: Sequence[Applied], *, as_json: bool, did: str = "applied") -> int:
    """Tell what became of every pipeline, and what was done to it; the exit code for all of them."""
    if as_json:
        app.console.data(_report(applied))
    for each in applied:
        _tell_trouble(app, each)
    if not as_json:
        app.console.print(summary(applied, did))
    return exit_code_of(applied)


def exit_code_of(applied: Sequence[Applied]) -> int:
    """0 if nothing failed. The code of the error if all have the same and nothing else was done, else 1."""
    codes = {each.error.exit_code for each in applied if each.error is not None}
    if not codes:
        return ExitCode.DONE
    is_all = all(each.error is not None or each.result is None for each in applied)
    return codes.pop() if len(codes) == 1 and is_all else ExitCode.FAILED


def summary(applied: Sequence[Applied], did: str = "applied") -> str:
    """One line for everything that was asked for."""
    failed = [each for each in applied if each.error is not None]
    held = [each for each in applied if _is_left_to_others(each)]
    done = [each.result for each in applied if each.result and each not in (*failed, *held)]
    idle = len(applied) - len(done) - len(failed) - len(held)
    if not applied:
        return "Nothing to do: the project has no pipelines."
    if not done and not failed and not held:
        return f"Nothing to do: {_counted(idle, 'pipeline')} {_are(idle)} up to date."
    parts = []
    if done:
        rows = sum(result.run.rows or 0 for result in done)
        parts.append(f"{did} {_counted(len(done), 'pipeline')}: {_counted(rows, 'row')}")
    if failed:
        parts.append(f"{_counted(len(failed), 'pipeline')} did not make it")
    if held:
        at_work = f"another process is at work on {_counted(len(held), 'pipeline')}"
        parts.append(at_work if parts else f"nothing {did}: {at_work}")
    if idle:
        parts.append(f"{idle} {_are(idle)} up to date")
    line = "; ".join(parts)
    return f"{line[:1].upper()}{line[1:]}."


def _tell_trouble(app: App, each: Applied) -> None:
    """What went wrong with a pipeline, what it set aside, and what is left of it."""
    if each.error is not None:
        app.console.error(failure_text(each.pipeline, each.error))
    result = each.result
    if result is None:
        return
    if result.quarantined:
        app.console.warn(aside_text(each.pipeline, result.quarantined), hint=ASIDE_HINT)
    if each.error is None and (result.left.pending or result.left.running):
        app.console.note(f"{each.pipeline}: {_left_words(each.pipeline, result)}")


def _is_left_to_others(each: Applied) -> bool:
    """Whether nothing was done because other processes have all that may be worked on."""
    result = each.result
    return each.error is None and result is not None and not result.chunks and bool(result.left.running)


def _left_words(pipeline: str, result: RunResult) -> str:
    """What is left, who has it, and what to do."""
    waiting, elsewhere = result.left.pending, result.left.running
    if not elsewhere:
        left = f"{_counted(waiting, 'chunk')} {_are(waiting)} left"
        return f"{left}; go on with `hakiri apply {pipeline}`"
    rest = f", and {waiting:,} more {'waits' if waiting == 1 else 'wait'}" if waiting else ""
    held = f"another process has {_counted(elsewhere, 'chunk')} under way{rest}"
    return f"{held}; `hakiri status {pipeline}` shows how far it is"


def failure_text(pipeline: str, error: HakiriError) -> str:
    """What went wrong with a pipeline, which is named in it."""
    from hakiri.cli.failures import human_text

    text = human_text(error)
    return text if f"`{pipeline}`" in str(error) else text.replace(": ", f": pipeline `{pipeline}`: ", 1)


def aside_text(pipeline: str, rows: int) -> str:
    """How many rows a run has set aside."""
    return f"pipeline `{pipeline}` has set {_counted(rows, 'row')} aside"


def _report(applied: Sequence[Applied]) -> ApplyReport:
    from hakiri.cli.reports import ApplyReport

    return ApplyReport(pipelines=tuple(_row(each) for each in applied))


def _row(each: Applied) -> AppliedRow:
    from hakiri.cli.reports.failure import file_place
    from hakiri.cli.reports.runs import AppliedRow

    result, error = each.result, each.error
    return AppliedRow(
        id=each.pipeline,
        need=each.need.name.lower(),
        run=result.run.run if result is not None else None,
        status=result.run.status.value if result is not None else None,
        phase=result.phase.value if result is not None else None,
        rows=(result.run.rows or 0) if result is not None else 0,
        bytes=(result.run.bytes or 0) if result is not None else 0,
        chunks=result.chunks if result is not None else 0,
        chunks_left=result.left.pending + result.left.running if result is not None else 0,
        chunks_elsewhere=result.left.running if result is not None else 0,
        quarantined=result.quarantined if result is not None else 0,
        error_code=error.code if error is not None else None,
        error=str(error) if error is not None else None,
        hint=error.hint or None if error is not None else None,
        places=tuple(map(file_place, error.places)) if error is not None else (),
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
