"""What an operator changes: what becomes of a failure, how far a table was read, what is pulled again."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hakiri.catalog import Catalog
from hakiri.catalog.contract.chunks import Chunk, ChunkStatus, NewChunk, Reread
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.pipelines import Decision, Failure, Phase
from hakiri.catalog.errors import PhaseMoved
from hakiri.core.canonical import canonical_json
from hakiri.core.ids import ChunkId, NodeId, PipelineId, RunId, TableName
from hakiri.core.nearest import nearest
from hakiri.pipelines.chunks.phases import PhaseEvent, advance_phase
from hakiri.pipelines.chunks.pieces import Piece, stream_of
from hakiri.pipelines.chunks.ranges import ValueRange
from hakiri.pipelines.chunks.streaming import pass_counter
from hakiri.pipelines.errors import LeaseHeldElsewhere, NoSuchTable
from hakiri.pipelines.operations.again import (
    Again,
    are_passes,
    chunks_again,
    first_value,
    range_again,
    stream_again,
    waiting_open,
)
from hakiri.pipelines.operations.errors import (
    BeingRead,
    NothingRead,
    NothingWaits,
    SeveralStreams,
    WouldDouble,
)
from hakiri.pipelines.operations.streams import (
    all_chunks,
    check_cursor,
    field_of,
    store_tables,
    stream_of_chunk,
    streams_named,
)

if TYPE_CHECKING:
    from hakiri.manifest import PipelineSpec
    from hakiri.sources.contract import Bound

_LEASE = timedelta(minutes=1)
_FROM_THE_START = "null"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A failure that is settled, and the chunks that had failed, as they were before."""

    failure: Failure
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """What is pulled again: the chunks that are pending for it, and those whose place they take.

    The old ones are kept for audit, and their rows are seen until the new ones are there. `begins` has the
    tables whose history begins later than the range: what lies before was never pulled, and is not now.
    """

    chunks: tuple[Chunk, ...] = ()
    kept: tuple[ChunkId, ...] = ()
    begins: Mapping[TableName, Bound] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedCursor:
    """A cursor before and after, as JSON; None where there was none."""

    stream: TableName
    before: str | None
    after: str
    pulled: Pulled = field(default_factory=Pulled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Who changes something, and when. `by` is `operator:<id>` or `agent:<id>`."""

    catalog: Catalog
    node: NodeId
    run: RunId
    by: str
    now: datetime

    def decide(self, pipeline: str, decision: Decision) -> Decided:
        """Settle the failure of a pipeline: what failed is tried again, or left out. Raises NothingWaits."""
        name = PipelineId(pipeline)
        state = self.catalog.pipelines.get(name)
        if state is None or state.failure is None:
            raise NothingWaits(pipeline)
        chunks = tuple(all_chunks(self.catalog, name, status=ChunkStatus.FAILED))
        if not self.catalog.pipelines.decide(name, decision, self.by, self.now):
            raise NothingWaits(pipeline)  # somebody else was faster
        return Decided(failure=state.failure, chunks=chunks)

    def set_cursor(
        self, spec: PipelineSpec, stream: str, value: object, reason: str | None = None
    ) -> MovedCursor:
        """Have the next run go on from there, also if a chunk was planned to go on from elsewhere.

        Raises NoSuchStream, NeverRead, SeveralStreams, BadCursor, and WouldDouble for a table without a
        primary key.
        """
        pipeline = PipelineId(spec.id)
        found = streams_named(self.catalog, spec, stream)
        table, _ = stream_of(found[0])
        if len(found) > 1:
            raise SeveralStreams(table, found)
        if not self._has_key(TableName(table)):
            raise WouldDouble(table)
        chunks = self._chunks(pipeline, found[0])
        before = self._cursor(pipeline, found[0])
        check_cursor(found[0], value, field=field_of(chunks), present=before)
        after = canonical_json(value)
        with self._alone(pipeline) as lease:
            # Whoever claimed one of these after the cursor was written would write another over it.
            self.catalog.chunks.skip(pipeline, waiting_open(chunks), self.now)
            self._put(pipeline, found[0], after, reason, lease)
        return MovedCursor(stream=found[0], before=before, after=after)

    def reset_cursor(
        self, spec: PipelineSpec, stream: str, reason: str | None = None
    ) -> tuple[MovedCursor, ...]:
        """Have all that was read of a stream, or of every stream of a table, be pulled again from the start.

        Rows of a table without a primary key are replaced. Raises NoSuchStream, NeverRead and BeingRead.
        """
        pipeline = PipelineId(spec.id)
        moved: list[MovedCursor] = []
        with self._alone(pipeline) as lease:
            for each in streams_named(self.catalog, spec, stream):
                table = TableName(stream_of(each)[0])
                chunks = self._chunks(pipeline, each)
                if are_passes(chunks):  # a pass is over all partitions at once
                    chunks = (
                        [] if moved else [c for c in all_chunks(self.catalog, pipeline) if c.table == table]
                    )
                plan = stream_again(chunks, table=table)
                why = reason or "the cursor was reset"
                pulled = self._planned(pipeline, plan, chunks, why, has_key=self._has_key(table))
                before = self._cursor(pipeline, each)
                self._put(pipeline, each, _FROM_THE_START, reason, lease)
                moved.append(MovedCursor(stream=each, before=before, after=_FROM_THE_START, pulled=pulled))
        self._open_gap(pipeline)
        return tuple(moved)

    def rewind(
        self, spec: PipelineSpec, span: ValueRange, *, reason: str, table: str | None = None
    ) -> Pulled:
        """Pull a range again, of all tables or of one. Nothing is changed if it cannot be done for all.

        Raises NoSuchTable, NothingRead, CannotRewind, RangeMisfit and BeingRead.
        """
        pipeline = PipelineId(spec.id)
        tables = store_tables(spec, table)
        if not tables and table is not None:
            known = store_tables(spec, None)
            raise NoSuchTable(spec.id, table, known, nearest(table, known))
        chunks = list(all_chunks(self.catalog, pipeline))
        plans = [
            range_again(
                chunks,
                span,
                table=each,
                has_key=self._has_key(each),
                now=self.now,
                length=spec.backfill.window,
            )
            for each in tables
            if any(chunk.table == each for chunk in chunks)
        ]
        if all(plan.is_nothing for plan in plans):
            raise NothingRead(spec.id)
        pulled = [
            self._planned(pipeline, plan, chunks, reason, has_key=self._has_key(plan.table))
            for plan in plans
            if not plan.is_nothing
        ]
        self._open_gap(pipeline)
        return Pulled(
            chunks=tuple(chunk for each in pulled for chunk in each.chunks),
            kept=tuple(chunk for each in pulled for chunk in each.kept),
            begins={
                each: begins
                for each in tables
                if (begins := first_value(chunks, span, table=each)) is not None
            },
        )

    def pull_again(
        self, pipeline: PipelineId, table: TableName, lost: Collection[ChunkId], *, reason: str
    ) -> Pulled:
        """Pull again what these chunks of a table brought, whose rows it does not have any more.

        Chunks that are not done, or that others were planned in the place of, are left alone. Raises
        BeingRead.
        """
        chunks = list(all_chunks(self.catalog, pipeline))
        plan = chunks_again(chunks, lost, table=table)
        if plan.is_nothing:
            return Pulled()
        pulled = self._planned(pipeline, plan, chunks, reason, has_key=self._has_key(table))
        self._open_gap(pipeline)
        return pulled

    def _planned(
        self, pipeline: PipelineId, plan: Again, chunks: Sequence[Chunk], reason: str, *, has_key: bool
    ) -> Pulled:
        """Plan it. Every step can be taken again, so that a second call finishes what a crash broke off."""
        self.catalog.chunks.skip(pipeline, plan.set_aside, self.now)
        if not has_key:
            self._refuse_while_read(pipeline, plan, chunks)
        new = set(plan.reopened)
        if plan.copied:
            new |= set(
                self.catalog.chunks.supersede(pipeline, list(plan.copied), reason, self.now, by=self.by)
            )
        for old, pieces in plan.replaced.items():
            new |= set(
                self.catalog.chunks.supersede(
                    pipeline,
                    list(old),
                    reason,
                    self.now,
                    into=self._new_chunks(pipeline, plan.table, pieces),
                    by=self.by,
                )
            )
        if plan.reopened:
            self.catalog.chunks.reopen(pipeline, list(plan.reopened), self.now)
            self._note(pipeline, plan.table, {"chunks": list(plan.reopened)}, reason)
        if plan.beside:
            new |= self._planned_beside(pipeline, plan, chunks, reason)
        kept = {*plan.copied, *(chunk for old in plan.replaced for chunk in old)}
        found = (self.catalog.chunks.get(pipeline, chunk) for chunk in sorted(new))
        return Pulled(chunks=tuple(chunk for chunk in found if chunk is not None), kept=tuple(sorted(kept)))

    def _planned_beside(
        self, pipeline: PipelineId, plan: Again, chunks: Sequence[Chunk], reason: str
    ) -> set[ChunkId]:
        runs = {chunk.chunk: chunk.run for chunk in chunks}
        new = [
            replace(chunk, reread=self._reread((runs[old] for old in overlay.over), reason))
            for chunk, overlay in zip(
                self._new_chunks(pipeline, plan.table, [overlay.piece for overlay in plan.beside]),
                plan.beside,
                strict=True,
            )
        ]
        name = f"again {plan.table} at {self.now.isoformat()}"
        self.catalog.chunks.plan(pipeline, name, new, self.now)
        self._note(pipeline, plan.table, {"pieces": [json.loads(each.predicate) for each in new]}, reason)
        last = max((chunk.chunk for chunk in chunks), default=ChunkId(0))
        texts = {each.predicate for each in new}
        added = all_chunks(self.catalog, pipeline, after=last)
        return {chunk.chunk for chunk in added if chunk.table == plan.table and chunk.predicate in texts}

    def _reread(self, runs: Iterable[RunId | None], reason: str) -> Reread:
        return Reread(
            reason=reason, asked_at=self.now, runs=tuple(sorted({run for run in runs if run is not None}))
        )

    def _new_chunks(self, pipeline: PipelineId, table: TableName, pieces: Sequence[Piece]) -> list[NewChunk]:
        """The pieces as chunks; those of a pass get the number that no other pass has."""
        if any(piece.pass_number is not None for piece in pieces):
            number = self.catalog.number(pass_counter(pipeline, table))
            pieces = [replace(piece, pass_number=number) for piece in pieces]
        return [NewChunk(table=table, predicate=piece.text()) for piece in pieces]

    def _refuse_while_read(self, pipeline: PipelineId, plan: Again, chunks: Sequence[Chunk]) -> None:
        """Raise BeingRead while somebody reads what the plan reads too."""
        old = {chunk for each in plan.replaced for chunk in each} | set(plan.copied)
        streams = {stream_of_chunk(chunk) for chunk in chunks if chunk.chunk in old}
        for chunk in all_chunks(self.catalog, pipeline, status=ChunkStatus.RUNNING):
            is_held = chunk.leased_until is not None and chunk.leased_until > self.now
            if is_held and stream_of_chunk(chunk) in streams and Piece.parse(chunk.predicate).is_open:
                raise BeingRead(chunk.table, chunk.holder or "another worker")

    def _note(self, pipeline: PipelineId, table: TableName, after: object, reason: str) -> None:
        self.catalog.audit.note(
            self.by,
            "rewind",
            self.now,
            pipeline=pipeline,
            table=table,
            after=canonical_json(after),
            reason=reason,
        )

    def _open_gap(self, pipeline: PipelineId) -> None:
        state = self.catalog.pipelines.get(pipeline)
        if state is None or state.phase is not Phase.STREAMING:
            return
        after = advance_phase(state.phase, PhaseEvent.GAP_DETECTED)
        try:
            self.catalog.pipelines.move(pipeline, state.phase, after, self.now)
        except PhaseMoved as moved:
            if moved.actual != after:  # somebody else opened it
                raise

    def _has_key(self, table: TableName) -> bool:
        schema = self.catalog.schemas.current(table)
        return schema is not None and bool(schema.primary_key)

    def _chunks(self, pipeline: PipelineId, stream: TableName) -> list[Chunk]:
        return [chunk for chunk in all_chunks(self.catalog, pipeline) if stream_of_chunk(chunk) == stream]

    def _cursor(self, pipeline: PipelineId, stream: TableName) -> str | None:
        kept = {cursor.table: cursor.value for cursor in self.catalog.cursors.all(pipeline)}
        return kept.get(stream)

    @contextmanager
    def _alone(self, pipeline: PipelineId) -> Iterator[Lease | None]:
        """With the pipeline's lease, if its kind of cursor needs one. Raises LeaseHeldElsewhere."""
        state = self.catalog.pipelines.get(pipeline)
        if state is not None and not state.kind.needs_lease:
            yield None
            return
        lease = self.catalog.leases.acquire(pipeline, self.node, self.now, _LEASE)
        if lease is None:
            held = self.catalog.leases.current(pipeline)
            raise LeaseHeldElsewhere(pipeline, held.holder if held is not None else "another worker")
        try:
            yield lease
        finally:
            self.catalog.leases.release(lease)

    def _put(
        self, pipeline: PipelineId, stream: TableName, value: str, reason: str | None, lease: Lease | None
    ) -> None:
        self.catalog.cursors.put(
            pipeline,
            stream,
            value,
            run=self.run,
            now=self.now,
            under=lease,
            audit_by=self.by,
            reason=reason,
        )
