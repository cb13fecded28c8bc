"""`hakiri plan`: what would change, without changing anything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, command_door, examples
from hakiri.core.errors import ExitCode

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.cli.app import App
    from hakiri.cli.reports import PlanReport
    from hakiri.cli.reports.plan import KnobRow, PlannedChange, PlannedRow, PlannedTableRow
    from hakiri.core.ids import TableName
    from hakiri.core.settings import Settings
    from hakiri.manifest import PipelineSpec, Project
    from hakiri.pipelines.asking import Answer
    from hakiri.pipelines.evolution import Change
    from hakiri.pipelines.plan import Plan, PlannedPipeline, PlannedTable
    from hakiri.store.reading import VisibleFiles

cli = command_door()


@cli.command(
    "plan",
    epilog=examples(
        "hakiri plan",
        "hakiri plan orders",
        "hakiri plan --offline",
        "hakiri plan --json",
        "hakiri plan --detailed-exitcode",
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
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no source; rows and schema changes stay unknown.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show what would change, without changing anything.

    Sources are asked what they have, not for rows, and Spark is not started. A source that cannot be asked is
    told, and the rest is planned all the same.
    """
    from hakiri.cli.plan_text import show_plan
    from hakiri.cli.project import project_of, settings_of
    from hakiri.cli.runtime import layout_of
    from hakiri.pipelines.plan import checked_specs, plan_project

    app = app_of(ctx)
    project = project_of(app)
    settings = settings_of(app, project)
    specs = checked_specs(project, pipeline_id)
    layout = layout_of(app, settings, project)
    with _catalog_if_there(app, settings, project) as catalog:

        def find_files(table: TableName) -> VisibleFiles | None:
            from hakiri.store.reading import visible_files

            return None if catalog is None else visible_files(layout, catalog, table)

        planned = plan_project(
            project,
            specs,
            catalog=catalog,
            answers={} if offline else _asked(app, project, specs, catalog),
            default_destination=settings.context.default_destination,
            now=app.clock.now(),
            is_whole=pipeline_id is None,
            find_files=find_files,
        )
    if as_json:
        app.console.data(_report(planned))
    else:
        show_plan(app.console, planned)
    return ExitCode.CHANGES if detailed_exitcode and planned.has_changes else ExitCode.DONE


@contextmanager
def _catalog_if_there(app: App, settings: Settings, project: Project) -> Iterator[Catalog | None]:
    """The catalog as it is; none is made or migrated for a look."""
    from hakiri.cli.project import catalog_place_of

    place = catalog_place_of(app, settings, project)
    if place.version() == 0:
        yield None
        return
    with place.open(is_look=True) as catalog:
        yield catalog


def _asked(
    app: App, project: Project, specs: list[PipelineSpec], catalog: Catalog | None
) -> dict[str, Answer]:
    from hakiri.cli.progress import said_while_it_takes
    from hakiri.pipelines.asking import ask_sources

    whole = "1 source" if len(specs) == 1 else f"{len(specs)} sources"
    with said_while_it_takes(app.console, f"asking {whole}"):
        return ask_sources(project, specs, app.env, app.clock, catalog=catalog)


def _report(planned: Plan) -> PlanReport:
    from hakiri.cli.reports import PlanReport

    return PlanReport(
        project=planned.project,
        has_changes=planned.has_changes,
        counts=planned.counts(),
        pipelines=tuple(_row(each) for each in planned.pipelines),
    )


def _row(each: PlannedPipeline) -> PlannedRow:
    from hakiri.cli.plan_text import why
    from hakiri.cli.reports.failure import file_place
    from hakiri.cli.reports.plan import EditRow, PlannedRow, ProblemRow

    spec = each.spec
    return PlannedRow(
        id=each.id,
        action=each.action.value,
        why=why(each),
        connector=spec.source.connector if spec is not None else None,
        destination=each.destination or None,
        schedule=spec.schedule.text if spec is not None and spec.schedule is not None else None,
        place=None if each.place is None else file_place(each.place),
        chunks_left=each.chunks_left,
        tables=tuple(_table_row(table) for table in each.tables),
        edits=tuple(EditRow(key=edit.key, before=edit.before, after=edit.after) for edit in each.edits),
        warnings=(*each.warnings, *each.leftovers),
        problems=tuple(
            ProblemRow(
                code=problem.code,
                message=str(problem),
                hint=problem.hint or None,
                places=tuple(map(file_place, problem.places)),
            )
            for problem in each.problems
        ),
    )


def _table_row(table: PlannedTable) -> PlannedTableRow:
    from hakiri.cli.reports.plan import PlannedTableRow

    changes = None
    if table.changes is not None:
        groups = {"applied": table.changes, "ignored": table.ignored, "refused": table.refused}
        changes = tuple(_change_row(change, fate) for fate, group in groups.items() for change in group)
    return PlannedTableRow(
        name=table.name,
        store=table.store,
        rows=table.rows,
        chunks=table.chunks,
        is_reread=table.is_reread,
        changes=changes,
        knobs=_knob_rows(table),
    )


def _change_row(change: Change, fate: str) -> PlannedChange:
    from hakiri.cli.reports.plan import PlannedChange

    return PlannedChange(
        kind=change.kind.value,
        column=change.column,
        before=change.before,
        after=change.after,
        rule=change.rule,
        fate=fate,
    )


def _knob_rows(table: PlannedTable) -> dict[str, KnobRow]:
    from hakiri.cli.plan_text import KNOBS, knob_words
    from hakiri.cli.reports.plan import KnobRow

    knobs = {name: getattr(table.knobs, name) for name in KNOBS if table.knobs is not None}
    return {
        name: KnobRow(value=knob_words(knob.value), origin=knob.origin.value)
        for name, knob in knobs.items()
        if knob.value is not None
    }
