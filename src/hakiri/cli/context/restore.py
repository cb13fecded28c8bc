"""`hakiri context restore`: tables made what they were at an earlier moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hakiri.cli.app import app_of
from hakiri.cli.context.compact import Workbench, workbench_of
from hakiri.cli.context.tables import chosen_tables
from hakiri.cli.frame import AsJson
from hakiri.cli.operating import AsWhom, desk_of, is_meant

if TYPE_CHECKING:
    from datetime import datetime

    from hakiri.cli.app import App
    from hakiri.cli.reports.context import RestoredTable, RestoreReport, WithdrawnPart
    from hakiri.cli.runtime import Place
    from hakiri.compaction.restoring import Restoration, Restorer
    from hakiri.core.ids import ChunkId, PipelineId, TableName
    from hakiri.pipelines.operations.changing import Operator


def restore(
    ctx: typer.Context,
    *,
    tables: Annotated[
        list[str] | None, typer.Argument(metavar="[TABLE]...", help="Tables; all if left out.")
    ] = None,
    when: Annotated[
        str, typer.Option("--at", metavar="WHEN", help="A time, how long ago like `2h`, or a snapshot.")
    ],
    is_rehearsal: Annotated[
        bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")
    ] = False,
    has_reread: Annotated[
        bool, typer.Option("--reread", help="Plan to pull again what is not there any more.")
    ] = False,
    is_sure: Annotated[bool, typer.Option("--yes", help="Do not ask whether this is meant.")] = False,
    who: AsWhom = None,
    as_json: AsJson = False,
) -> None:
    """Make tables what they were at an earlier moment.

    What they were becomes a new snapshot, so that this can be undone: restore them to a moment after it. Any
    moment will do whose files are still kept, see `retain_runs`. Pipelines go on from where they are: rows
    that came after that moment come again only with `--reread` and `hakiri apply`.
    """
    from hakiri.cli.reports.context import RestoreReport
    from hakiri.cli.runtime import open_place
    from hakiri.compaction.restoring import Restorer
    from hakiri.store.past import moment_of

    app = app_of(ctx)
    with open_place(app, only=None) as place, workbench_of(app, place, is_shown=not as_json) as bench:
        # A rehearsal decides nothing, so nobody needs to say who does.
        operator = None if is_rehearsal else desk_of(app).operator(place.catalog, who)
        at = moment_of(when, place.catalog, app.clock.now())
        restorer = Restorer(compactor=bench.compactor, claims=bench.claims, telemetry=bench.telemetry)
        plans, not_there = _plans(place, restorer, tables or [], at)
        told = [_row(plan) for plan in plans]
        if operator is not None:
            changing = [row for row in told if row.is_changed]
            if (
                changing
                and not is_sure
                and not is_meant(app, _question(changing, at), what="this changes tables")
            ):
                app.console.note("nothing was changed")
                return
            told = [
                _restored(bench, restorer, plan, row, by=operator.by)
                for plan, row in zip(plans, told, strict=True)
            ]
        parts = tuple(_parts(place, plans, at, operator if has_reread else None))
    report = RestoreReport(
        dry_run=is_rehearsal,
        at=at,
        by=None if operator is None else operator.by,
        tables=tuple(told),
        not_there=tuple(not_there),
        withdrawn=parts,
    )
    if as_json:
        app.console.data(report)
    else:
        _show(app, report)


def _plans(
    place: Place, restorer: Restorer, named: Sequence[str], at: datetime
) -> tuple[list[Restoration], list[TableName]]:
    """What has to be done for each table, before anything is; a table that was not there then is left alone.

    Raises NotThere if it was named.
    """
    from hakiri.store.errors import NotThere

    wanted = [table for name in dict.fromkeys(named) for table in chosen_tables(place, name)]
    plans, not_there = [], []
    for table in wanted or chosen_tables(place, None):
        try:
            plans.append(restorer.plan(table, at))
        except NotThere:
            if wanted:
                raise
            not_there.append(table)
    return plans, not_there


def _row(plan: Restoration) -> RestoredTable:
    from hakiri.cli.reports.context import RestoredTable
    from hakiri.store.past import count_readable_rows, count_rows

    return RestoredTable(
        table=plan.table,
        is_changed=not plan.is_nothing,
        rows_before=count_readable_rows(plan.before),
        rows=count_rows(plan.after),
        withdrawn=len(plan.withdrawn),
        returning=len(plan.returning),
    )


def _restored(
    bench: Workbench, restorer: Restorer, plan: Restoration, row: RestoredTable, *, by: str
) -> RestoredTable:
    from dataclasses import replace

    from hakiri.compaction.layouts import layout_of_table
    from hakiri.pipelines.runtime.ground import fresh_run

    if plan.is_nothing:
        bench.compactor.publish(plan.table)  # of somebody who died between the commit and the views
        return row
    clock = bench.app.clock
    began = clock.monotonic()
    laid_out = layout_of_table(bench.place.project, plan.table, clock.now())
    bench.display.begin(plan.table)
    try:
        done = restorer.work(plan, fresh_run(clock), laid_out, by=by)
    finally:
        bench.display.close()
    return replace(
        row,
        rows=done.manifest.rows,
        snapshot=done.manifest.snapshot,
        seconds=round(clock.monotonic() - began, 3),
    )


def _parts(
    place: Place, plans: Sequence[Restoration], at: datetime, operator: Operator | None
) -> Iterator[WithdrawnPart]:
    """What each pipeline brought that is not there any more; with an operator it is planned anew.

    But for what the manifest feeds no longer: nobody could pull it.
    """
    from hakiri.cli.reports.context import WithdrawnPart
    from hakiri.compaction.layouts import tables_of
    from hakiri.store.errors import moment_text

    text, feeding = moment_text(at), tables_of(place.project)
    for plan in plans:
        for pipeline, lost in _lost(place, plan).items():
            is_fed = any(spec.id == pipeline for spec, _ in feeding.get(plan.table, ()))
            reason = f"table `{plan.table}` was restored as of {text}"
            pulled = (
                ()
                if operator is None or not is_fed
                else operator.pull_again(pipeline, plan.table, lost, reason=reason).chunks
            )
            first = (
                f"hakiri context restore {plan.table} --at {text} --reread --yes && " if not pulled else ""
            )
            yield WithdrawnPart(
                pipeline_id=pipeline,
                table=plan.table,
                chunks=len(lost),
                planned=len(pulled),
                command=f"{first}hakiri apply {pipeline}" if is_fed else "",
            )


def _lost(place: Place, plan: Restoration) -> dict[PipelineId, list[ChunkId]]:
    """The chunks by pipeline: those that this restore withdraws, and those of an earlier one."""
    from hakiri.store.known_tables import known_table
    from hakiri.store.past import withdrawn

    known = known_table(place.catalog, plan.table)
    earlier = () if known is None else withdrawn(known.contents)
    lost: dict[PipelineId, list[ChunkId]] = {}
    for one in {one.place: one for one in (*plan.withdrawn, *earlier)}.values():
        lost.setdefault(one.pipeline, []).append(one.chunk)
    return lost


def _question(changing: Sequence[RestoredTable], at: datetime) -> str:
    from hakiri.store.errors import moment_text

    if len(changing) == 1:
        (row,) = changing
        return f"make `{row.table}` what it was at {moment_text(at)}, {_instead(row)}?"
    names = ", ".join(f"`{row.table}`" for row in changing)
    return f"make {len(changing)} tables what they were at {moment_text(at)}: {names}?"


def _instead(row: RestoredTable) -> str:
    before = "what cannot be read" if row.rows_before is None else f"{row.rows_before:,}"
    return f"{row.rows:,} rows in place of {before}"


def _show(app: App, report: RestoreReport) -> None:
    from hakiri.cli.board.words import counted
    from hakiri.store.errors import moment_text

    at = moment_text(report.at)
    for row in report.tables:
        if not row.is_changed:
            app.console.print(f"{row.table}: as it was at {at}")
            continue
        verb = "would have" if report.dry_run else "has"
        took = "" if report.dry_run else f", {row.seconds:.1f} s"
        app.console.print(
            f"{row.table}: {verb} {_instead(row)}; "
            f"{counted(row.withdrawn, 'chunk')} withdrawn, {row.returning:,} seen again{took}"
        )
    for table in report.not_there:
        app.console.print(f"{table}: was not there at {at}, and is left alone")
    for part in report.withdrawn:
        what = f"{counted(part.chunks, 'chunk')} of pipeline `{part.pipeline_id}`"
        verb = "would not be" if report.dry_run else "not"
        if part.planned:
            app.console.note(f"{what} planned anew; run `{part.command}`")
            continue
        again = f"to pull them again: `{part.command}`" if part.command else "the manifest feeds it no longer"
        app.console.note(f"{what} {verb} in `{part.table}` any more; {again}")
