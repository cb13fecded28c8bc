"""What a run of a table would bring: how many chunks, and about how many rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from math import ceil

from hakiri.pipelines.chunks.bounds import axis_of
from hakiri.pipelines.chunks.knobs import Knobs
from hakiri.pipelines.chunks.pieces import Piece, PieceKind
from hakiri.pipelines.chunks.planning import TableFacts, plan_earlier, plan_table
from hakiri.sources.contract import Bound, Cursor, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamState:
    """How far one stream of a table was read. The whole of a table that is read in passes is one.

    - `is_planned`: its history was cut into chunks already, of which `left` are not done.
    - `cursor`: the place after which it goes on, and `edge`: the value from which it does while it has none.
    - `begins`: where its history begins, if the manifest lets it begin earlier by now.
    """

    partitions: Sequence[Mapping[str, str]] = ({},)
    is_planned: bool = False
    left: tuple[Piece, ...] = ()
    cursor: Cursor | None = None
    edge: Bound | None = None
    begins: Bound | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToCome:
    """What is to be read of a table; `rows` is an estimate, None if nobody can tell.

    `is_reread`: rows that are stored already are read once more, as only that shows what has changed.
    """

    rows: int | None
    chunks: int
    is_reread: bool = False


def to_come(
    facts: TableFacts,
    knobs: Knobs,
    streams: Iterable[StreamState],
    *,
    pulls_news: bool,
    now: datetime,
    rows_done: int | None = None,
) -> ToCome:
    """What a run would read: the rest of the history, and with `pulls_news` also what came since.

    The rows are those that the source has and nobody has read, also where this run would not read them.
    `rows_done` is how many were read of the table so far, where that is known.
    """
    parts = [_stream_to_come(facts, knobs, stream, pulls_news=pulls_news, now=now) for stream in streams]
    rows = [_rows_of(facts, piece, rows_done) for part in parts for piece in part.unread]
    known = [each for each in rows if each is not None]
    is_known = len(known) == len(rows) and not any(part.may_hide_rows for part in parts)
    return ToCome(
        rows=ceil(sum(known)) if is_known else None,
        chunks=sum(part.chunks for part in parts),
        is_reread=any(part.is_reread for part in parts),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One stream: the pieces that nobody has read, and how many chunks of them this run would work on."""

    unread: tuple[Piece, ...]
    chunks: int
    is_reread: bool = False
    may_hide_rows: bool = False


def _stream_to_come(
    facts: TableFacts, knobs: Knobs, stream: StreamState, *, pulls_news: bool, now: datetime
) -> _Part:
    own = replace(facts, partitions=stream.partitions)
    whole = plan_table(own, knobs, now)
    earlier = () if stream.begins is None else plan_earlier(own, knobs, now, begins=stream.begins)
    left = (*stream.left, *earlier)
    if not stream.is_planned:
        return _Part(unread=whole, chunks=len(whole))
    if not facts.is_pass:
        behind = () if any(piece.is_open for piece in left) else (_tail(facts, stream),)
        return _Part(unread=(*left, *behind), chunks=len(left) + (len(behind) if pulls_news else 0))
    if left:
        return _Part(unread=left, chunks=len(left) + (len(whole) if pulls_news else 0))
    if pulls_news:
        return _Part(unread=whole, chunks=len(whole), is_reread=True)
    return _Part(unread=(), chunks=0, may_hide_rows=True)


def _tail(facts: TableFacts, stream: StreamState) -> Piece:
    """What the stream reads next, as far as it tells how many rows are new: those in a lag are not."""
    (partition,) = stream.partitions
    tail = Piece(kind=PieceKind.TAIL, partition=dict(partition), after=stream.cursor)
    if stream.cursor is not None or stream.edge is None or facts.field is None:
        return tail
    return replace(tail, window=Window(field=facts.field, since=stream.edge))


def _rows_of(facts: TableFacts, piece: Piece, rows_done: int | None) -> Fraction | None:
    """About how many rows a piece has, as if values and partitions were spread evenly."""
    if piece.kind is PieceKind.SWEEP:
        return Fraction(0)
    if facts.rows is None:
        return None
    whole = Fraction(facts.rows, max(len(facts.partitions), 1) if piece.partition else 1)
    if piece.after is not None and (facts.field is None or facts.field not in piece.after):
        # Only the source understands its place; what was read so far is all that is known.
        return None if rows_done is None else max(whole - rows_done, Fraction(0))
    after = None if piece.after is None or facts.field is None else piece.after[facts.field]
    since, until = (None, None) if piece.window is None else (piece.window.since, piece.window.until)
    share = _share(facts, since=since, after=after, until=until)
    return None if share is None else whole * share


def _share(
    facts: TableFacts, *, since: Bound | None, after: Bound | None, until: Bound | None
) -> Fraction | None:
    """Which part of the column's extent lies between two values; None if they cannot be compared."""
    if since is None and after is None and until is None:
        return Fraction(1)
    lowest, highest = facts.extent.lowest, facts.extent.highest
    axis = axis_of([since, after, until, lowest, highest])
    if axis is None or lowest is None or highest is None:
        return None
    low, end = axis.place(lowest), axis.place(highest) + 1
    first, last = low, end
    if since is not None:
        first = max(first, axis.place(since))
    if after is not None:
        first = max(first, axis.place(after) + 1)
    if until is not None:
        last = min(last, axis.place(until))
    return Fraction(max(last - first, 0), end - low)
