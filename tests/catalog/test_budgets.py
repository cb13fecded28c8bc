"""How much a budget grants, by arithmetic that is exact."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from hakiri.catalog.sql.budgets import Bucket, take_from

T0 = datetime(2026, 5, 11, 8, tzinfo=UTC)
TICK = timedelta(microseconds=1)
CALL = 1_000_000

rates = st.floats(1e-6, 1e6)
bursts = st.floats(1, 1e6)
steps = st.lists(
    st.tuples(
        st.integers(-(10**8), 10**8) | st.integers(-3, 10**6),
        st.floats(1, 1e6) | st.integers(1, 3),
    ),
    min_size=1,
    max_size=30,
)


def full(burst: float) -> Bucket:
    return Bucket(level=int(Fraction(burst) * CALL), filled_at=T0)


@given(rate=rates, burst=bursts, steps=steps)
@settings(deadline=None)
def test_no_span_is_granted_more_than_the_burst_and_what_the_span_brought(
    rate: float, burst: float, steps: list[tuple[int, float]]
) -> None:
    bucket, now, furthest = full(burst), T0, T0
    takes: list[tuple[datetime, int]] = []
    for ticks, wanted in steps:
        now += ticks * TICK
        furthest = max(furthest, now)
        bucket, taken = take_from(bucket, wanted=wanted, per_second=rate, burst=burst, now=now)
        assert taken.granted <= wanted
        takes.append((furthest, int(taken.granted)))

    for first, (begin, _) in enumerate(takes):
        total = 0
        for end, granted in takes[first:]:
            total += granted
            assert total <= Fraction(burst) + Fraction(rate) * ((end - begin) // TICK) / CALL


@given(rate=rates, burst=bursts, steps=steps)
@settings(deadline=None)
def test_whoever_gets_nothing_gets_a_call_after_the_wait_and_not_a_tick_before(
    rate: float, burst: float, steps: list[tuple[int, float]]
) -> None:
    bucket, now = full(burst), T0
    for ticks, wanted in steps:
        now += ticks * TICK
        bucket, taken = take_from(bucket, wanted=wanted, per_second=rate, burst=burst, now=now)
        if taken.granted:
            assert taken.wait_seconds == 0
            continue
        due = now + round(taken.wait_seconds * CALL) * TICK
        for moment, granted in ((due - TICK, 0), (due, 1)):
            left, later = take_from(bucket, wanted=1, per_second=rate, burst=burst, now=moment)
            assert later.granted == granted
            assert (left == bucket) == (granted == 0)


@given(rate=st.floats(1e-6, 1e3), burst=st.floats(2, 1e6))
@settings(deadline=None)
def test_whoever_takes_what_there_is_gets_the_whole_rate(rate: float, burst: float) -> None:
    """But for less than a millionth of a call that is lost with every grant, and the call that is coming."""
    bucket, now, total, grants = full(burst), T0, 0, 0
    for _ in range(100):
        bucket, taken = take_from(bucket, wanted=burst, per_second=rate, burst=burst, now=now)
        total += int(taken.granted)
        grants += taken.granted > 0
        brought = Fraction(burst) + Fraction(rate) * ((now - T0) // TICK) / CALL
        assert total > brought - 1 - Fraction(grants + 1, CALL)
        now += round(taken.wait_seconds * CALL) * TICK

    assert grants == 50
