"""What an operator changes: what becomes of a failure, how far a table was read, what is pulled again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hakiri.catalog import Catalog
from hakiri.catalog.contract.chunks import Chunk, ChunkStatus, NewChunk
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.pipelines import Decision, Phase
from hakiri.core.canonical import canonical_json
from hakiri.core.errors import ExitCode, HakiriError
from hakiri.core.ids import ChunkId, NodeId, PipelineId, RunId, TableName
from hakiri.pipelines.chunks.phases import PhaseEvent, advance_phase
from hakiri.pipelines.chunks.pieces import Piece, PieceKind, stream_of
from hakiri.pipelines.chunks.rewinding import DoneChunk, Rewound, ValueRange, rewind
from hakiri.pipelines.errors import LeaseHeldElsewhere

if TYPE_CHECKING:
    from hakiri.manifest import PipelineSpec

_PAGE = 1000
_LEASE = timedelta(minutes=1)


class NothingWaits(HakiriError):
    """A decision about a pipeline that did not fail."""

    code = "pipelines.nothing_waits"
    exit_code = ExitCode.USAGE

    def __init__(self, pipeline: str) -> None:
        self.pipeline = pipeline
        super().__init__(
            f"pipeline `{pipeline}` did not fail, so there is nothing to decide",
            hint="see `hakiri status` for how it stands",
        )


class NothingRead(HakiriError):
    """A range of which nothing was read yet."""

    code = "pipelines.nothing_read"
    exit_code = ExitCode.USAGE

    def __init__(self, pipeline: str) -> None:
        self.pipeline = pipeline
        super().__init__(
            f"nothing of that range was pulled by pipeline `{pipeline}` yet",
            hint="see `hakiri status` for how far it is; what is pending is pulled anyway",
        )


class NoSuchStream(HakiriError):
    """A cursor that there is none of."""

    code = "pipelines.no_such_stream"
    exit_code = ExitCode.USAGE

    def __init__(self, pipeline: str, name: str, known: Sequence[str]) -> None:
        self.pipeline, self.name = pipeline, name
        super().__init__(
            f"pipeline `{pipeline}` has no table or stream `{name}`",
            hint=f"it has {', '.join(known)}" if known else "it was never run",
        )


class WouldDouble(HakiriError):
    """A cursor set by hand where rows that are read twice stay twice."""

    code = "pipelines.would_double"
    exit_code = ExitCode.REFUSED

    def __init__(self, table: str) -> None:
        self.table = table
        super().__init__(
            f"table `{table}` has no primary key, so rows that are read again would be there twice",
            hint="use `hakiri cursor reset`, which replaces them, or give the table a `primary_key`",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Who changes something, when, and why."""

    catalog: Catalog
    node: NodeId
    run: RunId
    by: str
    now: datetime

    def decide(self, pipeline: str, decision: Decision) -> None:
        """Settle the failure of a pipeline. Raises NothingWaits."""
        if not self.catalog.pipelines.decide(PipelineId(pipeline), decision, self.by, self.now):
            raise NothingWaits(pipeline)

    def set_cursor(self, spec: PipelineSpec, stream: str, value: object, reason: str | None) -> None:
        """Have the next run go on from there. Raises WouldDouble for a table without a primary key."""
        table, _ = stream_of(stream)
        self._known(spec, stream)
        if not self._has_key(TableName(table)):
            raise WouldDouble(table)
        self._put(PipelineId(spec.id), TableName(stream), canonical_json(value), reason)

    def reset_cursor(self, spec: PipelineSpec, stream: str, reason: str | None) -> None:
        """Have the next run read from the start. Rows of a table without a primary key are replaced by it."""
        pipeline = PipelineId(spec.id)
        table, partition = stream_of(stream)
        self._known(spec, stream)
        read = [
            done
            for done in _done_chunks(self.catalog, pipeline)
            if done.table == table and Piece.parse(done.predicate).partition == partition
        ]
        is_cut = any(Piece.parse(done.predicate).kind is PieceKind.WINDOW for done in read)
        if read and is_cut and not self._has_key(TableName(table)):
            whole = Piece(kind=PieceKind.TAIL, partition=partition)
            self.catalog.chunks.supersede(
                pipeline,
                [done.chunk for done in read],
                reason or "the cursor was reset",
                self.now,
                into=[NewChunk(table=TableName(table), predicate=whole.text())],
                by=self.by,
            )
            self._open_gap(pipeline)
        self._put(pipeline, TableName(stream), "null", reason)

    def rewind(
        self, spec: PipelineSpec, span: ValueRange, *, reason: str, table: str | None = None
    ) -> dict[TableName, int]:
        """Pull a range again; how many chunks are pending for it, by table. Raises NothingRead."""
        pipeline = PipelineId(spec.id)
        done = _done_chunks(self.catalog, pipeline)
        planned: dict[TableName, int] = {}
        for each in spec.tables:
            store = TableName(spec.store_name(each))
            if table is not None and table not in (each.name, spec.source_name(each), store):
                continue
            own = [chunk for chunk in done if chunk.table == store]
            if not own:
                continue
            rewound = rewind(
                [_as_done(chunk) for chunk in own],
                span,
                table=store,
                field=_field_of(own),
                has_key=self._has_key(store),
                now=self.now,
                length=spec.backfill.window,
            )
            count = self._planned(pipeline, store, rewound, reason)
            if count:
                planned[store] = count
        if not planned:
            raise NothingRead(spec.id)
        self._open_gap(pipeline)
        return planned

    def _planned(self, pipeline: PipelineId, table: TableName, rewound: Rewound, reason: str) -> int:
        count = 0
        for old, pieces in rewound.supersede.items():
            new = self.catalog.chunks.supersede(
                pipeline,
                list(old),
                reason,
                self.now,
                into=[NewChunk(table=table, predicate=piece.text()) for piece in pieces],
                by=self.by,
            )
            count += len(new)
        if rewound.beside:
            added = self.catalog.chunks.plan(
                pipeline,
                f"rewind of {table} at {self.now.isoformat()}",
                [NewChunk(table=table, predicate=piece.text()) for piece in rewound.beside],
                self.now,
            )
            count += added
            self.catalog.audit.note(
                self.by,
                "rewind",
                self.now,
                pipeline=pipeline,
                table=table,
                after=canonical_json({"pieces": [json.loads(piece.text()) for piece in rewound.beside]}),
                reason=reason,
            )
        return count

    def _open_gap(self, pipeline: PipelineId) -> None:
        state = self.catalog.pipelines.get(pipeline)
        if state is not None and state.phase is Phase.STREAMING:
            after = advance_phase(state.phase, PhaseEvent.GAP_DETECTED)
            self.catalog.pipelines.move(pipeline, state.phase, after, self.now)

    def _has_key(self, table: TableName) -> bool:
        schema = self.catalog.schemas.current(table)
        return schema is not None and bool(schema.primary_key)

    def _known(self, spec: PipelineSpec, stream: str) -> None:
        known = [cursor.table for cursor in self.catalog.cursors.all(PipelineId(spec.id))]
        tables = [spec.store_name(table) for table in spec.tables]
        if stream not in known and stream not in tables:
            raise NoSuchStream(spec.id, stream, sorted({*known, *tables}))

    def _put(self, pipeline: PipelineId, stream: TableName, value: str, reason: str | None) -> None:
        state = self.catalog.pipelines.get(pipeline)
        lease: Lease | None = None
        if state is None or state.kind.needs_lease:
            lease = self.catalog.leases.acquire(pipeline, self.node, self.now, _LEASE)
            if lease is None:
                held = self.catalog.leases.current(pipeline)
                raise LeaseHeldElsewhere(pipeline, held.holder if held is not None else "another worker")
        try:
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
        finally:
            if lease is not None:
                self.catalog.leases.release(lease)


def _done_chunks(catalog: Catalog, pipeline: PipelineId) -> list[Chunk]:
    found: list[Chunk] = []
    after: ChunkId | None = None
    while page := catalog.chunks.page(pipeline, status=ChunkStatus.DONE, after=after, limit=_PAGE):
        found += page
        after = page[-1].chunk
    return found


def _as_done(chunk: Chunk) -> DoneChunk:
    cursor = None if chunk.cursor_committed is None else json.loads(chunk.cursor_committed)
    return DoneChunk(chunk=chunk.chunk, piece=Piece.parse(chunk.predicate), cursor=cursor)


def _field_of(chunks: Sequence[Chunk]) -> str | None:
    """The column by which the chunks were cut."""
    windows = [piece.window for chunk in chunks if (piece := Piece.parse(chunk.predicate)).window is not None]
    return windows[0].field if windows and windows[0] is not None else None
