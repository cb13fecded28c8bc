"""The plan of a table: its history in pieces that hold every row exactly once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Duration
from hakiri.pipelines.chunks.bounds import DAY_US, EPOCH, MOMENTS, Axis, Grain, Lag, axis_of
from hakiri.pipelines.chunks.cutting import Stride, mean_us, parts_for_rows, stride_for_rows
from hakiri.pipelines.chunks.knobs import Knobs
from hakiri.pipelines.chunks.pieces import Piece, PieceKind
from hakiri.sources.contract import Bound, Cursor, Extent, Window

# The most chunks that a table is cut into; a window that makes more is taken several times over.
MOST_CHUNKS = 100_000
CUTTING_KINDS = frozenset({CursorKind.MONOTONIC, CursorKind.PARTITIONED_MONOTONIC})
UNKNOWN_EXTENT = Extent()
ONE_DAY = Duration.parse("1d")
# The first piece begins at one end of the line, and the last one reaches to the other.
_OUTER_PIECES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """What is known of a table before any row is read.

    - `field`: the column whose values cut it, if there is one.
    - `is_pass`: there is no cursor to go on from, so that the whole table is read again each time.
    - `lag`: how late rows may arrive; what is younger is left to the open end.
    """

    table: str
    kind: CursorKind
    field: str | None = None
    extent: Extent = UNKNOWN_EXTENT
    partitions: Sequence[Mapping[str, str]] = ({},)
    is_pass: bool = False
    estimated_rows: int | None = None
    lag: Lag | None = None

    @property
    def rows(self) -> int | None:
        return self.extent.rows if self.extent.rows is not None else self.estimated_rows

    @property
    def is_cut(self) -> bool:
        """Whether it may be read in windows."""
        return self.kind in CUTTING_KINDS and self.field is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """Where a table is cut, on the axis of its column.

    - `start`: the value it begins with; None is from the beginning of the line.
    - `edges`: growing; a piece ends and the next one begins at each.
    - `length`: of one piece, and `stretch`: how many of these were taken together so as not to be too many.
    """

    axis: Axis | None = None
    start: Bound | None = None
    edges: tuple[Bound, ...] = ()
    length: Duration | int | None = None
    stretch: int = 1


def plan_table(facts: TableFacts, knobs: Knobs, now: datetime, *, pass_number: int = 1) -> tuple[Piece, ...]:
    """The pieces of the history, by partition and then by value, the open end of each last.

    Together the windows of a partition hold every value from `start_from` on and the rows without one, each
    once. What cannot be cut is read from its start: in a pass if it has no cursor, else by segments, of which
    the first is planned and each tells the next.
    """
    windows = _windows(facts.field, cuts_of(facts, knobs, now)) if facts.field and facts.is_cut else (None,)
    kind = PieceKind.FULL if facts.is_pass else PieceKind.WINDOW if facts.is_cut else PieceKind.SEGMENT
    pieces = tuple(
        Piece(kind=kind, window=window, partition=dict(partition))
        for partition in facts.partitions
        for window in windows
    )
    if not facts.is_pass:
        return pieces
    return tuple(replace(piece, pass_number=pass_number, pass_size=len(pieces)) for piece in pieces)


def plan_earlier(facts: TableFacts, knobs: Knobs, now: datetime, *, begins: Bound) -> tuple[Piece, ...]:
    """The pieces of what lies before a history that was planned to begin later than the manifest says now.

    Rows without a value were in that history, and none of these pieces is open.
    """
    if facts.field is None:
        return ()
    cuts = cuts_of(facts, knobs, now)
    axis = cuts.axis
    edges = [] if axis is None else [edge for edge in cuts.edges if axis.place(edge) < axis.place(begins)]
    windows = [
        Window(field=facts.field, since=since, until=until)
        for since, until in pairwise([cuts.start, *edges, begins])
    ]
    return tuple(
        Piece(kind=PieceKind.WINDOW, window=window, partition=dict(partition))
        for partition in facts.partitions
        for window in windows
    )


def cuts_of(facts: TableFacts, knobs: Knobs, now: datetime) -> Cuts:
    """Where the table is cut: by the window in force, else so that each piece has about a million rows.

    The last edge lies just above the highest value that is known. Where that is not known, or lies in the
    future, it is the last round value before `now`. A lag moves it down: what is younger may get company yet,
    and the open end is read last. With nothing known, and no `start_from`, there is one piece.
    """
    extent, start_from = facts.extent, knobs.start_from.value
    if not facts.is_cut:
        return Cuts()
    is_unknown = extent.lowest is None and extent.highest is None
    axis = MOMENTS if is_unknown and start_from is not None else axis_of([extent.lowest, extent.highest])
    if axis is None:
        return Cuts()
    start = axis.place_of_moment(start_from) if axis.is_time and start_from is not None else None
    cuts = Cuts(axis=axis, start=None if start is None else axis.bound(start))
    lows = [place for place in (_place(axis, extent.lowest), start) if place is not None]
    highest, present = _place(axis, extent.highest), axis.last_place_at(now) if axis.is_time else None
    # Values above the present, or in it, may be overtaken by others that are written later.
    is_settled = highest is not None and (present is None or highest < present)
    top = highest if is_settled else present
    if not lows or top is None:
        return cuts
    low = max(lows)
    end = top + 1 if facts.lag is None else axis.before(top + 1, facts.lag)
    length = _length(facts, knobs, axis, low, end) if low < end else None
    if length is None:
        return cuts
    stride = Stride(axis=axis, length=length, anchor=start_from or EPOCH)
    steps = stride.steps(low, min(end, top) if is_settled else end)
    stretch = _stretch(len(steps), len(facts.partitions))
    # Every so many steps from the same anchor: cuts of a stretched window are cuts of the window.
    taken = steps[-steps.start % stretch :: stretch] if stretch else ()
    places = [stride.place(step) for step in taken]
    if places and is_settled:
        places.append(end)
    edges = tuple(axis.bound(place) for place in dict.fromkeys(places))
    return replace(cuts, edges=edges, length=length, stretch=stretch)


def estimate(
    facts: TableFacts, *, cursor: Cursor | None = None, start_from: datetime | None = None
) -> int | None:
    """About how many rows a read after the cursor brings, as if values were spread evenly; None is unknown.

    A table without a cursor is read as a whole each time.
    """
    rows, extent = facts.rows, facts.extent
    if rows is None or facts.is_pass or (cursor is None and start_from is None):
        return rows
    since = None if cursor is None else cursor.get(facts.field or "")
    axis = axis_of([since, extent.lowest, extent.highest])
    if axis is None or extent.lowest is None or extent.highest is None or (cursor and since is None):
        return rows if cursor is None else None
    low = first = axis.place(extent.lowest)
    high = axis.place(extent.highest)
    if since is not None:
        first = axis.place(since) + 1
    elif start_from is not None and axis.is_time:
        first = axis.place_of_moment(start_from)
    whole = high - low + 1
    return -(-rows * min(max(high - first + 1, 0), whole) // whole)


def _windows(field: str, cuts: Cuts) -> tuple[Window, ...]:
    """From the start to the end of the line. Rows without a value are in the first."""
    ends = [cuts.start, *cuts.edges, None]
    return tuple(
        Window(field=field, since=since, until=until, has_nulls=number == 0)
        for number, (since, until) in enumerate(pairwise(ends))
    )


def _length(facts: TableFacts, knobs: Knobs, axis: Axis, low: int, high: int) -> Duration | int | None:
    """How long a piece is; None for one that is as long as everything."""
    window = knobs.window.value
    if axis.is_time and window is not None:
        return ONE_DAY if axis.grain is Grain.DAY and mean_us(window) < DAY_US else window
    parts = parts_for_rows(axis, low, high, rows=facts.rows, partitions=len(facts.partitions))
    return None if parts == 1 else stride_for_rows(axis, low, high, parts=parts)


def _stretch(steps: int, partitions: int) -> int:
    """How many steps are in one piece, so that all partitions together do not have too many; 0 is all."""
    most = MOST_CHUNKS // max(partitions, 1) - _OUTER_PIECES
    if most < 1:
        return 1 if steps == 0 else 0
    return max(1, -(-steps // most))


def _place(axis: Axis, bound: Bound | None) -> int | None:
    return None if bound is None else axis.place(bound)
