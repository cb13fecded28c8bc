"""`hakiri context compact`: runs folded into snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.context.tables import chosen_tables
from hakiri.cli.frame import AsJson

if TYPE_CHECKING:
    from hakiri.cli.app import App
    from hakiri.cli.reports.context import CompactedTable
    from hakiri.cli.runtime import Place
    from hakiri.compaction.compacting import Compacted, Compactor
    from hakiri.core.ids import TableName


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
        for name in chosen_tables(place, table):
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
            by_copy=not place.settings.context.rename,
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
