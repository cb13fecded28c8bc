"""`hakiri schema reconcile`: one schema of two that went apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson
from hakiri.cli.operating import decider
from hakiri.cli.schema_common import (
    OperatorOption,
    decision_row,
    open_existing,
    publish,
    show_decision,
)
from hakiri.core.errors import UsageError

if TYPE_CHECKING:
    from hakiri.catalog.opening import Place as CatalogPlace
    from hakiri.cli.app import App
    from hakiri.pipelines.evolution import Side

_SIDES = ("ours", "theirs")


def reconcile(
    ctx: typer.Context,
    *,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table, by its name in the store.")],
    other: Annotated[
        str, typer.Option("--with", metavar="CATALOG", help="The other catalog: its file, or its URL.")
    ],
    take: Annotated[
        str | None,
        typer.Option(
            "--take", metavar="SIDE", help="Whose name or key it is where both chose one: `ours` or `theirs`."
        ),
    ] = None,
    operator: OperatorOption = None,
    as_json: AsJson = False,
) -> None:
    """Make one schema of ours and that of another catalog, and record it here.

    Columns of either side are in it, types become the least that holds both, and a rename on one side counts
    for both. The other catalog is only read: run the same there.
    """
    from hakiri.cli.reports import SchemaReconcileReport
    from hakiri.core.ids import TableName
    from hakiri.pipelines.evolution.recording import reconcile_table

    app = app_of(ctx)
    side = _side(take)
    by = decider(app, operator)
    with open_existing(app) as place, _other(app, other, place.project.name).open() as theirs:
        decided = reconcile_table(
            place.catalog, theirs, table=TableName(table), take=side, by=by, now=app.clock.now()
        )
        publish(place, [decided])
        location = theirs.info().location
    if as_json:
        app.console.data(SchemaReconcileReport(decided_by=by, other=location, table=decision_row(decided)))
    elif decided.changes:
        show_decision(app, decided)
        app.console.note(f"decided by {by}")
    else:
        app.console.print(f"nothing to do: our schema of {table} has all of theirs")


def _side(text: str | None) -> Side | None:
    from hakiri.pipelines.evolution import Side

    if text is not None and text not in _SIDES:
        raise UsageError(f"`--take {text}` takes no side", hint="write `--take ours` or `--take theirs`")
    return None if text is None else Side(text)


def _other(app: App, text: str, project: str) -> CatalogPlace:
    from urllib.parse import quote

    from hakiri.catalog import catalog_place

    if "://" in text:
        return catalog_place(text, project=project, base=app.cwd)
    file = Path(app.cwd, text)
    if not file.is_file():
        raise UsageError(
            f"there is no catalog `{text}`", hint="give `--with` the other store's `meta.sqlite`, or a URL"
        )
    return catalog_place(f"sqlite:///{quote(str(file))}", project=project, base=app.cwd)
