from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.core.grammar import Duration
from hakiri.pipelines.chunks.bounds import MOMENTS, Axis, Grain, axis_of, just_above, lowered
from hakiri.pipelines.chunks.errors import LagMisfit, RangeMisfit

LOCAL = Axis(grain=Grain.LOCAL_MOMENT)
DAYS = Axis(grain=Grain.DAY)
NUMBERS = Axis(grain=Grain.NUMBER)
DAY_US = 24 * 3600 * 10**6


@pytest.mark.parametrize(
    ("bounds", "axis"),
    [
        ([1, None, -5], NUMBERS),
        (["2024-01-31"], DAYS),
        (["2024-01-31T10:00:00Z"], MOMENTS),
        (["2024-01-31T10:00:00+05:30"], MOMENTS),
        (["2024-01-31T10:00:00+00:00"], Axis(grain=Grain.MOMENT, suffix="+00:00")),
        (["2024-01-31 10:00:00.5Z"], Axis(grain=Grain.MOMENT, separator=" ", suffix="Z")),
        (["2024-01-31T10:00"], LOCAL),
        (["2024-01-31", "2024-02-01T10:00:00Z"], MOMENTS),
        (["2024-01-31", "2024-02-01 10:00:00"], Axis(grain=Grain.LOCAL_MOMENT, separator=" ")),
        ([], None),
        ([None], None),
        (["2024-01-31T10:00:00Z", "2024-01-31T10:00:00"], None),
        (["2024-02-31"], None),
        (["20240131"], None),
        (["2024-W05-3"], None),
        (["infinity", "2024-01-31"], None),
        ([1, "2024-01-31"], None),
        ([1.5], None),
        ([True], None),
    ],
)
def test_the_axis_is_the_line_on_which_all_values_lie(
    bounds: list[int | str | None], axis: Axis | None
) -> None:
    assert axis_of(bounds) == axis


@pytest.mark.parametrize(
    ("axis", "bound", "place"),
    [
        (NUMBERS, -7, -7),
        (DAYS, "1970-01-02", 1),
        (DAYS, "1969-12-31", -1),
        (DAYS, "1970-01-02T00:00:00Z", 1),
        (DAYS, "1970-01-02T00:00:00.000001Z", 2),
        (MOMENTS, "1970-01-01T00:00:00.000001Z", 1),
        (MOMENTS, "1970-01-01T02:00:00+02:00", 0),
        (MOMENTS, "1970-01-02", DAY_US),
        (MOMENTS, "1970-01-01T00:00:01", 10**6),
        (LOCAL, "1970-01-01 00:00:01", 10**6),
        (LOCAL, "1970-01-01T02:00:01+02:00", 10**6),
        (MOMENTS, "1970-01-01T00:00:00.0000019Z", 1),
    ],
)
def test_a_value_has_a_place(axis: Axis, bound: int | str, place: int) -> None:
    assert axis.place(bound) == place


@pytest.mark.parametrize(
    ("axis", "bound"), [(NUMBERS, "7"), (MOMENTS, 7), (DAYS, "soon"), (MOMENTS, "2024-02-30T00:00:00Z")]
)
def test_a_value_of_another_kind_has_no_place(axis: Axis, bound: int | str) -> None:
    with pytest.raises(RangeMisfit) as refused:
        axis.place(bound)

    assert str(refused.value) == f"`{bound}` cannot be compared with {axis.grain.value}"


@given(st.integers())
def test_a_number_is_its_place(number: int) -> None:
    assert NUMBERS.bound(NUMBERS.place(number)) == number


@given(st.dates())
def test_a_day_comes_back_from_its_place(day: date) -> None:
    assert DAYS.bound(DAYS.place(day.isoformat())) == day.isoformat()


@given(st.datetimes())
def test_a_moment_without_an_offset_comes_back_without_one(moment: datetime) -> None:
    assert LOCAL.bound(LOCAL.place(moment.isoformat())) == moment.isoformat()


@given(st.datetimes(), st.datetimes(), st.integers(-14 * 60, 14 * 60))
def test_moments_lie_in_the_order_of_instants_whatever_their_offsets(
    one: datetime, other: datetime, minutes: int
) -> None:
    sign, rest = "-" if minutes < 0 else "+", abs(minutes)
    text = f"{one.isoformat()}{sign}{rest // 60:02d}:{rest % 60:02d}"
    plain = f"{other.isoformat()}Z"

    apart = MOMENTS.place(text) - MOMENTS.place(plain)

    assert apart * timedelta(microseconds=1) == datetime.fromisoformat(text) - other.replace(tzinfo=UTC)


@given(st.datetimes())
def test_a_moment_comes_back_in_utc(moment: datetime) -> None:
    text = MOMENTS.bound(MOMENTS.place(f"{moment.isoformat()}Z"))

    assert text == f"{moment.isoformat()}Z"


def test_a_place_outside_of_the_calendar_is_the_nearest_moment_in_it() -> None:
    assert MOMENTS.bound(10**20) == "9999-12-31T23:59:59.999999Z"
    assert DAYS.bound(-(10**9)) == "0001-01-01"


@pytest.mark.parametrize(
    ("bound", "lag", "earlier"),
    [
        (1000, 10, 990),
        (5, 10, -5),
        ("2024-03-31T10:00:00Z", "P1M", "2024-02-29T10:00:00Z"),
        ("2024-03-31T10:00:00+02:00", "2h", "2024-03-31T06:00:00Z"),
        ("2024-03-31 10:00:00", "1d", "2024-03-30 10:00:00"),
        ("2024-03-31", "1d", "2024-03-30"),
        ("2024-03-31", "2h", "2024-03-30"),
        ("0001-01-02T00:00:00Z", "30d", "0001-01-01T00:00:00Z"),
        ("0001-01-02", "30d", "0001-01-01"),
    ],
)
def test_a_lag_is_taken_from_a_value(bound: int | str, lag: int | str, earlier: int | str) -> None:
    assert lowered(bound, Duration.parse(lag) if isinstance(lag, str) else lag) == earlier


def test_without_a_lag_a_value_is_left_as_it_is_written() -> None:
    assert lowered("2024-03-31T10:00:00+02:00", None) == "2024-03-31T10:00:00+02:00"


@pytest.mark.parametrize(
    ("bound", "lag", "problem"),
    [
        (5, "2h", "a `lag` of `2h` cannot be taken from numbers"),
        ("2024-01-01", 5, "a `lag` of `5` cannot be taken from days"),
        ("abc", 5, "a `lag` of `5` cannot be taken from `abc`"),
    ],
)
def test_a_lag_of_another_kind_is_refused(bound: int | str, lag: int | str, problem: str) -> None:
    with pytest.raises(LagMisfit) as refused:
        lowered(bound, Duration.parse(lag) if isinstance(lag, str) else lag)

    assert str(refused.value) == problem
    assert refused.value.hint == (
        'write a length of time like `"2h"` for dates and times, or a number like `1000` for ids'
    )


@pytest.mark.parametrize(
    ("bound", "above"),
    [
        (41, 42),
        ("2024-02-28", "2024-02-29"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000001Z"),
        ("2024-01-01 08:00:00", "2024-01-01 08:00:00.000001"),
        ("not a time", None),
    ],
)
def test_just_above_a_value_is_the_next_that_there_can_be(bound: int | str, above: int | str | None) -> None:
    assert just_above(bound) == above
