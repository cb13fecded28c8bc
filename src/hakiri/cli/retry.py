"""`hakiri retry`: have what failed tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, command_door, examples
from hakiri.cli.operating import AsWhom, PipelineArgument, desk_of, piece_rows

if TYPE_CHECKING:
    from hakiri.catalog.contract.pipelines import Decision
    from hakiri.cli.operating import Desk
    from hakiri.cli.reports import DecisionReport
    from hakiri.manifest import PipelineSpec
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
    desk = desk_of(app)
    spec = desk.project.pipeline(pipeline_id)
    decided, by = decide(desk, spec, Decision.RETRY, who)
    if as_json:
        app.console.data(decision_report(spec, Decision.RETRY, by, decided))
        return
    count = len(decided.chunks)
    what = f"{counted(count, 'chunk')} that failed" if count else "what failed"
    app.console.print(f"{spec.id}: {what} will be tried again")
    app.console.note(f"run `hakiri apply {spec.id}`")


def decide(desk: Desk, spec: PipelineSpec, decision: Decision, who: str | None) -> tuple[Decided, str]:
    """Settle the failure of a pipeline; what was settled, and by whom. Raises NothingWaits."""
    from hakiri.pipelines.operations.errors import NothingWaits

    with desk.changing() as catalog:
        if catalog is None:
            raise NothingWaits(spec.id)
        operator = desk.operator(catalog, who)
        return operator.decide(spec.id, decision), operator.by


def decision_report(spec: PipelineSpec, decision: Decision, by: str, decided: Decided) -> DecisionReport:
    from hakiri.cli.reports import DecisionReport
    from hakiri.cli.reports.runs import FailureRow

    failure = decided.failure
    return DecisionReport(
        pipeline_id=spec.id,
        decision=decision.value,
        by=by,
        failure=FailureRow(kind=failure.kind, message=failure.message, at=failure.at, run=failure.run),
        chunks=piece_rows(decided.chunks),
    )
