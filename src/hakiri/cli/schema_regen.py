"""`hakiri schema regen-view`: views written anew from the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson
from hakiri.core.errors import ExitCode

if TYPE_CHECKING:
    from hakiri.cli.app import App
    from hakiri.cli.reports import RegenViewReport
    from hakiri.store.errors import ViewNotMade


def regen_view(
    ctx: typer.Context,
    *,
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="One table; all if left out.")
    ] = None,
    is_check: Annotated[
        bool, typer.Option("--check", help="Write nothing, and exit with 1 if anything is out of step.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Write the views of tables anew from the catalog.

    Not needed after a run, which does the same. It is for a store that was moved or copied, since views name
    their files by absolute paths, and for views that somebody has edited. The schema files and `config.toml`
    are written too, and `duck.db` with the views of all tables.
    """
    from hakiri.cli.context.tables import chosen_tables
    from hakiri.cli.reports import RegenViewReport
    from hakiri.cli.runtime import open_to_mend
    from hakiri.store.checking.checking import PATIENCE_SECONDS, Checker
    from hakiri.store.files import LocalFiles
    from hakiri.store.known_tables import known_tables
    from hakiri.store.publishing import Publisher

    app = app_of(ctx)
    with open_to_mend(app, is_look=is_check) as place:
        tables = known_tables(place.catalog) if table is None else tuple(chosen_tables(place, table))
        checker = Checker(
            catalog=place.catalog,
            layout=place.layout,
            files=LocalFiles(),
            clock=app.clock,
            # Whoever writes all anew need not know whether somebody else is about to.
            patience_seconds=PATIENCE_SECONDS if is_check else 0,
        )
        changed = tuple(finding.path for finding in checker.drift(tables))
        broken: tuple[ViewNotMade, ...] = ()
        if not is_check and tables:
            broken = Publisher(place.layout, place.catalog).publish_anew(tables)
    report = RegenViewReport(
        is_check=is_check,
        tables=tables,
        changed=changed,
        not_made=tuple(sorted(error.table for error in broken)),
    )
    if as_json:
        app.console.data(report)
    else:
        _show(app, report)
        for error in broken:
            app.console.error(f"error[{error.code}]: {error}\nhint: {error.hint}")
    return ExitCode.FAILED if broken or (is_check and changed) else ExitCode.DONE


def _show(app: App, report: RegenViewReport) -> None:
    from hakiri.cli.board.words import counted

    for path in report.changed:
        app.console.print(f"{path} {'is' if report.is_check else 'was'} out of step with the catalog")
    if not report.changed:
        app.console.print(f"the views of {counted(len(report.tables), 'table')} are what the catalog says")
    elif report.is_check:
        app.console.note("hint: run `hakiri schema regen-view`")
    else:
        written = set(report.tables) - set(report.not_made)
        app.console.note(f"wrote the views of {counted(len(written), 'table')} anew")
