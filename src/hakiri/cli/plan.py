"""`hakiri plan`: what would change, without changing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.console import GREEN
from hakiri.cli.frame import AsJson, command_door, examples
from hakiri.core.errors import ExitCode

if TYPE_CHECKING:
    from hakiri.cli.console import Console
    from hakiri.cli.reports import PlanReport
    from hakiri.pipelines import Plan, PlannedPipeline

cli = command_door()


@cli.command(
    "plan",
    epilog=examples(
        "hakiri plan", "hakiri plan orders", "hakiri plan --json", "hakiri plan --detailed-exitcode"
    ),
)
def plan(
    ctx: typer.Context,
    *,
    pipeline_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One pipeline; all if left out.")
    ] = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 3 when there are changes.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show what would change, without changing anything."""
    from hakiri.cli.project import project_of, settings_of
    from hakiri.pipelines import plan_project

    app = app_of(ctx)
    project = project_of(app)
    settings = settings_of(app, project)
    planned = plan_project(
        project, only=pipeline_id, default_destination=settings.context.default_destination
    )
    if as_json:
        app.console.data(_report(planned))
    else:
        _show(app.console, planned)
    return ExitCode.CHANGES if detailed_exitcode and planned.has_changes else ExitCode.DONE


def _show(console: Console, planned: Plan) -> None:
    for each in planned.pipelines:
        console.print(f"{console.highlighted(f'+ {each.spec.id}', GREEN)}  ({each.place})")
        for name, value in _facts(each):
            console.print(f"    {name:<12} {value}")
        console.print("")
    console.print(f"Plan for {planned.project}: {planned.counts()['create']} to create.")
    if planned.has_changes:
        console.note("Nothing was changed. See rows without writing any: hakiri preview <pipeline>")


def _facts(each: PlannedPipeline) -> list[tuple[str, str]]:
    from hakiri.core.grammar import describe

    spec = each.spec
    facts = [
        ("source", spec.source.connector),
        ("tables", ", ".join(table.name for table in spec.tables)),
        ("destination", each.destination),
    ]
    if spec.schedule is not None:
        facts.append(("schedule", describe(spec.schedule)))
    if spec.incremental is not None:
        facts.append(("incremental", spec.incremental))
    if spec.secrets:
        facts.append(("secrets", ", ".join(spec.secrets)))
    return facts


def _report(planned: Plan) -> PlanReport:
    from hakiri.cli.reports import PlanReport
    from hakiri.cli.reports.plan import PlannedRow

    return PlanReport(
        project=planned.project,
        has_changes=planned.has_changes,
        counts=planned.counts(),
        pipelines=tuple(
            PlannedRow(
                id=each.spec.id,
                action=each.action.value,
                connector=each.spec.source.connector,
                tables=tuple(table.name for table in each.spec.tables),
                destination=each.destination,
                schedule=each.spec.schedule.text if each.spec.schedule is not None else None,
                place=str(each.place),
            )
            for each in planned.pipelines
        ),
    )
