from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.core.grammar import BadText
from hakiri.pipelines.chunks.bounds import MOMENTS, Axis, Grain
from hakiri.pipelines.chunks.errors import EmptyRange, RangeMisfit
from hakiri.pipelines.chunks.ranges import END_OF_LINE, START_OF_LINE, Stretch, ValueRange, minus

NUMBERS = Axis(grain=Grain.NUMBER)
stretches = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda s: Stretch(s[0], sum(s))))


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("2024-01-01", "2024-06-30", ("2024-01-01T00:00:00Z", "2024-07-01")),
        ("2024-02-29", "2024-02-29", ("2024-02-29T00:00:00Z", "2024-03-01")),
        ("2024-01-01T06:30", "2024-01-01T06:31:00Z", ("2024-01-01T06:30:00Z", "2024-01-01T06:31:00Z")),
        ("2024-01-01T00:00:00+02:00", "2024-01-01", ("2023-12-31T22:00:00Z", "2024-01-02")),
        ("5", "5", (5, 6)),
        ("-7", "100", (-7, 101)),
        ("2024-01-01", "9999-12-31", ("2024-01-01T00:00:00Z", None)),
    ],
)
def test_a_day_or_a_number_at_the_end_belongs_to_the_range_and_a_moment_does_not(
    since: str, until: str, expected: tuple[int | str, int | str | None]
) -> None:
    span = ValueRange.parse(since, until)

    assert (span.since, span.until) == expected


@pytest.mark.parametrize(
    ("since", "until"),
    [
        ("2024-01-02", "2024-01-01"),
        ("2024-01-01T06:30:00Z", "2024-01-01T06:30:00Z"),
        ("2024-01-01T06:30:00Z", "2024-01-01T08:30:00+02:00"),
        ("6", "5"),
    ],
)
def test_a_range_that_ends_before_it_begins_is_refused(since: str, until: str) -> None:
    with pytest.raises(EmptyRange) as refused:
        ValueRange.parse(since, until)

    assert str(refused.value) == f"there is nothing from `{since}` to `{until}`"


@pytest.mark.parametrize(("since", "until"), [("soon", "2024-01-01"), ("2024-01-01", "2024-02-30")])
def test_a_range_that_is_no_date_is_refused_with_the_position(since: str, until: str) -> None:
    with pytest.raises(BadText):
        ValueRange.parse(since, until)


def test_a_range_of_another_kind_than_the_column_is_refused() -> None:
    with pytest.raises(RangeMisfit):
        ValueRange.parse("2024-01-01", "5").on(NUMBERS)
    with pytest.raises(RangeMisfit):
        ValueRange.parse("1", "2024-01-01").on(MOMENTS)


def test_an_open_range_is_the_whole_line() -> None:
    assert ValueRange().on(MOMENTS) == Stretch(START_OF_LINE, END_OF_LINE)


@given(stretches, stretches)
def test_what_is_left_of_stretches_is_every_place_that_is_not_taken(
    given_: list[Stretch], taken: list[Stretch]
) -> None:
    left = minus(given_, taken)

    def places(these: list[Stretch]) -> set[int]:
        return {place for low, high in these for place in range(low, high)}

    assert places(left) == places(given_) - places(taken)
    assert sum(high - low for low, high in left) == len(places(left)), "no place is in two stretches"
    assert all(one.high < other.low for one, other in pairwise(left))
