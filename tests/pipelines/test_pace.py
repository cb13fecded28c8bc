from __future__ import annotations

from datetime import timedelta
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tracing import T0

from hakiri.pipelines.pace import RECENT_CHUNKS, DoneChunk, Pace


def pace_of(*seconds: float) -> Pace:
    """The pace after commits that came so many seconds after one another."""
    pace = Pace(began_at=T0)
    for at in accumulate(seconds):
        pace = pace.after(DoneChunk(at=T0 + timedelta(seconds=at), rows=850, bytes=1_000))
    return pace


@pytest.mark.spec("HP-140")
def test_the_rest_takes_as_long_as_the_recent_chunks_did() -> None:
    assert pace_of(10, 10, 10).eta_seconds(261) == 2610


@pytest.mark.spec("HP-140")
def test_old_chunks_do_not_count_any_more() -> None:
    slow_then_fast = pace_of(*[100] * 50, *[1] * RECENT_CHUNKS)

    assert slow_then_fast.eta_seconds(10) == pytest.approx(10)
    assert len(slow_then_fast.done) == RECENT_CHUNKS


def test_chunks_in_flight_at_once_count_over_the_time_that_passed() -> None:
    four_at_once = pace_of(8, 0, 0, 0, 8, 0, 0, 0)

    assert four_at_once.eta_seconds(4) == pytest.approx(8)
    assert four_at_once.rows_per_second == pytest.approx(425)
    assert four_at_once.bytes_per_second == pytest.approx(500)


def test_before_the_first_commit_nothing_is_known() -> None:
    pace = pace_of()

    assert (pace.eta_seconds(5), pace.rows_per_second, pace.bytes_per_second) == (None, 0.0, 0.0)


def test_when_nothing_is_left_it_takes_no_time() -> None:
    assert pace_of().eta_seconds(0) == 0.0


def test_commits_in_no_time_have_no_pace() -> None:
    assert pace_of(0, 0).eta_seconds(5) is None


@given(st.lists(st.floats(0, 1000), max_size=60), st.integers(0, 1000))
def test_an_eta_is_never_negative(gaps: list[float], remaining: int) -> None:
    eta = pace_of(*gaps).eta_seconds(remaining)

    assert eta is None or eta >= 0


def test_commits_that_are_told_late_do_not_turn_time_back() -> None:
    pace = Pace(began_at=T0)
    for at in (30, 10, 20):
        pace = pace.after(DoneChunk(at=T0 + timedelta(seconds=at), rows=1, bytes=1))

    assert pace.eta_seconds(3) == pytest.approx(30)
