"""What is left of a history of which some pieces have been read, by a plan that nobody remembers.

A catalog that was made anew knows what landed, and nothing of what was still to come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from hakiri.pipelines.chunks.bounds import Axis, axis_of
from hakiri.pipelines.chunks.pieces import Piece, PieceKind
from hakiri.pipelines.chunks.ranges import END_OF_LINE, START_OF_LINE, Stretch, minus
from hakiri.sources.contract import Bound, Window


def what_is_left(planned: Sequence[Piece], read: Sequence[Piece]) -> tuple[Piece, ...]:
    """Those of the planned pieces of one stream, or the parts of them, that no piece has read.

    A pass is read again unless one is complete. What only the source's own tokens lead through goes on behind
    the last one that was read.
    """
    kinds = {piece.kind for piece in planned}
    if kinds == {PieceKind.FULL}:
        return () if has_whole_pass(read) else tuple(planned)
    if kinds == {PieceKind.SEGMENT}:
        is_begun = any(piece.kind in (PieceKind.SEGMENT, PieceKind.TAIL) for piece in read)
        return () if is_begun else tuple(planned)
    fields = {piece.window.field for piece in planned if piece.window is not None}
    windows = _windows(read)
    if len(fields) != 1 or not windows or {window.field for window in windows} - fields:
        return tuple(planned)
    own = [piece.window for piece in planned if piece.window is not None]
    axis = _axis(own + windows)
    taken = [_stretch(window, axis) for window in windows]
    needs_nulls = not any(window.has_nulls for window in windows)
    left: list[Piece] = []
    for piece, window in zip(planned, own, strict=True):
        for stretch in minus([_stretch(window, axis)], taken):
            has_nulls = needs_nulls and not left
            part = replace(
                window,
                since=_bound(axis, stretch.low),
                until=_bound(axis, stretch.high),
                has_nulls=has_nulls,
            )
            left.append(replace(piece, window=part))
    return tuple(left)


def is_whole(read: Sequence[Piece]) -> bool:
    """Whether the pieces of one stream are all of its history, whatever it was planned like."""
    if any(piece.kind is PieceKind.FULL for piece in read):
        return has_whole_pass(read)
    if any(piece.kind is PieceKind.SEGMENT for piece in read):
        return True
    windows = _windows(read)
    if not windows or not any(window.has_nulls for window in windows):
        return False
    axis = _axis(windows)
    stretches = [_stretch(window, axis) for window in windows]
    line = Stretch(min(stretch.low for stretch in stretches), END_OF_LINE)
    return not minus([line], stretches)


def has_whole_pass(read: Iterable[Piece]) -> bool:
    """Whether all parts of a pass are there."""
    passes = Counter((piece.pass_number, piece.pass_size) for piece in read if piece.kind is PieceKind.FULL)
    return any(size == count for (_, size), count in passes.items())


def _windows(read: Iterable[Piece]) -> list[Window]:
    return [piece.window for piece in read if piece.kind is PieceKind.WINDOW and piece.window is not None]


def _axis(windows: Iterable[Window]) -> Axis | None:
    return axis_of([end for window in windows for end in (window.since, window.until)])


def _stretch(window: Window, axis: Axis | None) -> Stretch:
    return Stretch(
        START_OF_LINE if window.since is None or axis is None else axis.place(window.since),
        END_OF_LINE if window.until is None or axis is None else axis.place(window.until),
    )


def _bound(axis: Axis | None, place: int) -> Bound | None:
    return None if axis is None or place in (START_OF_LINE, END_OF_LINE) else axis.bound(place)
