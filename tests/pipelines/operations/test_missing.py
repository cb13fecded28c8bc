"""What it means that a chunk is left out, and how it is pulled later."""

from __future__ import annotations

import pytest
from tests.pipelines.operations.scenes import tail, window

from hakiri.pipelines.chunks.pieces import Piece, PieceKind
from hakiri.pipelines.chunks.ranges import ValueRange
from hakiri.pipelines.operations.missing import Loss, loss_of, range_of

JANUARY, FEBRUARY = "2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z"


@pytest.mark.parametrize(
    ("piece", "loss"),
    [
        (window(100, 200), Loss.MISSING),
        (window(None, 100), Loss.MISSING),
        (window(300), Loss.LATER),
        (tail({"id": 1}), Loss.LATER),
        (Piece(kind=PieceKind.SEGMENT), Loss.LATER),
        (Piece(kind=PieceKind.FULL, pass_number=2), Loss.OLD),
        (Piece(kind=PieceKind.SWEEP, since_seq=7), Loss.DELETES),
    ],
    ids=lambda value: value.kind if isinstance(value, Piece) else value.name,
)
def test_only_a_closed_window_that_is_left_out_loses_rows(piece: Piece, loss: Loss) -> None:
    assert loss_of(piece) is loss


@pytest.mark.parametrize(
    ("piece", "ends"),
    [
        (window(100, 200), ("100", "199")),
        (window(None, 100), ("99", "99")),
        (window("2024-01-01", "2024-02-01"), ("2024-01-01", "2024-01-31")),
        (window(JANUARY, FEBRUARY), (JANUARY, FEBRUARY)),
        (window(None, FEBRUARY), ("2024-01-31T00:00:00Z", FEBRUARY)),
        (window("a", "m"), None),
        (window(300), None),
        (tail({"id": 1}), None),
    ],
)
def test_the_ends_of_a_rewind_are_those_of_the_window(piece: Piece, ends: tuple[str, str] | None) -> None:
    found = range_of(piece)

    assert found == ends
    if found is not None and piece.window is not None and isinstance(piece.window.since, int):
        assert ValueRange.parse(*found) == ValueRange(since=piece.window.since, until=piece.window.until)
