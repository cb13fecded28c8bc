"""`hakiri context`: looking after the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson, examples, group_door
from hakiri.core.errors import UsageError

if TYPE_CHECKING:
    from datetime import timedelta

    from hakiri.cli.app import App
    from hakiri.cli.reports.context import CompactedTable
    from hakiri.cli.runtime import Place
    from hakiri.compaction.compacting import Compacted, Compactor
    from hakiri.core.ids import TableName

cli = group_door(
    "Compact the tables of the store, and collect its garbage.",
    epilog=examples("hakiri context compact", "hakiri context gc --dry-run"),
)


@cli.command(
    "compact",
    epilog=examples("hakiri context compact", "hakiri context compact github_issues --full"),
)
def compact(
    ctx: typer.Context,
    *,
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="One table; all if left out.")
    ] = None,
    is_full: Annotated[
        bool, typer.Option("--full", help="Write all of it anew, also if nothing is new.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fold the runs of tables into snapshots.

    A snapshot has one row a key, sorted as the table's `cluster_by` says, in few files: queries read it
    first. Readers see the same rows before, during and after. What was folded is kept for `retain_runs`.
    """
    from hakiri.cli.reports.context import CompactReport
    from hakiri.cli.runtime import open_place
    from hakiri.compaction.layouts import layout_of_table
    from hakiri.compaction.runs import CompactionRun
    from hakiri.pipelines.runtime.ground import fresh_run

    app = app_of(ctx)
    with open_place(app, only=None) as place, _compactor(app, place) as compactor:
        done: list[CompactedTable] = []
        for name in _tables(place, table):
            began = app.clock.monotonic()
            folded = CompactionRun(
                compactor=compactor,
                table=name,
                laid_out=layout_of_table(place.project, name, app.clock.now()),
                is_full=is_full,
            ).work(fresh_run(app.clock))
            done.append(_report(name, folded, app.clock.monotonic() - began))
            if not as_json:
                app.console.print(_line(done[-1]))
    if as_json:
        app.console.data(CompactReport(tables=tuple(done)))


@cli.command("gc", epilog=examples("hakiri context gc --dry-run", "hakiri context gc"))
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
            _longest_kept(app, place), tables=_tables(place, None), is_rehearsal=is_rehearsal
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


@contextmanager
def _compactor(app: App, place: Place) -> Iterator[Compactor]:
    """What compacts on Spark, which is started when there is something to fold."""
    from hakiri.cli.runtime import node_of
    from hakiri.cli.spark import spark_of
    from hakiri.compaction.compacting import Compactor
    from hakiri.compaction.runner import SparkTasks
    from hakiri.store.publishing import Publisher

    publisher = Publisher(place.layout, place.catalog)
    with ExitStack() as stack:
        tasks = SparkTasks(
            lambda: stack.enter_context(spark_of(app, place.settings, project=place.project.root))
        )
        yield Compactor(
            catalog=place.catalog,
            layout=place.layout,
            clock=app.clock,
            node=node_of(place.settings),
            run_tasks=tasks,
            publish=lambda table: publisher.publish([table]),
        )


def _report(table: TableName, done: Compacted | None, seconds: float) -> CompactedTable:
    from hakiri.cli.reports.context import CompactedTable

    if done is None:
        return CompactedTable(table=table, is_compacted=False)
    manifest = done.manifest
    return CompactedTable(
        table=table,
        is_compacted=True,
        snapshot=manifest.snapshot,
        runs=len(done.runs),
        rows_read=manifest.rows_read,
        rows=manifest.rows,
        bytes_read=done.bytes_read,
        bytes=manifest.bytes,
        files=len(manifest.files),
        waiting=done.waiting,
        seconds=round(seconds, 3),
    )


def _line(done: CompactedTable) -> str:
    from hakiri.cli.board.words import counted
    from hakiri.core.grammar import format_size

    if not done.is_compacted:
        return f"{done.table}: nothing new to fold"
    read = f"{done.rows_read:,} rows in {format_size(done.bytes_read)}"
    made = f"{done.rows:,} in {format_size(done.bytes)}, {counted(done.files, 'file')}"
    left = f"; {counted(done.waiting, 'chunk')} left for later, while others work" if done.waiting else ""
    return (
        f"{done.table}: {counted(done.runs, 'run')} folded, {read} became {made}, {done.seconds:.1f} s{left}"
    )


def _tables(place: Place, only: str | None) -> list[TableName]:
    """The tables of the project that the store has, or the one that is asked for."""
    from hakiri.compaction.layouts import tables_of
    from hakiri.core.ids import TableName

    known = [name for name in tables_of(place.project) if place.catalog.schemas.current(name) is not None]
    if only is None:
        return known
    name = TableName(only)
    if place.catalog.schemas.current(name) is None:
        listed = ", ".join(f"`{each}`" for each in known) or "none yet: run `hakiri apply`"
        raise UsageError(f"the store has no table `{only}`", hint=f"its tables are {listed}")
    return [name]


def _longest_kept(app: App, place: Place) -> timedelta:
    from hakiri.compaction.compacting import TableLayout
    from hakiri.compaction.layouts import layout_of_table, tables_of

    now = app.clock.now()
    kept = [layout_of_table(place.project, name, now).retain for name in tables_of(place.project)]
    return max(kept, default=TableLayout().retain)
