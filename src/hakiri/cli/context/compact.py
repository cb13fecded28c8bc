"""`hakiri context compact`: runs folded into snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.context.tables import chosen_tables
from hakiri.cli.frame import AsJson
from hakiri.core.errors import HakiriError

if TYPE_CHECKING:
    from hakiri.cli.app import App
    from hakiri.cli.context.progress import CompactionDisplay
    from hakiri.cli.reports.context import CompactedTable
    from hakiri.cli.runtime import Place
    from hakiri.compaction.claims import Claims
    from hakiri.compaction.compacting import Compacted, Compactor
    from hakiri.core.ids import TableName
    from hakiri.telemetry import Telemetry


def compact(
    ctx: typer.Context,
    *,
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="One table; all if left out.")
    ] = None,
    is_full: Annotated[
        bool,
        typer.Option(
            "--full", help="Write all of it anew, also if nothing is new; what is damaged from what is not."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fold the runs of tables into snapshots.

    A snapshot has one row a key, sorted as the table's `cluster_by` says, in few files: queries read it
    first. Readers see the same rows before, during and after. What was folded is kept for `retain_runs`.
    A table that somebody else compacts at this moment is left to them. One that cannot be compacted does not
    keep the others from it.
    """
    from hakiri.cli.failures import human_text
    from hakiri.cli.reports.context import CompactedTable, CompactReport
    from hakiri.cli.runtime import open_place

    app = app_of(ctx)
    done: list[CompactedTable] = []
    failures: list[HakiriError] = []
    with open_place(app, only=None) as place, workbench_of(app, place, is_shown=not as_json) as bench:
        for name in chosen_tables(place, table):
            try:
                done.append(bench.compacted(name, is_full=is_full))
            except HakiriError as error:
                if table is not None:
                    raise
                failures.append(error)
                done.append(
                    CompactedTable(
                        table=name,
                        is_compacted=False,
                        error_code=error.code,
                        error=str(error),
                        hint=error.hint,
                    )
                )
            if not as_json:
                app.console.print(line_of(done[-1]))
    if as_json:
        app.console.data(CompactReport(tables=tuple(done)))
    for failure in failures:
        app.console.error(human_text(failure))
    if failures:
        raise typer.Exit(failures[0].exit_code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """What compacts the tables of a place, one after the other."""

    app: App
    place: Place
    compactor: Compactor
    claims: Claims
    telemetry: Telemetry
    display: CompactionDisplay

    def compacted(self, table: TableName, *, is_full: bool) -> CompactedTable:
        from hakiri.cli.reports.context import CompactedTable
        from hakiri.compaction.errors import CompactionUnderWay
        from hakiri.compaction.layouts import layout_of_table
        from hakiri.compaction.runs import CompactionRun
        from hakiri.pipelines.runtime.ground import fresh_run

        clock = self.app.clock
        began = clock.monotonic()
        self.display.begin(table)
        work = CompactionRun(
            compactor=self.compactor,
            table=table,
            laid_out=layout_of_table(self.place.project, table, clock.now()),
            is_full=is_full,
            claims=self.claims,
            telemetry=self.telemetry,
        )
        try:
            folded = work.work(fresh_run(clock))
        except CompactionUnderWay as error:
            return CompactedTable(
                table=table, is_compacted=False, held_by=error.holder, held_since=error.since
            )
        finally:
            self.display.close()
        return report_of(table, folded, clock.monotonic() - began)


@contextmanager
def workbench_of(app: App, place: Place, *, is_shown: bool) -> Iterator[Workbench]:
    """What compacts on Spark, which is started when there is something to fold."""
    from hakiri.cli.context.progress import CompactionDisplay
    from hakiri.cli.runtime import node_of, telemetry_of
    from hakiri.cli.spark import engine_of
    from hakiri.compaction.claims import Claims
    from hakiri.compaction.compacting import Compactor
    from hakiri.compaction.runner import SparkTasks
    from hakiri.engine import session
    from hakiri.pipelines.runtime.burying import bury_the_dead
    from hakiri.store.nodes import known_node
    from hakiri.store.publishing import Publisher

    catalog, settings, now = place.catalog, place.settings, app.clock.now()
    node = node_of(settings)
    publisher = Publisher(place.layout, catalog)
    display = CompactionDisplay(app.console, app.clock, is_shown=is_shown)

    with (
        known_node(place.layout.nodes, node),
        telemetry_of(app, place) as telemetry,
        ExitStack() as stack,
    ):
        stack.callback(display.close)
        bury_the_dead(catalog, place.layout.nodes, app.clock)
        root = place.project.root
        tasks = SparkTasks(
            lambda: stack.enter_context(session(engine_of(app, settings), display, project=root)),
            told=display.tasks,
        )
        yield Workbench(
            app=app,
            place=place,
            compactor=Compactor(
                catalog=catalog,
                layout=place.layout,
                clock=app.clock,
                node=node,
                run_tasks=tasks,
                publish=lambda table: publisher.publish([table]),
                by_copy=not settings.context.rename,
            ),
            claims=Claims(
                catalog=catalog,
                clock=app.clock,
                node=node,
                lease=settings.runtime.lease.after(now) - now,
            ),
            telemetry=telemetry,
            display=display,
        )


def report_of(table: TableName, done: Compacted | None, seconds: float) -> CompactedTable:
    """What became of a table that nobody else was at."""
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
        mended=done.mended,
        seconds=round(seconds, 3),
    )


def line_of(done: CompactedTable) -> str:
    """The same for a person."""
    from hakiri.cli.board.words import counted
    from hakiri.core.grammar import format_size

    if done.held_by is not None and done.held_since is not None:
        since = f"{done.held_since:%Y-%m-%d %H:%M:%S}Z"
        return f"{done.table}: left alone, `{done.held_by}` is compacting it since {since}"
    if done.error is not None:
        return f"{done.table}: not compacted"
    if not done.is_compacted:
        return f"{done.table}: nothing new to fold"
    read = f"{done.rows_read:,} rows in {format_size(done.bytes_read)}"
    made = f"{done.rows:,} in {format_size(done.bytes)}, {counted(done.files, 'file')}"
    left = f"; {counted(done.waiting, 'chunk')} left for later, while others work" if done.waiting else ""
    mended = f"; {counted(len(done.mended), 'damaged file')} mended" if done.mended else ""
    return (
        f"{done.table}: {counted(done.runs, 'run')} folded, {read} became {made}, {done.seconds:.1f} s"
        f"{mended}{left}"
    )
