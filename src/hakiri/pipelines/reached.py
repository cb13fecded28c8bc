"""How far the streams of a pipeline were read, from the catalog alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from hakiri.catalog.contract.chunks import ChunkStatus, ChunkTally
from hakiri.catalog.contract.pipelines import Phase
from hakiri.core.ids import PipelineId, TableName
from hakiri.pipelines.chunks.bounds import axis_of
from hakiri.pipelines.chunks.errors import BadPiece
from hakiri.pipelines.chunks.pieces import Piece, PieceKind, stream_name
from hakiri.pipelines.estimates import StreamState

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.pipelines.chunks.planning import TableFacts
    from hakiri.sources.contract import Bound, Cursor

_UNDONE = (ChunkStatus.PENDING, ChunkStatus.RUNNING, ChunkStatus.FAILED)
_PAGE = 1000
_FEW = 10
# How far back the open end of a stream is looked for while no row has come to it.
_LOOK_BACK = 1000


def history_plan(stream: str) -> str:
    """The name under which the chunks of a stream's history are planned."""
    return f"history of {stream}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What the catalog knows of the chunks and cursors of a pipeline; without a catalog, that is nothing."""

    catalog: Catalog | None
    pipeline: PipelineId
    phase: Phase = Phase.PLANNING
    tally: ChunkTally = field(default_factory=ChunkTally)
    cursors: Mapping[str, Cursor | None] = field(default_factory=dict)
    undone: Mapping[str, tuple[Piece, ...]] = field(default_factory=dict)

    @property
    def chunks_left(self) -> int:
        return self.tally.pending + self.tally.running + self.tally.failed

    def streams(self, facts: TableFacts, start_from: datetime | None = None) -> Iterator[StreamState]:
        """Every stream of the table; one that is read in passes has one for all of its partitions."""
        groups = [facts.partitions] if facts.is_pass else [(each,) for each in facts.partitions]
        late: dict[str, Bound] = {}
        if (
            self.catalog is not None
            and self.tally.total
            and facts.is_cut
            and facts.field
            and not facts.is_pass
        ):
            late = late_beginnings(
                self.catalog,
                self.pipeline,
                facts.table,
                field=facts.field,
                partitions=facts.partitions,
                start_from=start_from,
            )
        for partitions in groups:
            partition = {} if facts.is_pass else dict(partitions[0])
            name = stream_name(facts.table, partition)
            cursor = self.cursors.get(name)
            is_planned = self._is_planned(name)
            yield StreamState(
                partitions=partitions,
                is_planned=is_planned,
                left=tuple(
                    piece
                    for piece in self.undone.get(facts.table, ())
                    if facts.is_pass or piece.partition == partition
                ),
                cursor=cursor,
                begins=late.get(name),
                edge=self._edge(facts, partition) if is_planned and name not in self.cursors else None,
            )

    def _is_planned(self, stream: str) -> bool:
        if self.catalog is None or not self.tally.total:
            return False
        return self.catalog.chunks.is_planned(self.pipeline, history_plan(stream))

    def edge(self, table: str, partition: Mapping[str, str]) -> Bound | None:
        """Where the window begins that is read until a first row comes behind the history."""
        if self.catalog is None:
            return None
        for chunk in self.catalog.chunks.recent(self.pipeline, limit=_LOOK_BACK):
            if chunk.table != table:
                continue
            piece = _piece(chunk.predicate)
            if piece is not None and piece.is_open and piece.partition == partition and piece.window:
                return piece.window.since
        return None

    def _edge(self, facts: TableFacts, partition: Mapping[str, str]) -> Bound | None:
        return self.edge(facts.table, partition) if facts.is_cut and not facts.is_pass else None


def late_beginnings(
    catalog: Catalog,
    pipeline: PipelineId,
    table: str,
    *,
    field: str,
    partitions: Sequence[Mapping[str, str]],
    start_from: datetime | None,
) -> dict[str, Bound]:
    """By stream, where a history by this column begins that was planned to begin later than `start_from`.

    None is the beginning of all. What lies before was left out when the manifest had a later `start_from`.
    """
    wanted = {stream_name(table, partition) for partition in partitions}
    first: dict[str, Bound | None] = {}
    for stream, since in _beginnings(catalog, pipeline, table, field):
        first.setdefault(stream, since)
        if first.keys() >= wanted:
            break
    late = {
        stream
        for stream, since in first.items()
        if stream in wanted and _earliest_if_late([since], start_from)
    }
    if not late:
        return {}
    every: dict[str, list[Bound | None]] = {}
    for stream, since in _beginnings(catalog, pipeline, table, field):
        every.setdefault(stream, []).append(since)
    begins = {stream: _earliest_if_late(every[stream], start_from) for stream in late}
    return {stream: bound for stream, bound in begins.items() if bound is not None}


def _earliest_if_late(beginnings: Sequence[Bound | None], start_from: datetime | None) -> Bound | None:
    """The earliest of them, if that is a time and later than it should be."""
    axis = None if None in beginnings else axis_of(beginnings)
    if axis is None or not axis.is_time:
        return None
    earliest = min(axis.place(since) for since in beginnings if since is not None)
    if start_from is not None and axis.place_of_moment(start_from) >= earliest:
        return None
    return axis.bound(earliest)


def _beginnings(
    catalog: Catalog, pipeline: PipelineId, table: str, field: str
) -> Iterator[tuple[str, Bound | None]]:
    """Where the windows of every stream's history begin, in the order in which they were planned."""
    after, limit = None, _FEW
    while page := catalog.chunks.page(pipeline, after=after, limit=limit):
        for chunk in page:
            piece = _piece(chunk.predicate) if chunk.table == table else None
            if piece is None or piece.kind is not PieceKind.WINDOW or piece.window is None:
                continue
            if piece.window.field == field:
                yield stream_name(table, piece.partition), piece.window.since
        after, limit = page[-1].chunk, _PAGE


def reached_by(catalog: Catalog | None, pipeline: PipelineId) -> Reached:
    """How far the pipeline is."""
    state = None if catalog is None else catalog.pipelines.get(pipeline)
    if catalog is None or state is None:
        return Reached(catalog=catalog, pipeline=pipeline)
    tally = catalog.chunks.tally(pipeline)
    undone: dict[str, list[Piece]] = {}
    if tally.pending or tally.running or tally.failed:
        for table, piece in _undone(catalog, pipeline):
            undone.setdefault(table, []).append(piece)
    return Reached(
        catalog=catalog,
        pipeline=pipeline,
        phase=state.phase,
        tally=tally,
        cursors={cursor.table: json.loads(cursor.value) or None for cursor in catalog.cursors.all(pipeline)},
        undone={table: tuple(pieces) for table, pieces in undone.items()},
    )


def _undone(catalog: Catalog, pipeline: PipelineId) -> Iterator[tuple[TableName, Piece]]:
    for status in _UNDONE:
        after = None
        while page := catalog.chunks.page(pipeline, status=status, after=after, limit=_PAGE):
            for chunk in page:
                piece = _piece(chunk.predicate)
                if piece is not None and piece.kind is not PieceKind.SWEEP:
                    yield chunk.table, piece
            after = page[-1].chunk


def _piece(predicate: str) -> Piece | None:
    """What the chunk reads; None if a later version has written it."""
    try:
        return Piece.parse(predicate)
    except BadPiece:
        return None
