"""What it means that a chunk is left out."""

from __future__ import annotations

from enum import StrEnum

from hakiri.pipelines.chunks.bounds import DAY_US, Grain, axis_of
from hakiri.pipelines.chunks.pieces import Piece, PieceKind


class Loss(StrEnum):
    """What becomes of the rows of a chunk that is skipped."""

    MISSING = "the rows are missing until somebody pulls them"
    LATER = "the next run reads on from the same place"
    OLD = "readers keep seeing the rows of the pass before"
    DELETES = "rows that are gone at the source stay"


def loss_of(piece: Piece) -> Loss:
    """What becomes of the rows of this piece when it is skipped."""
    if piece.kind is PieceKind.FULL:
        return Loss.OLD
    if piece.kind is PieceKind.SWEEP:
        return Loss.DELETES
    return Loss.LATER if piece.is_open else Loss.MISSING


def range_of(piece: Piece) -> tuple[str, str] | None:
    """What `--from` and `--to` have to be for the whole of a closed window; None where they cannot say it.

    Of a window without a beginning, which is pulled as a whole, they name the end.
    """
    window = piece.window
    axis = None if window is None else axis_of([window.since, window.until])
    if window is None or axis is None or window.until is None:
        return None
    end = axis.place(window.until)
    step = DAY_US if axis.is_time and axis.grain is not Grain.DAY else 1
    since = window.since if window.since is not None else axis.bound(end - step)
    # A day or a number at the end belongs to the range, a moment does not.
    is_moment = axis.is_time and axis.grain is not Grain.DAY
    return str(since), str(window.until if is_moment else axis.bound(end - 1))
