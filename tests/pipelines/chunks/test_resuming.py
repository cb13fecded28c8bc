"""What is left of a history when nobody remembers how it was planned."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from hakiri.pipelines.chunks.pieces import Piece, PieceKind
from hakiri.pipelines.chunks.resuming import is_whole, what_is_left
from hakiri.sources.contract import Window


def windows(*cuts: int | None) -> list[Piece]:
    """A history in windows: from the first end to the last; rows without a value are in the first."""
    return [
        Piece(
            kind=PieceKind.WINDOW, window=Window(field="id", since=since, until=until, has_nulls=number == 0)
        )
        for number, (since, until) in enumerate(pairwise(cuts))
    ]


def read_by(pieces: list[Piece] | tuple[Piece, ...]) -> list[int | None]:
    """Every value from 0 to 99 as often as it is read, and None for the rows without one."""
    found: list[int | None] = []
    for piece in pieces:
        assert piece.window is not None
        low = -1 if piece.window.since is None else int(piece.window.since)
        high = 100 if piece.window.until is None else int(piece.window.until)
        found += [value for value in range(100) if low <= value < high]
        found += [None] if piece.window.has_nulls else []
    return sorted(found, key=lambda value: -1 if value is None else value)


def test_whatever_was_read_and_however_it_is_cut_now_every_value_is_read_once() -> None:
    everything = read_by(windows(None, None))
    for seed in range(300):
        chance = Random(seed)
        before = windows(None, *sorted(chance.sample(range(1, 99), 6)), None)
        now = windows(None, *sorted(chance.sample(range(1, 99), 6)), None)
        read = chance.sample(before, chance.randrange(len(before) + 1))

        left = what_is_left(now, read)

        assert read_by([*read, *left]) == everything, f"seed {seed}"
        assert is_whole(read) == (left == ())


def test_a_history_that_began_late_is_whole_when_nothing_behind_its_beginning_is_missing() -> None:
    pieces = windows(10, 20, 30, None)

    assert is_whole(pieces)
    assert not is_whole(pieces[:2])
    assert not is_whole([pieces[0], pieces[2]])
    assert what_is_left(pieces, [pieces[0], pieces[2]]) == (pieces[1],)


def test_windows_of_another_column_say_nothing() -> None:
    planned = windows(None, 10, None)
    other = [replace(piece, window=Window(field="at", since=None)) for piece in planned]

    assert what_is_left(planned, other) == tuple(planned)


@pytest.mark.parametrize(("parts", "is_done"), [(2, True), (1, False)])
def test_a_pass_counts_when_all_of_it_is_there(parts: int, is_done: bool) -> None:
    planned = [Piece(kind=PieceKind.FULL, pass_number=1, pass_size=2, partition={"p": p}) for p in "ab"]

    assert is_whole(planned[:parts]) == is_done
    assert what_is_left(planned, planned[:parts]) == (() if is_done else tuple(planned))


def test_what_the_source_leads_through_goes_on_behind_what_was_read() -> None:
    first = Piece(kind=PieceKind.SEGMENT)

    assert what_is_left([first], [first]) == ()
    assert what_is_left([first], []) == (first,)
    assert is_whole([first])
