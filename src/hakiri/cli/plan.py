"""`hakiri plan`: what would change, without changing anything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.console import GREEN, RED, YELLOW
from hakiri.cli.frame import AsJson, command_door, examples
from hakiri.core.errors import ExitCode

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.cli.app import App
    from hakiri.cli.console import Console
    from hakiri.cli.reports import PlanReport
    from hakiri.cli.reports.plan import PlannedChange, PlannedRow
    from hakiri.core.settings import Settings
    from hakiri.manifest import PipelineSpec, Project
    from hakiri.pipelines.asking import Answer
    from hakiri.pipelines.evolution import Change
    from hakiri.pipelines.plan import Plan, PlannedPipeline, PlannedTable

cli = command_door()

_SIGNS = {
    "create": ("+", GREEN),
    "continue": (">", GREEN),
    "update": ("~", YELLOW),
    "pull": (">", GREEN),
    "wait": ("!", RED),
    "remove": ("-", RED),
}
_COUNTED = {
    "create": "to create",
    "update": "to update",
    "continue": "to continue",
    "pull": "to pull",
    "remove": "to remove",
    "wait": "waiting for a decision",
    "nothing": "up to date",
}


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
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no source; rows and schema changes stay unknown.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show what would change, without changing anything.

    Sources are asked what they have, not for rows, and Spark is not started. A source that cannot be asked is
    told, and the rest is planned all the same.
    """
    from hakiri.cli.project import project_of, settings_of
    from hakiri.pipelines.plan import checked_specs, plan_project

    app = app_of(ctx)
    project = project_of(app)
    settings = settings_of(app, project)
    specs = checked_specs(project, pipeline_id)
    with _catalog_if_there(app, settings, project) as catalog:
        planned = plan_project(
            project,
            specs,
            catalog=catalog,
            answers={} if offline else _asked(app, project, specs),
            default_destination=settings.context.default_destination,
            now=app.clock.now(),
            is_whole=pipeline_id is None,
        )
    if as_json:
        app.console.data(_report(planned))
    else:
        _show(app.console, planned)
    return ExitCode.CHANGES if detailed_exitcode and planned.has_changes else ExitCode.DONE


@contextmanager
def _catalog_if_there(app: App, settings: Settings, project: Project) -> Iterator[Catalog | None]:
    """The catalog as it is; none is made or migrated for a look."""
    from hakiri.cli.project import catalog_place_of

    place = catalog_place_of(app, settings, project)
    if place.version() == 0:
        yield None
        return
    with place.open() as catalog:
        yield catalog


def _asked(app: App, project: Project, specs: list[PipelineSpec]) -> dict[str, Answer]:
    from hakiri.cli.progress import said_while_it_takes
    from hakiri.pipelines.asking import ask_sources

    whole = "1 source" if len(specs) == 1 else f"{len(specs)} sources"
    with said_while_it_takes(app.console, f"asking {whole}"):
        return ask_sources(project, specs, app.env, app.clock)


def _show(console: Console, planned: Plan) -> None:
    idle = [each for each in planned.pipelines if each.action.value == "nothing"]
    for each in planned.pipelines:
        if each.action.value != "nothing" or each.warnings or each.problem:
            _show_pipeline(console, each)
    counts = [f"{count} {_COUNTED[action]}" for action, count in planned.counts().items() if count]
    console.print(f"Plan for {planned.project}: {', '.join(counts) or 'no pipelines'}.")
    if planned.has_changes:
        console.note(
            "Nothing was changed. `hakiri apply` makes it so; `hakiri preview <pipeline>` shows rows."
        )
    elif idle:
        console.note("Nothing to do.")


def _show_pipeline(console: Console, each: PlannedPipeline) -> None:
    sign, style = _SIGNS.get(each.action.value, ("=", ""))
    name = f"{sign} {each.id}"
    place = f"  ({each.place})" if each.place is not None else ""
    console.print(f"{console.highlighted(name, style) if style else name}{place}  {_why(each)}")
    for label, value in _facts(each):
        console.print(f"    {label:<12} {value}")
    for warning in each.warnings:
        console.print(f"    {console.highlighted('warning', YELLOW):<12} {warning}")
    if each.problem is not None:
        console.print(f"    {console.highlighted('problem', RED):<12} {each.problem}")
    console.print("")


def _why(each: PlannedPipeline) -> str:
    if each.action.value == "remove":
        return "it left the manifest; its tables stay"
    if each.action.value == "continue" and each.chunks_left:
        return f"{each.chunks_left:,} chunks are left"
    return each.need.value


def _facts(each: PlannedPipeline) -> Iterator[tuple[str, str]]:
    from hakiri.core.grammar import describe

    spec = each.spec
    if spec is None:
        return
    yield "source", f"{spec.source.connector} → {each.destination}"
    if not each.tables:
        yield "tables", ", ".join(table.name for table in spec.tables)
    for number, table in enumerate(each.tables):
        yield "tables" if number == 0 else "", _table_words(table)
        for change in table.changes or ():
            if change.kind.value != "create":
                yield "", f"  {change} ({change.rule})"
        for change in table.refused:
            yield "", f"  refused: {change} ({change.rule})"
    for edit in each.edits:
        yield "edited", edit
    if spec.schedule is not None:
        yield "schedule", describe(spec.schedule)
    if spec.incremental is not None:
        yield "incremental", spec.incremental
    if spec.secrets:
        yield "secrets", ", ".join(spec.secrets)
    yield from _knob_facts(each)


def _table_words(table: PlannedTable) -> str:
    name = table.store if table.store == table.name else f"{table.name} as {table.store}"
    words = []
    if table.rows is not None:
        words.append(f"about {table.rows:,} rows" if table.rows else "no new rows")
    if table.chunks:
        words.append(f"{table.chunks:,} chunk{'' if table.chunks == 1 else 's'}")
    return f"{name}: {' in '.join(words)}" if words else name


def _knob_facts(each: PlannedPipeline) -> Iterator[tuple[str, str]]:
    """Every knob that is in force and not just «no limit», and who decided it."""
    if each.knobs is None:
        return
    for name in (
        "window",
        "parallelism",
        "rate_budget",
        "start_from",
        "max_chunks_per_tick",
        "destination_writes_per_sec",
        "max_parallel_chunks",
    ):
        knob = getattr(each.knobs, name)
        if knob.value is not None:
            yield name, f"{_knob_words(knob.value)} ({knob.origin.value})"


def _knob_words(value: object) -> str:
    return str(getattr(value, "text", value))


def _report(planned: Plan) -> PlanReport:
    from hakiri.cli.reports import PlanReport

    return PlanReport(
        project=planned.project,
        has_changes=planned.has_changes,
        counts=planned.counts(),
        pipelines=tuple(_row(each) for each in planned.pipelines),
    )


def _change_row(change: Change, *, is_refused: bool) -> PlannedChange:
    from hakiri.cli.reports.plan import PlannedChange

    return PlannedChange(
        kind=change.kind.value,
        column=change.column,
        before=change.before,
        after=change.after,
        rule=change.rule,
        is_refused=is_refused,
    )


def _row(each: PlannedPipeline) -> PlannedRow:
    from hakiri.cli.reports.plan import KnobRow, PlannedRow, PlannedTableRow, PlanPlace

    spec = each.spec
    knobs = {} if each.knobs is None else {name: getattr(each.knobs, name) for name in each.knobs.__slots__}
    return PlannedRow(
        id=each.id,
        action=each.action.value,
        why=_why(each),
        connector=spec.source.connector if spec is not None else None,
        destination=each.destination or None,
        schedule=spec.schedule.text if spec is not None and spec.schedule is not None else None,
        place=None if each.place is None else PlanPlace(file=each.place.file, line=each.place.line),
        chunks_left=each.chunks_left,
        tables=tuple(
            PlannedTableRow(
                name=table.name,
                store=table.store,
                rows=table.rows,
                chunks=table.chunks,
                changes=None
                if table.changes is None
                else tuple(
                    _change_row(change, is_refused=change in table.refused)
                    for change in (*table.changes, *table.refused)
                ),
            )
            for table in each.tables
        ),
        knobs={
            name: KnobRow(value=_knob_words(knob.value), origin=knob.origin.value)
            for name, knob in knobs.items()
            if knob.value is not None
        },
        edits=each.edits,
        warnings=each.warnings,
        problem=each.problem,
    )
