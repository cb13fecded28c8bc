"""Windows that are cut from an extent hold every value exactly once."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.sources.contract import Extent, Window
from hakiri.sources.sql.ranges import key_ranges

MOMENTS = st.datetimes(timezones=st.just(UTC))


def holds(window: Window, value: object) -> bool:
    since, until = (None if end is None else comparable(end) for end in (window.since, window.until))
    return (since is None or since <= value) and (until is None or value < until)  # type: ignore[operator]


def comparable(end: int | str) -> object:
    return end if isinstance(end, int) else datetime.fromisoformat(end)


@given(
    ends=st.tuples(st.integers(-(2**63), 2**63), st.integers(-(2**63), 2**63)).map(sorted),
    parts=st.integers(1, 50),
    value=st.integers(-(2**64), 2**64),
)
def test_every_number_lies_in_exactly_one_window(ends: list[int], parts: int, value: int) -> None:
    windows = key_ranges(Extent(lowest=ends[0], highest=ends[1]), parts, field="id")

    assert sum(holds(window, value) for window in windows) == 1
    assert len(windows) == min(parts, ends[1] - ends[0] + 1)
    assert all(left.until == right.since for left, right in pairwise(windows))
    assert [window.has_nulls for window in windows] == [True, *[False] * (len(windows) - 1)]


@given(ends=st.tuples(MOMENTS, MOMENTS).map(sorted), parts=st.integers(1, 50), value=MOMENTS)
def test_every_moment_lies_in_exactly_one_window(ends: list[datetime], parts: int, value: datetime) -> None:
    lowest, highest = (end.isoformat().replace("+00:00", "Z") for end in ends)
    windows = key_ranges(Extent(lowest=lowest, highest=highest), parts, field="at")

    assert sum(holds(window, value) for window in windows) == 1
    assert len(windows) == min(parts, (ends[1] - ends[0]) // timedelta(microseconds=1) + 1)
    assert all(left.until == right.since for left, right in pairwise(windows))


@given(ends=st.tuples(st.dates(), st.dates()).map(sorted), parts=st.integers(1, 20))
def test_days_are_cut_at_days(ends: list[date], parts: int) -> None:
    windows = key_ranges(Extent(lowest=str(ends[0]), highest=str(ends[1])), parts, field="day")

    cuts = [date.fromisoformat(str(window.since)) for window in windows[1:]]
    assert cuts == sorted(set(cuts))
    assert all(ends[0] < cut <= ends[1] for cut in cuts)


def test_windows_are_of_equal_width() -> None:
    windows = key_ranges(Extent(lowest=1, highest=1000), 4, field="id")

    assert windows == (
        Window(field="id", until=251, has_nulls=True),
        Window(field="id", since=251, until=501),
        Window(field="id", since=501, until=751),
        Window(field="id", since=751),
    )


def test_moments_without_a_zone_stay_without_one() -> None:
    extent = Extent(lowest="2026-01-01T00:00:00", highest="2026-01-01T00:00:03")

    _, second = key_ranges(extent, 2, field="at")

    assert second.since == "2026-01-01T00:00:01.500000"


@pytest.mark.parametrize(
    "extent",
    [
        Extent(),
        Extent(lowest=1),
        Extent(lowest="a", highest="z"),
        Extent(lowest="2026-01-01T00:00:00Z", highest="2026-01-02T00:00:00"),
        Extent(lowest=1, highest="2026-01-01"),
    ],
)
def test_what_cannot_be_cut_is_one_window_with_everything(extent: Extent) -> None:
    assert key_ranges(extent, 8, field="x") == (Window(field="x", has_nulls=True),)


def test_no_part_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="a table is read in at least one part, not in 0"):
        key_ranges(Extent(lowest=1, highest=9), 0, field="id")
