"""`hakiri apply` and `hakiri run`: make it so, for all pipelines or for one."""

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
    from hakiri.pipelines.runtime.apply import Applied

cli = command_door()


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
    schedule comes; `hakiri run` pulls at once.
    """
    from hakiri.cli.runtime import open_ground, open_place
    from hakiri.pipelines.runtime.apply import apply_project

    app = app_of(ctx)
    with open_place(app) as place:
        only = None if pipeline_id is None else place.project.pipeline(pipeline_id).id
        names = [spec.id for spec in place.project.pipelines if only in (None, spec.id)]
        with open_ground(app, place, pipelines=names) as (ground, _):
            applied = apply_project(ground, only=only)
    return told(app, applied, as_json=as_json)


def told(app: App, applied: Sequence[Applied], *, as_json: bool) -> int:
    if as_json:
        app.console.data(_report(applied))
    else:
        _show(app, applied)
    failed = [each for each in applied if each.error is not None]
    return ExitCode.FAILED if failed else ExitCode.DONE


def _show(app: App, applied: Sequence[Applied]) -> None:
    idle = [each for each in applied if each.result is None and each.error is None]
    for each in applied:
        if each.error is not None:
            _show_error(app, each.pipeline, each.error)
    if idle and len(idle) == len(applied):
        count = "1 pipeline is" if len(idle) == 1 else f"{len(idle)} pipelines are"
        app.console.print(f"Nothing to do: {count} up to date.")
        return
    done = [each.result for each in applied if each.result is not None and each.error is None]
    if done:
        rows = sum(result.run.rows or 0 for result in done)
        count = "1 pipeline" if len(done) == 1 else f"{len(done)} pipelines"
        app.console.print(f"Applied {count}: {rows:,} rows.")
    waiting = [result for result in done if not result.is_converged]
    for result in waiting:
        left = result.left.pending + result.left.running
        app.console.note(f"{result.pipeline}: {left:,} chunks are left; run `hakiri apply` again to go on")


def _show_error(app: App, pipeline: str, error: HakiriError) -> None:
    from hakiri.cli.failures import human_text

    app.console.error(human_text(error))


def _report(applied: Sequence[Applied]) -> ApplyReport:
    from hakiri.cli.reports import ApplyReport
    from hakiri.cli.reports.runs import AppliedRow

    return ApplyReport(
        pipelines=tuple(
            AppliedRow(
                id=each.pipeline,
                need=each.need.name.lower(),
                run=each.result.run.run if each.result is not None else None,
                status=each.result.run.status.value if each.result is not None else None,
                phase=each.result.phase.value if each.result is not None else None,
                rows=(each.result.run.rows or 0) if each.result is not None else 0,
                bytes=(each.result.run.bytes or 0) if each.result is not None else 0,
                chunks=each.result.chunks if each.result is not None else 0,
                quarantined=each.result.quarantined if each.result is not None else 0,
                error_code=each.error.code if each.error is not None else None,
                error=str(each.error) if each.error is not None else None,
            )
            for each in applied
        )
    )
