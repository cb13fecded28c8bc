"""Restoring a table: what it was at an earlier moment becomes its next snapshot.

History is never rewritten: what landed since stays in the catalog, with a claim below the snapshot's frontier
that the snapshot has no place for. So a restore is undone by another one, to a later moment.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.audit import NewEntry
from hakiri.catalog.contract.chunks import ChunkStatus
from hakiri.catalog.contract.snapshots import DoomedFile
from hakiri.compaction.claims import Claims
from hakiri.compaction.compacting import Chosen, Compacted, Compactor
from hakiri.compaction.errors import KeyChanged, TableBusy
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.runs import CompactionRun
from hakiri.compaction.selecting import Selection, input_files
from hakiri.core.canonical import canonical_json
from hakiri.core.ids import RunId, TableName
from hakiri.store.errors import NotThere, moment_text
from hakiri.store.known_tables import Contents, known_table
from hakiri.store.past import files_at, table_at
from hakiri.store.snapshots import exact_ranges_of, ranges_of
from hakiri.store.state import state_of
from hakiri.store.views import TableState
from hakiri.store.visible import Landed, replaced, under_way
from hakiri.telemetry import Telemetry

ACTION = "restore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoration:
    """What has to be done so that a table is again what it was.

    `before` and `after` are what readers see until then and from then on. `withdrawn` are the chunks that
    are seen now and will not be, and `returning` those that will be seen again; without any of either there
    is nothing to do.
    """

    at: datetime
    before: TableState
    after: TableState
    chosen: Chosen
    withdrawn: tuple[Landed, ...]
    returning: tuple[Landed, ...]

    @property
    def table(self) -> TableName:
        return self.chosen.schema.table

    @property
    def is_nothing(self) -> bool:
        return not self.withdrawn and not self.returning


@dataclass(frozen=True, slots=True, kw_only=True)
class Restorer:
    """Restores tables of one store."""

    compactor: Compactor
    claims: Claims | None = None
    telemetry: Telemetry | None = None

    def plan(self, table: TableName, at: datetime) -> Restoration:
        """Look what there is to do, and change nothing.

        Raises NotThere for a table that was not there then, PastGone when its files of then were deleted,
        KeyChanged, and TableBusy while somebody works on chunks of it.
        """
        catalog, layout = self.compactor.catalog, self.compactor.layout
        # In this order: whatever is claimed after the look is newer than all that is restored. What was
        # claimed before has landed by the time that the frontier is known, or never will.
        refuse_busy(catalog, table)
        frontier = catalog.snapshots.frontier(table)
        known, schema = known_table(catalog, table), catalog.schemas.current(table)
        if known is None or schema is None:
            raise NotThere(table, at)
        then = table_at(catalog, table, at)
        after = files_at(layout, catalog, then, at)
        if then.primary_key != schema.primary_key:
            raise KeyChanged(table, then.primary_key, schema.primary_key)
        now, has_key = known.contents, bool(schema.primary_key)
        selection = select_past(now, then.contents, frontier, has_key=has_key)
        shown, again = now.shown, then.contents.shown
        return Restoration(
            at=at,
            before=state_of(layout, known),
            after=after,
            chosen=Chosen(
                schema=schema,
                selection=selection,
                waiting=0,
                is_full=True,
                base_reason=f"restored as of {moment_text(at)}",
            ),
            withdrawn=_of_claims(now.landed, shown - again, frontier),
            returning=_of_claims(then.contents.landed, again - shown, frontier),
        )

    def work(self, plan: Restoration, run: RunId, laid_out: TableLayout, *, by: str) -> Compacted:
        """Make the table what it was. `by` is who wants it, as the audit log has it.

        A crash at any moment leaves it as it is, or as it was. Raises CompactionUnderWay while somebody
        compacts it, TableMoved when somebody made another snapshot first, PastGone when a file was deleted
        meanwhile, the errors of its tasks.
        """
        self._hold(plan, laid_out)
        try:
            return CompactionRun(
                compactor=self.compactor,
                table=plan.table,
                laid_out=laid_out,
                why=ACTION,
                claims=self.claims,
                telemetry=self.telemetry,
            ).make(replace(plan.chosen, entries=_entries(plan, run, by)), run)
        except Exception:
            self._refuse_gone(plan)
            raise

    def _hold(self, plan: Restoration, laid_out: TableLayout) -> None:
        """Have a collection that comes by leave the files alone that only this restore reads."""
        compactor, now = self.compactor, self.compactor.clock.now()
        layout = compactor.layout
        read = {
            path
            for some in (plan.before.files, plan.before.folded)
            for each in some.values()
            for path in each
        }
        inputs = [file.path for file in input_files(plan.chosen.selection, layout)]
        compactor.catalog.garbage.doom(
            (
                DoomedFile(
                    path=layout.relative(Path(path)),
                    table=plan.table,
                    reason="read by a restore",
                    keep_until=now + laid_out.retain,
                )
                for path in inputs
                if path not in read
            ),
            now,
        )
        self._refuse_gone(plan)

    def _refuse_gone(self, plan: Restoration) -> None:
        catalog, layout = self.compactor.catalog, self.compactor.layout
        files_at(layout, catalog, table_at(catalog, plan.table, plan.at), plan.at)


def _entries(plan: Restoration, run: RunId, by: str) -> tuple[NewEntry, ...]:
    """Who did it, for every pipeline that it takes rows from."""
    current = plan.chosen.selection.current
    return tuple(
        NewEntry(
            by=by,
            action=ACTION,
            pipeline=pipeline,
            table=plan.table,
            before=canonical_json({"snapshot": None if current is None else current.snapshot}),
            after=canonical_json({"at": moment_text(plan.at), "run": run}),
            reason=f"as it was at {moment_text(plan.at)}",
        )
        for pipeline in sorted({one.pipeline for one in plan.withdrawn}) or (None,)
    )


def select_past(now: Contents, then: Contents, frontier: int, *, has_key: bool) -> Selection:
    """What the table held then, in the place of what it holds now. Pure.

    What had landed then and was not to be seen yet, because it waits for more, goes on waiting if its files
    were never given up since.
    """
    known = {one.seq for one in (*now.landed, *now.forgotten, *then.landed) if one.seq < frontier}
    counting = [one for one in then.landed if one.seq < frontier]
    own = {one.seq for one in now.landed if not now.is_folded(one)}
    if has_key:
        held, left_out = {one.seq for one in counting}, set[int]()
    else:
        lost = {one.seq for one in replaced(then.landed, then.forgotten)}
        quiet = {one.seq for one in counting if one.unchanged}
        is_open = {one.seq for one in under_way(then.landed)}
        waiting = {one.seq for one in counting} - then.shown - quiet - lost
        left_out = (waiting | is_open) & own & known
        held = ({*then.shown, *quiet} & known) - left_out
    folded = tuple(one for one in then.chunks if one.seq in held)
    kept = {one.seq for one in folded} | left_out
    return Selection(
        frontier=frontier,
        current=now.snapshot,
        base=then.snapshot,
        folded=folded,
        excluded=then.excluded,
        replaced=(),
        held=ranges_of(held, known - held),
        claims_held=len(held),
        left_out=tuple(sorted(left_out)),
        withdrawn=tuple(
            one for one in now.landed if one.seq in own and one.seq < frontier and one.seq not in kept
        ),
        placeless=exact_ranges_of(known - held - left_out),
    )


def refuse_busy(catalog: Catalog, table: TableName) -> None:
    """Raise TableBusy while a chunk of the table is being worked on."""
    for state in catalog.pipelines.all():
        for chunk in catalog.chunks.page(state.pipeline, status=ChunkStatus.RUNNING):
            if chunk.table == table:
                raise TableBusy(table, state.pipeline, chunk.holder or "somebody")


def _of_claims(landed: Iterable[Landed], claims: frozenset[int], frontier: int) -> tuple[Landed, ...]:
    return tuple(one for one in landed if one.seq in claims and one.seq < frontier)
