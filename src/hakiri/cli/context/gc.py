"""`hakiri context gc`: files that nobody reads, deleted when their time has come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.context.tables import chosen_tables
from hakiri.cli.frame import AsJson

if TYPE_CHECKING:
    from datetime import timedelta

    from hakiri.cli.app import App
    from hakiri.cli.runtime import Place


def gc(
    ctx: typer.Context,
    *,
    is_rehearsal: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be deleted, and delete nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete files that no reader reads, once their time has come.

    Files that a snapshot replaced go after `retain_runs`. What crashes left behind is named first, and goes
    after the same time.
    """
    from hakiri.cli.board.words import counted
    from hakiri.cli.reports.context import CollectedFile, GcReport
    from hakiri.cli.runtime import open_place
    from hakiri.compaction.collecting import Collector
    from hakiri.core.grammar import format_size
    from hakiri.store.files import LocalFiles

    app = app_of(ctx)
    with open_place(app, only=None) as place:
        collector = Collector(catalog=place.catalog, layout=place.layout, clock=app.clock, files=LocalFiles())
        found = collector.collect(
            _longest_kept(app, place), tables=chosen_tables(place, None), is_rehearsal=is_rehearsal
        )
    files = tuple(
        CollectedFile(path=file.path, table=file.table, reason=file.reason) for file in found.deleted
    )
    if as_json:
        app.console.data(
            GcReport(
                dry_run=is_rehearsal, deleted=files, bytes=found.bytes, named=found.named, in_use=found.in_use
            )
        )
        return
    verb = "would be deleted" if is_rehearsal else "deleted"
    app.console.print(f"{counted(len(files), 'file')} {verb}, {format_size(found.bytes)}")
    if is_rehearsal:
        for file in files:
            app.console.print(f"  {file.path} ({file.reason})")
    if found.named:
        later = "would be named" if is_rehearsal else "were named"
        app.console.note(
            f"{counted(len(found.named), 'file')} that a crash left behind {later} for a later gc"
        )


def _longest_kept(app: App, place: Place) -> timedelta:
    from hakiri.compaction.layouts import layout_of_table, tables_of
    from hakiri.compaction.recipes import TableLayout

    now = app.clock.now()
    kept = [layout_of_table(place.project, name, now).retain for name in tables_of(place.project)]
    return max(kept, default=TableLayout().retain)
