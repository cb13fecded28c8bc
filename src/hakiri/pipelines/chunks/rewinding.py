"""Reading a range of values again: which chunks are replaced, and by what.

What was read by a closed window is read by the same window again. What was read by the open window and the
tails after it depends on the table. With a primary key the newest row wins, so the range alone is read again,
beside what is there. Without one, rows of the range would be there twice, so everything from where the first
of them began is read again in one piece, in their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, pairwise

from hakiri.core.grammar import Duration
from hakiri.core.ids import ChunkId
from hakiri.pipelines.chunks.bounds import MOMENTS, Axis, axis_of
from hakiri.pipelines.chunks.cutting import Stride
from hakiri.pipelines.chunks.errors import CannotRewind
from hakiri.pipelines.chunks.pieces import Piece, PieceKind, stream_name
from hakiri.pipelines.chunks.ranges import END_OF_LINE, START_OF_LINE, Stretch, ValueRange, minus
from hakiri.pipelines.chunks.streaming import next_pass
from hakiri.sources.contract import Bound, Cursor, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneChunk:
    """A chunk that is done and not superseded, with the cursor that it committed."""

    chunk: ChunkId
    piece: Piece
    cursor: Cursor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """A piece that reads again what chunks have read that stay as they are."""

    piece: Piece
    over: tuple[ChunkId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewound:
    """What is to be planned.

    - `supersede`: the new pieces that come in place of old chunks.
    - `beside`: closed windows over what an open window or tails read. Those chunks stay as they are: they
      hold other rows too, and a later rewind of another range has to find them.
    """

    supersede: Mapping[tuple[ChunkId, ...], tuple[Piece, ...]]
    beside: tuple[Overlay, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.supersede and not self.beside


def rewind(
    chunks: Sequence[DoneChunk],
    span: ValueRange,
    *,
    table: str,
    field: str | None,
    has_key: bool,
    now: datetime,
    length: Duration | int | None = None,
) -> Rewound:
    """What to plan so that the range of one table is read again. Chunks that are not done are read anyway.

    `field` is the column that the stream follows, `length` the window in force, by which new windows are cut.
    Passes are read again as a whole. Raises CannotRewind for chunks that no values bound, and RangeMisfit for
    a range of another kind.
    """
    read = [
        done for done in sorted(chunks, key=lambda done: done.chunk) if done.piece.kind is not PieceKind.SWEEP
    ]
    passed = [done for done in read if done.piece.kind is PieceKind.FULL]
    if passed:
        return _passed_again(passed, table)
    if field is None or any(_is_unbounded(done.piece, field) for done in read):
        raise CannotRewind(table)
    line = _Line(axis=_axis_of(read, field, span), field=field, now=now)
    wanted = span.on(line.axis)
    supersede: dict[tuple[ChunkId, ...], tuple[Piece, ...]] = {}
    beside: list[Overlay] = []
    for stream in _streams(read):
        windows = [done for done in stream if not done.piece.is_open and line.stretch(done).meets(wanted)]
        supersede |= {(done.chunk,): (done.piece,) for done in windows}
        growing = [done for done in stream if done.piece.is_open]
        first = next((n for n, done in enumerate(growing) if line.stretch(done).meets(wanted)), None)
        if first is None:
            continue
        if has_key:
            grown = {done.chunk: line.stretch(done) for done in growing}
            gone_over = [stretch.within(wanted) for stretch in grown.values()]
            stretches = minus(gone_over, [line.stretch(done) for done in windows])
            for stretch, piece in line.windows(stretches, length, growing[first].piece.partition):
                over = tuple(chunk for chunk, read in grown.items() if read.meets(stretch))
                beside.append(Overlay(piece=piece, over=over))
        else:
            supersede[tuple(done.chunk for done in growing[first:])] = (growing[first].piece,)
    return Rewound(supersede=supersede, beside=tuple(beside))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """The values of the table's column, and the present, after which nothing was read."""

    axis: Axis
    field: str
    now: datetime

    def stretch(self, done: DoneChunk) -> Stretch:
        """The values that a chunk has read; empty if it met no row with one."""
        piece, window = done.piece, done.piece.window
        since = window.since if window is not None else (piece.after or {}).get(self.field)
        low = START_OF_LINE if since is None else self._place(since, START_OF_LINE)
        if window is not None and window.until is not None:
            return Stretch(low, self.axis.place(window.until))
        last = (done.cursor or {}).get(self.field)
        return Stretch(low, low if last is None else self._place(last, self._present()) + 1)

    def windows(
        self, stretches: Iterable[Stretch], length: Duration | int | None, partition: Mapping[str, str]
    ) -> Iterator[tuple[Stretch, Piece]]:
        """The stretches as closed windows that are not longer than asked."""
        for stretch in stretches:
            cuts = self._cuts(stretch, length)
            for low, high in pairwise([stretch.low, *cuts, stretch.high]):
                window = Window(field=self.field, since=self._bound(low), until=self._bound(high))
                piece = Piece(kind=PieceKind.WINDOW, window=window, partition=dict(partition))
                yield Stretch(low, high), piece

    def _cuts(self, stretch: Stretch, length: Duration | int | None) -> list[int]:
        if length is None or isinstance(length, int) == self.axis.is_time or stretch.low == START_OF_LINE:
            return []
        stride = Stride(axis=self.axis, length=length)
        return list(dict.fromkeys(stride.place(step) for step in stride.steps(stretch.low, stretch.high)))

    def _place(self, value: Bound, otherwise: int) -> int:
        """Where a value lies. A source may write its cursors in another way than the ends of windows."""
        own = axis_of([value])
        return self.axis.place(value) if own is not None and own.is_time == self.axis.is_time else otherwise

    def _present(self) -> int:
        return self.axis.last_place_at(self.now) if self.axis.is_time else END_OF_LINE - 1

    def _bound(self, place: int) -> Bound | None:
        return None if place in (START_OF_LINE, END_OF_LINE) else self.axis.bound(place)


def _passed_again(passed: Sequence[DoneChunk], table: str) -> Rewound:
    """The whole of the latest pass, as the next one."""
    latest = max(done.piece.pass_number or 0 for done in passed)
    old = [done for done in passed if (done.piece.pass_number or 0) == latest]
    again = next_pass([done.piece for done in old], table=table, cursors={})
    return Rewound(supersede={tuple(done.chunk for done in old): again})


def _is_unbounded(piece: Piece, field: str) -> bool:
    """Whether nothing tells which values the piece has read."""
    if piece.kind is PieceKind.SEGMENT:
        return True
    return piece.window is None and field not in (piece.after or {})


def _streams(read: Sequence[DoneChunk]) -> Iterator[list[DoneChunk]]:
    """The chunks by partition, in the order in which they were planned."""

    def name(done: DoneChunk) -> str:
        return stream_name("", done.piece.partition)

    for _, stream in groupby(sorted(read, key=name), key=name):
        yield list(stream)


def _axis_of(read: Sequence[DoneChunk], field: str, span: ValueRange) -> Axis:
    """The line of the values: by the ends of the windows, else by the cursors, else by what is asked for."""
    windows = [done.piece.window for done in read if done.piece.window is not None]
    ends = [end for window in windows for end in (window.since, window.until) if end is not None]
    values = [(done.cursor or {}).get(field) for done in read]
    return axis_of(ends) or axis_of(values) or axis_of([span.since, span.until]) or MOMENTS
