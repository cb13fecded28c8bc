"""What the commands share that show and decide how the columns of tables change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hakiri.cli.app import App
    from hakiri.cli.reports.evolution import ColumnChangeRow, SchemaDecisionRow
    from hakiri.cli.runtime import Place
    from hakiri.core.ids import TableName
    from hakiri.pipelines.evolution import Change
    from hakiri.pipelines.evolution.recording import Decided

PipelineOption = Annotated[str, typer.Option("--pipeline", metavar="ID", help="The pipeline.")]
OperatorOption = Annotated[
    str | None,
    typer.Option("--as", metavar="NAME", help="Who decides; the name you are logged in with by default."),
]


@contextmanager
def open_existing(app: App) -> Iterator[Place]:
    """The project with its catalog, which must be there: where nothing ran, there is nothing to decide."""
    from hakiri.cli.project import catalog_place_of, project_of, settings_of
    from hakiri.cli.runtime import Place, layout_of

    project = project_of(app)
    settings = settings_of(app, project)
    with catalog_place_of(app, settings, project).open() as catalog:
        yield Place(
            project=project, settings=settings, layout=layout_of(app, settings, project), catalog=catalog
        )


def files_of(place: Place, table: TableName) -> Iterator[Path]:
    """The files of a table, looked up when the first is asked for."""
    from hakiri.store.reading import visible_files

    found = visible_files(place.layout, place.catalog, table)
    for files in found.files.values() if found is not None else ():
        yield from files


def publish(place: Place, decided: Sequence[Decided]) -> None:
    """Let readers see the tables as they were decided."""
    from hakiri.store.publishing import Publisher

    changed = [each.table for each in decided if each.changes]
    if changed:
        Publisher(place.layout, place.catalog).publish(changed)


def show_decision(app: App, decided: Decided) -> None:
    app.console.print(f"{decided.table} is at version {decided.version}:")
    for change in decided.changes:
        app.console.print(f"  {change}: {change.rule}")


def decision_row(decided: Decided) -> SchemaDecisionRow:
    from hakiri.cli.reports.evolution import SchemaDecisionRow

    return SchemaDecisionRow(
        table=decided.table,
        version=decided.version,
        changes=change_rows(decided.changes),
        refused=change_rows(decided.refused),
    )


def change_rows(changes: Sequence[Change]) -> tuple[ColumnChangeRow, ...]:
    from hakiri.cli.reports.evolution import ColumnChangeRow

    return tuple(
        ColumnChangeRow(
            kind=change.kind.value,
            column=change.column,
            before=change.before,
            after=change.after,
            rule=change.rule,
        )
        for change in changes
    )
