"""What a stream reads next. A stream is a table, or one partition of it, with a cursor of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from hakiri.core.cursors import CursorKind
from hakiri.pipelines.chunks.bounds import Lag, lowered
from hakiri.pipelines.chunks.errors import NoProgress
from hakiri.pipelines.chunks.pieces import Piece, PieceKind, stream_name
from hakiri.sources.contract import Bound, Cursor, Window


def next_tail(
    cursor: Cursor | None,
    edge: Bound | None,
    lag: Lag | None,
    field: str | None,
    *,
    partition: Mapping[str, str] | None = None,
) -> Piece:
    """What came after the stream's cursor, and once more what came up to a lag before it.

    While there is no cursor, because the open window [edge, …) was empty, it is that window again; rows
    without a value were in the first window and are not read again. Without a field, the cursor is one that
    only the source understands. Raises LagMisfit.
    """
    tail = Piece(kind=PieceKind.TAIL, partition=dict(partition or {}))
    if field is None:
        return replace(tail, after=cursor)
    if cursor is not None and cursor.get(field) is not None:
        # What else the cursor knows of the rows at its value would keep them from being read again.
        after = cursor if lag is None else {field: lowered(cursor[field], lag)}
        return replace(tail, after=after)
    since = None if edge is None else lowered(edge, lag)
    return replace(tail, window=Window(field=field, since=since))


def open_edge(pieces: Iterable[Piece], partition: Mapping[str, str]) -> Bound | None:
    """Where the open window of a partition begins, among all pieces of a table; None at the line's start."""
    own = (piece for piece in pieces if piece.kind is PieceKind.WINDOW and piece.partition == partition)
    return next((piece.window.since for piece in own if piece.window and piece.window.until is None), None)


def follow_up(piece: Piece, rows: int, cursor: Cursor | None, limit: int | None) -> Piece | None:
    """The piece that goes on where this one was broken off at its limit; None if it came to its end.

    Raises NoProgress when the source told no new cursor.
    """
    if not piece.is_read_in_order or limit is None or rows < limit:
        return None
    if cursor is None or cursor == piece.after:
        raise NoProgress(rows)
    return replace(piece, after=cursor)


def pass_counter(pipeline: str, table: str) -> str:
    """The name of the catalog's counter that numbers the passes over a table."""
    return f"pass:{pipeline}:{table}"


def next_pass(previous: Sequence[Piece], *, table: str, cursors: Mapping[str, Cursor]) -> tuple[Piece, ...]:
    """The same pass over the whole table once more.

    Where a stream is one piece it is asked for what changed since its cursor, so that a source which knows
    that nothing did can say so.
    """
    streams = [stream_name(table, piece.partition) for piece in previous]
    parts = Counter(streams)
    number = 1 + max((piece.pass_number or 0 for piece in previous), default=0)
    return tuple(
        replace(
            piece,
            pass_number=number,
            pass_size=len(previous),
            after=cursors.get(stream) if parts[stream] == 1 else None,
        )
        for piece, stream in zip(previous, streams, strict=True)
    )


def sweep_after(piece: Piece, since_seq: int) -> Piece:
    """Delete the rows of the piece that no claim from this number on has brought again."""
    return Piece(
        kind=PieceKind.SWEEP, window=piece.window, partition=dict(piece.partition), since_seq=since_seq
    )


def lane_of(piece: Piece, kind: CursorKind, table: str) -> str | None:
    """Pieces of one lane are read one after the other; None is in no lane.

    What moves a stream on is in the lane of that stream, and what the source's own tokens lead through is one
    lane, whatever its partitions. Windows that are closed may be read at once, with anything else.
    """
    if kind is CursorKind.OPAQUE_TOKEN:
        return stream_name(table, {})
    return stream_name(table, piece.partition) if piece.is_open else None


def is_caught_up(read_at: datetime | None, now: datetime, sla: timedelta) -> bool:
    """Whether the end of the stream was read so lately that it counts as being at the source's now."""
    return read_at is not None and now - read_at <= sla
