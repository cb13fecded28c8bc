"""`hakiri context rebuild-catalog`: the catalog from the files of the store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.frame import AsJson
from hakiri.cli.operating import desk_of, is_meant, wrapped

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.cli.console import Console
    from hakiri.cli.operating import Desk
    from hakiri.cli.reports.context import RebuildReport
    from hakiri.store.rebuild.planning import Rebuilt


def rebuild_catalog(
    ctx: typer.Context,
    *,
    is_rehearsal: Annotated[
        bool, typer.Option("--dry-run", help="Say what would come of it, and change nothing.")
    ] = False,
    is_sure: Annotated[bool, typer.Option("--yes", help="Do not ask whether this is meant.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make the catalog anew from the files of the store.

    For a catalog that is lost or damaged. Queries answer as before, and the next run and the next compaction
    go on where the last ones ended. What no file tells is listed first. The catalog that is there is kept
    beside the new one.
    """
    app = app_of(ctx)
    desk = desk_of(app)
    if not is_rehearsal:
        _refuse_while_worked_on(desk)
    found = _planned(desk)
    report = _report(desk, found, is_rehearsal=is_rehearsal)
    if not as_json:
        _show(app.console, report)
    if is_rehearsal:
        if as_json:
            app.console.data(report)
        return
    if not is_sure:
        what = "this puts a new catalog in the place of the one there is"
        if not is_meant(app, "make the catalog anew?", what=what):
            app.console.note("nothing was changed")
            return
        # Others may have worked on the store until the answer came.
        _refuse_while_worked_on(desk)
        found = _planned(desk)
    kept = _rebuilt(desk, found)
    if as_json:
        from dataclasses import replace

        app.console.data(replace(report, kept=kept))
        return
    app.console.print("the catalog is made anew" + (f"; the one before is `{kept}`" if kept else ""))


def _planned(desk: Desk) -> Rebuilt:
    from hakiri.compaction.layouts import layout_of_table
    from hakiri.pipelines.rebuilding import facts_of
    from hakiri.store.files import LocalFiles
    from hakiri.store.rebuild.claims import claims_in
    from hakiri.store.rebuild.planning import plan_rebuild
    from hakiri.store.rebuild.settling import Reading
    from hakiri.store.rebuild.tree import read_tree

    now = desk.app.clock.now()
    reading = Reading(
        now=now,
        keep=lambda table: layout_of_table(desk.project, table, now).retain,
        facts_of=facts_of,
        find_claims=claims_in(desk.layout),
    )
    return plan_rebuild(read_tree(desk.layout, LocalFiles()), str(desk.layout.root), reading)


def _rebuilt(desk: Desk, found: Rebuilt) -> str | None:
    """Put the new catalog in its place, and write the views that it has; where the one before is kept."""
    from hakiri.store.publishing import Publisher

    kept = desk.place.rebuild(found.contents, desk.app.clock.now())
    with desk.place.open() as catalog:
        for broken in Publisher(desk.layout, catalog).publish_anew():
            desk.app.console.warn(str(broken), hint=broken.hint)
    return kept


def _refuse_while_worked_on(desk: Desk) -> None:
    from hakiri.catalog.errors import CatalogInUse
    from hakiri.store.nodes import living_nodes

    living = living_nodes(desk.layout.nodes)
    if living:
        raise CatalogInUse(desk.place.location, f"`{living[0]}` works on this store")


@contextmanager
def _catalog_before(desk: Desk) -> Iterator[Catalog | None]:
    """The catalog that is there, to look at; None if there is none, or it cannot be read."""
    from hakiri.catalog.errors import CatalogError

    try:
        is_known = desk.place.version() == desk.place.newest_version()
        catalog = desk.place.open(is_look=True) if is_known else None
    except CatalogError:
        catalog = None
    if catalog is None:
        yield None
        return
    with catalog:
        yield catalog


def _report(desk: Desk, found: Rebuilt, *, is_rehearsal: bool) -> RebuildReport:
    from hakiri.catalog.errors import CatalogError
    from hakiri.cli.reports.context import LeftOutAttempt, RebuildReport, RebuiltPipeline, RebuiltTable
    from hakiri.store.rebuild.losses import losses_of

    contents = found.contents
    with _catalog_before(desk) as before:
        try:
            lost = losses_of(found, before)
        except CatalogError:
            lost = losses_of(found, None)
    return RebuildReport(
        dry_run=is_rehearsal,
        catalog=desk.place.location,
        kept=None,
        tables=tuple(
            RebuiltTable(
                table=each.table,
                schema_version=each.schema_version,
                primary_key=each.primary_key,
                chunks=each.chunks,
                superseded=each.superseded,
                snapshots=each.snapshots,
                snapshot=each.snapshot,
                unseen=each.unseen,
            )
            for each in found.tables
        ),
        pipelines=tuple(
            RebuiltPipeline(
                pipeline_id=each.pipeline,
                phase=each.phase.value,
                runs=sum(run.pipeline == each.pipeline for run in contents.runs),
                chunks=sum(chunk.pipeline == each.pipeline for chunk in contents.chunks),
                cursors={
                    cursor.table: json.loads(cursor.value)
                    for cursor in contents.cursors
                    if cursor.pipeline == each.pipeline
                },
            )
            for each in contents.pipelines
            if each.last_chunk
        ),
        left_out=tuple(
            LeftOutAttempt(path=each.attempt.place, why=each.why)
            for table in found.tables
            for each in table.left_out
        ),
        lost=lost,
    )


def _show(console: Console, report: RebuildReport) -> None:
    from hakiri.cli.board.words import counted
    from hakiri.cli.columns import width_of

    for table in report.tables:
        of_snapshots = f", {counted(table.snapshots, 'snapshot')}" if table.snapshots else ""
        version = f"schema version {table.schema_version}"
        console.print(f"{table.table}: {counted(table.chunks, 'chunk')}{of_snapshots}, {version}")
        for place in table.unseen:
            console.print(f"  counts from now on, and no view named it: {place}")
    for each in report.pipelines:
        of_cursors = f", {counted(len(each.cursors), 'cursor')}" if each.cursors else ""
        runs, chunks = counted(each.runs, "run"), counted(each.chunks, "chunk")
        console.print(f"pipeline {each.pipeline_id}: {runs}, {chunks}{of_cursors}, {each.phase}")
    for attempt in report.left_out:
        console.print(f"left out, because {attempt.why}: {attempt.path}")
    console.print("What no file tells, and the new catalog will not have:")
    for line in report.lost:
        for part in wrapped(line, width_of(console), first="  - ", rest="    "):
            console.print(part)
