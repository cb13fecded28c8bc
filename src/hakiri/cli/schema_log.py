"""`hakiri schema log`: everything that was decided about the columns of a pipeline's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson
from hakiri.cli.schema_common import change_rows

if TYPE_CHECKING:
    from hakiri.cli.app import App
    from hakiri.cli.console import Console
    from hakiri.pipelines.evolution.log import LogEntry


def log(
    ctx: typer.Context,
    *,
    pipeline_id: Annotated[str, typer.Argument(metavar="PIPELINE", help="The id of the pipeline.")],
    table: Annotated[
        str | None, typer.Option("--table", metavar="TABLE", help="One of its tables; all by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show every change of the columns of a pipeline's tables, and who decided it.

    What was refused is among them, and so is what other pipelines did to the same tables.
    """
    from hakiri.cli.reports import SchemaLogReport
    from hakiri.cli.reports.evolution import SchemaLogRow

    app = app_of(ctx)
    entries = _entries(app, pipeline_id, table)
    if as_json:
        rows = tuple(
            SchemaLogRow(
                table=entry.table,
                version=entry.version,
                is_refused=entry.version is None,
                pipeline=entry.pipeline,
                change_kind=entry.change_kind,
                changes=change_rows(entry.changes),
                decided_by=entry.decided_by,
                at=entry.at,
            )
            for entry in entries
        )
        app.console.data(SchemaLogReport(pipeline=pipeline_id, entries=rows))
    elif entries:
        _show(app.console, entries)
    else:
        app.console.note(f"nothing was decided about the tables of pipeline `{pipeline_id}` yet")


def _entries(app: App, pipeline_id: str, table: str | None) -> list[LogEntry]:
    from hakiri.cli.project import catalog_place_of, project_of, settings_of
    from hakiri.core.ids import PipelineId, TableName
    from hakiri.core.nearest import nearest
    from hakiri.pipelines.errors import NoSuchTable
    from hakiri.pipelines.evolution.log import schema_log

    project = project_of(app)
    spec = next((each for each in project.pipelines if each.id == pipeline_id), None)
    names = {} if spec is None else {TableName(spec.store_name(each)): each.name for each in spec.tables}
    place = catalog_place_of(app, settings_of(app, project), project)
    entries: tuple[LogEntry, ...] = ()
    if place.version() > 0:
        with place.open() as catalog:
            entries = schema_log(catalog, PipelineId(pipeline_id), tuple(names))
    if spec is None and not entries:
        project.pipeline(pipeline_id)  # raises: nothing knows the pipeline, neither the manifest nor the past
    if table is None:
        return list(entries)
    known = {*names, *(entry.table for entry in entries)}
    wanted = {name for name in known if table in (name, names.get(name))}
    if not wanted:
        raise NoSuchTable(pipeline_id, table, sorted(known), nearest(table, sorted(known)))
    return [entry for entry in entries if entry.table in wanted]


def _show(console: Console, entries: list[LogEntry]) -> None:
    console.table(
        ("table", "version", "when (UTC)", "decided by", "change"),
        [
            (
                entry.table,
                "-" if entry.version is None else str(entry.version),
                f"{entry.at:%Y-%m-%d %H:%M:%S}",
                entry.decided_by,
                f"refused: {change} ({change.rule})" if entry.version is None else str(change),
            )
            for entry in entries
            for change in entry.changes
        ],
    )
