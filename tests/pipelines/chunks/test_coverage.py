"""Whatever is known of a table, its pieces hold every value, and every row without one, exactly once."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.pipelines.chunks.plans import (
    NOW,
    Slice,
    facts_of,
    knobs_of,
    local_moment_of,
    moment_of,
    sliced,
)

from hakiri.core.cursors import CursorKind
from hakiri.pipelines.chunks.planning import plan_table
from hakiri.pipelines.chunks.streaming import next_tail, open_edge

WINDOWS = ["90s", "1h", "1d", "7d", "30d", "P1M", "P3M", "P1Y", "P1M3DT4H", "400d", "9000d"]
MOST_PIECES = 300
ZONES = [UTC, timezone(timedelta(hours=14)), timezone(-timedelta(hours=11, minutes=30))] + [
    ZoneInfo(name) for name in ("Europe/Berlin", "America/Sao_Paulo", "Asia/Kolkata", "Pacific/Apia")
]
# Ends of months, leap days, both changes of the clock in Berlin, the epoch, and a century that does not leap.
ODD_DAYS = [
    date(2024, 2, 29), date(2023, 2, 28), date(2024, 12, 31), date(2025, 3, 30), date(2025, 10, 26),
    date(1970, 1, 1), date(1900, 3, 1), date(2000, 2, 29), date(2026, 5, 12),
]  # fmt: skip
FIRST, LAST = date(1890, 1, 1), date(2060, 1, 1)
ONE_US = timedelta(microseconds=1)

some_days = st.dates(min_value=FIRST, max_value=LAST) | st.sampled_from(ODD_DAYS)
local_moments = st.builds(datetime.combine, some_days, st.times())
moments = st.builds(
    lambda moment, zone, fold: moment.replace(tzinfo=zone, fold=fold).astimezone(UTC),
    local_moments,
    st.sampled_from(ZONES),
    st.sampled_from([0, 1]),
)
numbers = st.integers(-(10**6), 10**6) | st.integers(-(2**63), 2**63)
# Often both ends lie close together, so that short windows can be tried as well.
gaps = st.timedeltas(timedelta(), timedelta(days=3)) | st.timedeltas(timedelta(), timedelta(days=20_000))
counts = st.none() | st.integers(0, 60_000_000)
some_windows = st.sampled_from([None, *WINDOWS])
starts = st.sampled_from(
    [None, None, "2010-01-01", "2024-02-29", "2024-01-31T23:30:00+02:00", "2025-03-30T02:30:00Z",
     "2060-01-01", "1900-01-31"]
)  # fmt: skip


def assert_held_once(slices: list[Slice], values: list[Any], start: Any = None) -> None:
    for value in [*values, None]:
        found = [each.piece for each in slices if each.holds(value)]
        is_wanted = value is None or start is None or value >= start
        assert len(found) == (1 if is_wanted else 0), f"{value} is in {found}"


def assert_in_order(slices: list[Slice]) -> None:
    """Each window begins where the one before it ends, and none is empty; the last is open."""
    for one, other in pairwise(slices):
        assert one.until == other.since is not None
        assert one.since is None or one.since < one.until
    assert slices[-1].until is None
    assert [each.piece.window.has_nulls for each in slices if each.piece.window] == [
        number == 0 for number in range(len(slices))
    ]


def edges(slices: list[Slice]) -> list[Any]:
    """Where an off-by-one would show."""
    inner = [each.until for each in slices if each.until is not None]
    return inner if len(inner) < 20 else [*inner[:10], *inner[-10:]]


def assume_few_pieces(window: str | None, length: timedelta) -> None:
    duration = knobs_of(window=window).window.value
    assume(duration is None or length / (duration.delta + timedelta(days=30) * duration.months) < MOST_PIECES)


@pytest.mark.spec("HP-107")
@given(st.tuples(numbers, numbers).map(sorted), counts, st.lists(numbers, max_size=20))
def test_every_number_is_in_exactly_one_piece(ends: list[int], count: int | None, values: list[int]) -> None:
    slices = sliced(plan_table(facts_of(*ends, rows=count), knobs_of(), NOW))

    near = [edge + by for edge in edges(slices) for by in (-1, 0, 1)]
    assert_held_once(slices, [*values, *ends, *near])
    assert_in_order(slices)


@pytest.mark.spec("HP-107")
@settings(deadline=None)
@given(
    lowest=moments, gap=gaps, zones=st.tuples(st.sampled_from(ZONES), st.sampled_from(ZONES)),
    window=some_windows, count=counts, start=starts, values=st.lists(moments, max_size=20),
)  # fmt: skip
def test_every_moment_is_in_exactly_one_piece(
    *,
    lowest: datetime,
    gap: timedelta,
    zones: tuple[Any, Any],
    window: str | None,
    count: int | None,
    start: str | None,
    values: list[datetime],
) -> None:
    assume_few_pieces(window, gap)
    knobs, highest = knobs_of(window=window, start_from=start), lowest + gap
    said = (lowest.astimezone(zones[0]).isoformat(), highest.astimezone(zones[1]).isoformat())
    # Before 1900 some zones are off by seconds, which no source writes.
    assume(all(len(text) in {25, 32} for text in said))

    slices = sliced(plan_table(facts_of(*said, rows=count), knobs, NOW), moment_of)

    near = [edge + by * ONE_US for edge in edges(slices) for by in (-1, 0, 1)]
    assert_held_once(slices, [*values, lowest, highest, *near], knobs.start_from.value)
    assert_in_order(slices)


@pytest.mark.spec("HP-107")
@settings(deadline=None)
@given(
    lowest=local_moments, gap=gaps, sign=st.sampled_from("T "), window=some_windows, count=counts,
    start=starts, values=st.lists(local_moments, max_size=20),
)  # fmt: skip
def test_every_moment_without_an_offset_is_in_exactly_one_piece(
    *,
    lowest: datetime,
    gap: timedelta,
    sign: str,
    window: str | None,
    count: int | None,
    start: str | None,
    values: list[datetime],
) -> None:
    assume_few_pieces(window, gap)
    knobs, highest = knobs_of(window=window, start_from=start), lowest + gap
    facts = facts_of(lowest.isoformat(sep=sign), highest.isoformat(sep=sign), rows=count)

    pieces = plan_table(facts, knobs, NOW)

    begin = knobs.start_from.value
    wall = None if begin is None else begin.astimezone(UTC).replace(tzinfo=None)
    slices = sliced(pieces, local_moment_of)
    near = [edge + by * ONE_US for edge in edges(slices) for by in (-1, 0, 1)]
    assert_held_once(slices, [*values, lowest, highest, *near], wall)
    assert_in_order(slices)
    texts = [edge for piece in pieces if piece.window and (edge := piece.window.until)]
    assert texts == sorted(texts), "a database that keeps moments as texts would mix them up"


@pytest.mark.spec("HP-107")
@settings(deadline=None)
@given(
    lowest=some_days, gap=gaps, window=some_windows, count=counts, start=starts,
    values=st.lists(some_days, max_size=20),
)  # fmt: skip
def test_every_day_is_in_exactly_one_piece(
    *,
    lowest: date,
    gap: timedelta,
    window: str | None,
    count: int | None,
    start: str | None,
    values: list[date],
) -> None:
    assume_few_pieces(window, gap)
    knobs, highest = knobs_of(window=window, start_from=start), lowest + gap
    facts = facts_of(lowest.isoformat(), highest.isoformat(), rows=count)

    slices = sliced(plan_table(facts, knobs, NOW), date.fromisoformat)

    begin = knobs.start_from.value and knobs.start_from.value.astimezone(UTC)
    first = None if begin is None else begin.date() + timedelta(days=begin.time() != datetime.min.time())
    near = [edge + timedelta(days=by) for edge in edges(slices) for by in (-1, 0, 1)]
    assert_held_once(slices, [*values, lowest, highest, *near], first)
    assert_in_order(slices)


@pytest.mark.spec("HP-110")
@settings(deadline=None)
@given(st.integers(1, 4), moments, st.sampled_from(WINDOWS[4:]), st.lists(moments, max_size=5))
def test_every_moment_of_every_partition_is_in_exactly_one_piece(
    count: int, lowest: datetime, window: str, values: list[datetime]
) -> None:
    assume_few_pieces(window, NOW - lowest)
    partitions = [{"repo": f"r{number}"} for number in range(count)]
    facts = facts_of(lowest.isoformat(), kind=CursorKind.PARTITIONED_MONOTONIC, partitions=partitions)

    pieces = plan_table(facts, knobs_of(window=window), NOW)

    for partition in partitions:
        slices = sliced([piece for piece in pieces if piece.partition == partition], moment_of)
        assert_held_once(slices, values)
        assert_in_order(slices)
    met = [piece.partition for piece in pieces]
    assert met == sorted(met, key=partitions.index)


@settings(deadline=None)
@given(
    arrivals=st.lists(st.tuples(st.integers(0, 500), st.integers(0, 40)), min_size=1, max_size=40),
    lag=st.integers(1, 40),
    window=st.integers(20, 300),
    planned=st.integers(0, 500),
    data=st.data(),
)
def test_a_row_that_comes_no_later_than_the_lag_is_never_lost(
    *, arrivals: list[tuple[int, int]], lag: int, window: int, planned: int, data: st.DataObject
) -> None:
    """Rows come up to a lag after their value, while chunks are read in any order and at any time."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    second = timedelta(seconds=1)
    table = [(start + at * second, start + (at + min(late, lag)) * second) for at, late in arrivals]

    def there(at: datetime) -> set[datetime]:
        return {value for value, appears in table if appears <= at}

    now = start + planned * second
    known = [value.isoformat() for value in (there(now) and (min(there(now)), max(there(now))))]
    length = knobs_of(window=f"{lag}s").window.value
    pieces = plan_table(facts_of(*known, lag=length), knobs_of(window=f"{window}s"), now)
    got: set[datetime] = set()
    cursor = None
    slices = sliced(pieces, moment_of)
    waits = st.integers(0, 100).map(lambda seconds: seconds * second)
    for each in data.draw(st.permutations(slices)):
        now += data.draw(waits)
        found = {value for value in there(now) if each.holds(value)}
        got |= found
        if each.piece.is_open and found:
            cursor = {"f": max(found).isoformat()}
    for _ in range(3):
        now += data.draw(waits)
        (tail,) = sliced([next_tail(cursor, open_edge(pieces, {}), length, "f")], moment_of)
        found = {value for value in there(now) if tail.holds(value)}
        got |= found
        cursor = {"f": max(found).isoformat()} if found else cursor
        assert got == there(now)
