"""`hakiri retry`: have what failed tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, command_door, examples
from hakiri.cli.operating import AsWhom, PipelineArgument, desk_of, piece_rows

if TYPE_CHECKING:
    from hakiri.catalog.contract.pipelines import Decision
    from hakiri.cli.app import App
    from hakiri.cli.reports import DecisionReport
    from hakiri.pipelines.operations.changing import Decided

cli = command_door()


@cli.command("retry", epilog=examples("hakiri retry orders", "hakiri retry orders --as agent:night-watch"))
def retry(
    ctx: typer.Context, *, pipeline_id: PipelineArgument, who: AsWhom = None, as_json: AsJson = False
) -> None:
    """Have what failed of a pipeline tried again.

    A pipeline that failed does nothing until somebody decides. Nothing runs before `hakiri apply`; what was
    committed is not pulled again.
    """
    from hakiri.catalog.contract.pipelines import Decision
    from hakiri.cli.board.words import counted

    app = app_of(ctx)
    report, _ = decide(app, pipeline_id, Decision.RETRY, who)
    if as_json:
        app.console.data(report)
        return
    count = len(report.chunks)
    what = f"{counted(count, 'chunk')} that failed" if count else "what failed"
    app.console.print(f"{pipeline_id}: {what} will be tried again")
    app.console.note(f"run `hakiri apply {pipeline_id}`")


def decide(app: App, pipeline_id: str, decision: Decision, who: str | None) -> tuple[DecisionReport, Decided]:
    """Settle the failure of a pipeline, and say what it was about. Raises NothingWaits."""
    from hakiri.cli.reports import DecisionReport
    from hakiri.cli.reports.runs import FailureRow
    from hakiri.pipelines.operations.errors import NothingWaits

    desk = desk_of(app)
    spec = desk.project.pipeline(pipeline_id)
    with desk.changing() as catalog:
        if catalog is None:
            raise NothingWaits(spec.id)
        operator = desk.operator(catalog, who)
        decided = operator.decide(spec.id, decision)
    failure = decided.failure
    report = DecisionReport(
        pipeline_id=spec.id,
        decision=decision.value,
        by=operator.by,
        failure=FailureRow(kind=failure.kind, message=failure.message, at=failure.at, run=failure.run),
        chunks=piece_rows(decided.chunks),
    )
    return report, decided
