"""`hakiri context gc`: files that nobody reads, deleted when their time has come."""

from __future__ import annotations

from typing import Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.context.tables import chosen_tables
from hakiri.cli.frame import AsJson


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
    from hakiri.compaction.layouts import longest_retained
    from hakiri.core.grammar import format_size
    from hakiri.store.files import LocalFiles

    app = app_of(ctx)
    with open_place(app, only=None) as place:
        collector = Collector(catalog=place.catalog, layout=place.layout, clock=app.clock, files=LocalFiles())
        keep = longest_retained(place.project, app.clock.now())
        found = collector.collect(keep, tables=chosen_tables(place, None), is_rehearsal=is_rehearsal)
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
