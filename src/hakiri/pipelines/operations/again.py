"""What has to be planned so that rows are pulled again: of a range of values, or of a whole stream."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from hakiri.catalog.contract.chunks import Chunk, ChunkStatus
from hakiri.core.grammar import Duration
from hakiri.core.ids import ChunkId, TableName
from hakiri.pipelines.chunks.bounds import axis_of
from hakiri.pipelines.chunks.pieces import Piece, PieceKind
from hakiri.pipelines.chunks.ranges import ValueRange
from hakiri.pipelines.chunks.rewinding import DoneChunk, Overlay, Rewound, rewind
from hakiri.pipelines.operations.streams import field_of, stream_of_chunk
from hakiri.sources.contract import Bound

_UNFINISHED = (ChunkStatus.PENDING, ChunkStatus.RUNNING, ChunkStatus.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What to do with the chunks of one table.

    - `copied`: done chunks that are read once more as they are.
    - `replaced`: done chunks in whose place others are read.
    - `beside`: what is read without any chunk giving way to it.
    - `reopened`: chunks that were skipped, and are read after all.
    - `set_aside`: chunks that nobody has begun, and that one of the others covers.
    """

    table: TableName
    copied: tuple[ChunkId, ...] = ()
    replaced: Mapping[tuple[ChunkId, ...], tuple[Piece, ...]] = field(default_factory=dict)
    beside: tuple[Overlay, ...] = ()
    reopened: tuple[ChunkId, ...] = ()
    set_aside: tuple[ChunkId, ...] = ()

    @property
    def is_nothing(self) -> bool:
        return not (self.copied or self.replaced or self.beside or self.reopened)


def range_again(
    chunks: Sequence[Chunk],
    span: ValueRange,
    *,
    table: TableName,
    has_key: bool,
    now: datetime,
    length: Duration | None,
) -> Again:
    """Pull a range of one table again, of which these are all chunks; what was skipped there is pulled too.

    Raises CannotRewind and RangeMisfit.
    """
    own = [chunk for chunk in chunks if chunk.table == table]
    column = field_of(own)

    def rewound(among: Sequence[Chunk], wanted: ValueRange) -> Rewound:
        return rewind(
            [_as_done(chunk) for chunk in among],
            wanted,
            table=table,
            field=column,
            has_key=has_key,
            now=now,
            length=length,
        )

    done = [chunk for chunk in own if chunk.status is ChunkStatus.DONE]
    if are_passes(own):
        return _pass_again(own, table)
    skipped = [chunk for chunk in own if chunk.status is ChunkStatus.SKIPPED and _is_closed(chunk)]
    asked = {chunk for old in rewound(skipped, span).supersede for chunk in old} if skipped else set()
    missing = [
        chunk.chunk
        for chunk in skipped
        if chunk.chunk in asked and (not done or rewound(done, _span_of(chunk)).is_empty)
    ]
    plan = _sorted_out(rewound(done, span), done, table) if done else Again(table=table)
    old = {*plan.copied, *(chunk for chunks in plan.replaced for chunk in chunks)}
    moved = {stream_of_chunk(chunk) for chunk in done if chunk.chunk in old and not _is_closed(chunk)}
    covered = [chunk.chunk for chunk in _waiting_open(own) if stream_of_chunk(chunk) in moved]
    return replace(plan, reopened=tuple(missing), set_aside=tuple(covered))


def first_value(chunks: Sequence[Chunk], span: ValueRange, *, table: TableName) -> Bound | None:
    """Where the history of a table begins, if the range begins before it; else None.

    What lies before was never pulled, as when the manifest says from where on with `start_from`.
    """
    pieces = [
        Piece.parse(chunk.predicate)
        for chunk in chunks
        if chunk.table == table and chunk.status is not ChunkStatus.SUPERSEDED
    ]
    begins = [piece.window.since for piece in pieces if piece.kind is PieceKind.WINDOW and piece.window]
    axis = None if None in begins else axis_of(begins)
    if axis is None or span.since is None:
        return None
    first = min(axis.place(since) for since in begins if since is not None)
    return axis.bound(first) if axis.place(span.since) < first else None


def stream_again(chunks: Sequence[Chunk], *, table: TableName) -> Again:
    """Pull a whole stream again, of which these are all chunks. Afterwards every row of it is there once."""
    if are_passes(chunks):
        return _pass_again(chunks, table)
    done = [chunk for chunk in chunks if chunk.status is ChunkStatus.DONE]
    waiting = tuple(chunk.chunk for chunk in _waiting_open(chunks))
    if field_of(chunks) is None:
        partition = Piece.parse(chunks[0].predicate).partition if chunks else {}
        first = Piece(kind=PieceKind.SEGMENT, partition=partition, pass_number=1)
        if not done:
            return Again(table=table)
        whole = Overlay(piece=first, over=tuple(chunk.chunk for chunk in done))
        return Again(table=table, beside=(whole,), set_aside=waiting)
    growing = tuple(chunk.chunk for chunk in done if Piece.parse(chunk.predicate).is_open)
    edge = _open_window(chunks)
    skipped = [chunk for chunk in chunks if chunk.status is ChunkStatus.SKIPPED]
    return Again(
        table=table,
        copied=tuple(chunk.chunk for chunk in done if _is_closed(chunk)),
        replaced={growing: (Piece.parse(edge.predicate),)} if growing and edge is not None else {},
        reopened=tuple(
            chunk.chunk for chunk in skipped if _is_closed(chunk) or (chunk == edge and not growing)
        ),
        set_aside=tuple(each for each in waiting if growing or edge is None or each != edge.chunk),
    )


def chunks_again(chunks: Sequence[Chunk], lost: Collection[ChunkId], *, table: TableName) -> Again:
    """Pull again what these chunks of one table brought, whose rows are not in it any more. Pure.

    Closed windows are read as they were. What moved a stream on is read in one piece from where the first of
    them began, in the place of all that came after it, so that no row is there twice. Passes, and streams
    that only the source's own tokens lead through, are read as a whole.
    """
    own = [chunk for chunk in chunks if chunk.table == table]
    done = [chunk for chunk in own if chunk.status is ChunkStatus.DONE and chunk.chunk in lost]
    if are_passes(own):
        return _pass_again(own, table) if done else Again(table=table)
    copied = tuple(chunk.chunk for chunk in done if _is_closed(chunk))
    replaced: dict[tuple[ChunkId, ...], tuple[Piece, ...]] = {}
    whole = Again(table=table)
    for stream in sorted({stream_of_chunk(chunk) for chunk in done if _is_growing(chunk)}):
        of_stream = [chunk for chunk in own if stream_of_chunk(chunk) == stream]
        if field_of(of_stream) is None:
            again = stream_again(of_stream, table=table)
            whole = replace(
                whole,
                beside=(*whole.beside, *again.beside),
                set_aside=(*whole.set_aside, *again.set_aside),
            )
            continue
        first = min((chunk for chunk in done if chunk in of_stream and _is_growing(chunk)), key=_number)
        growing = [
            chunk
            for chunk in sorted(of_stream, key=_number)
            if chunk.chunk >= first.chunk and chunk.status is ChunkStatus.DONE and _is_growing(chunk)
        ]
        replaced[tuple(chunk.chunk for chunk in growing)] = (Piece.parse(first.predicate),)
        whole = replace(whole, set_aside=(*whole.set_aside, *waiting_open(of_stream)))
    return replace(whole, copied=copied, replaced=replaced)


def waiting_open(chunks: Sequence[Chunk]) -> tuple[ChunkId, ...]:
    """Chunks that nobody has begun, and that would move their stream on.

    To give them up loses nothing: the next run goes on from the stream's cursor, as they would have.
    """
    return tuple(chunk.chunk for chunk in _waiting_open(chunks))


def _waiting_open(chunks: Sequence[Chunk]) -> list[Chunk]:
    waiting = [chunk for chunk in chunks if chunk.status in (ChunkStatus.PENDING, ChunkStatus.FAILED)]
    return [chunk for chunk in waiting if Piece.parse(chunk.predicate).is_open]


def _is_closed(chunk: Chunk) -> bool:
    piece = Piece.parse(chunk.predicate)
    return piece.kind is PieceKind.WINDOW and not piece.is_open


def _is_growing(chunk: Chunk) -> bool:
    return Piece.parse(chunk.predicate).is_open


def _number(chunk: Chunk) -> ChunkId:
    return chunk.chunk


def _open_window(chunks: Sequence[Chunk]) -> Chunk | None:
    """The chunk with which the history of a stream ends; else the first that moved it on."""
    kept = [chunk for chunk in chunks if chunk.status is not ChunkStatus.SUPERSEDED]
    growing = [chunk for chunk in kept if Piece.parse(chunk.predicate).is_open]
    windows = [chunk for chunk in growing if Piece.parse(chunk.predicate).kind is PieceKind.WINDOW]
    return next(iter([*windows, *growing]), None)


def are_passes(chunks: Sequence[Chunk]) -> bool:
    """Whether the table is read as a whole each time, because nothing tells which of its rows are new."""
    return any(Piece.parse(chunk.predicate).kind is PieceKind.FULL for chunk in chunks)


def _pass_again(chunks: Sequence[Chunk], table: TableName) -> Again:
    """The whole of the latest pass, what was skipped of it too; nothing while that pass is under way."""
    passes = [
        (chunk, piece)
        for chunk in chunks
        if (piece := Piece.parse(chunk.predicate)).kind is PieceKind.FULL
        and chunk.status is not ChunkStatus.SUPERSEDED
    ]
    latest = max((piece.pass_number or 0 for _, piece in passes), default=0)
    last = [(chunk, piece) for chunk, piece in passes if (piece.pass_number or 0) == latest]
    old = tuple(chunk.chunk for chunk, _ in last if chunk.status is ChunkStatus.DONE)
    if not old or any(chunk.status in _UNFINISHED for chunk, _ in last):
        return Again(table=table)
    pieces = tuple(
        replace(piece, pass_number=latest + 1, pass_size=len(last), after=None) for _, piece in last
    )
    return Again(table=table, replaced={old: pieces})


def _sorted_out(rewound: Rewound, done: Sequence[Chunk], table: TableName) -> Again:
    predicates = {chunk.chunk: chunk.predicate for chunk in done}
    copied, replaced = [], {}
    for old, pieces in rewound.supersede.items():
        if len(old) == 1 and [piece.text() for piece in pieces] == [predicates[old[0]]]:
            copied.append(old[0])
        else:
            replaced[old] = pieces
    return Again(table=table, copied=tuple(copied), replaced=replaced, beside=rewound.beside)


def _as_done(chunk: Chunk) -> DoneChunk:
    cursor = None if chunk.cursor_committed is None else json.loads(chunk.cursor_committed)
    return DoneChunk(chunk=chunk.chunk, piece=Piece.parse(chunk.predicate), cursor=cursor)


def _span_of(chunk: Chunk) -> ValueRange:
    window = Piece.parse(chunk.predicate).window
    return ValueRange() if window is None else ValueRange(since=window.since, until=window.until)
