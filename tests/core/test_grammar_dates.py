from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.core.grammar import BadText, parse_date, parse_moment


def test_a_date_is_read() -> None:
    assert parse_date("2010-01-01") == date(2010, 1, 1)
    assert parse_date("2024-02-29") == date(2024, 2, 29)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2010-01-01", datetime(2010, 1, 1, tzinfo=UTC)),
        ("2010-01-01T06:30:00Z", datetime(2010, 1, 1, 6, 30, tzinfo=UTC)),
        ("2010-01-01 06:30", datetime(2010, 1, 1, 6, 30, tzinfo=UTC)),
        ("2010-01-01T06:30:15.25-02:30", datetime(2010, 1, 1, 9, 0, 15, 250_000, tzinfo=UTC)),
    ],
)
def test_a_moment_is_read_and_is_in_utc_unless_it_says_otherwise(text: str, moment: datetime) -> None:
    assert parse_moment(text) == moment


@pytest.mark.parametrize(
    ("text", "seen", "expected"),
    [
        ("", "unexpected end at position 1", "a year of four digits"),
        ("10-01-01", "unexpected `-` at position 3", "a year of four digits"),
        ("0000-01-01", "unexpected `0000` at position 1", "a year from 0001 to 9999"),
        ("2010-13-01", "unexpected `13` at position 6", "a month from 01 to 12"),
        ("2010-02-29", "unexpected `29` at position 9", "a day from 01 to 28"),
        ("2010/01/01", "unexpected `/` at position 5", "a `-`"),
        ("2010-01-01T00:00", "unexpected `T` at position 11", "the end"),
    ],
)
def test_a_bad_date_is_refused_at_its_position(text: str, seen: str, expected: str) -> None:
    with pytest.raises(BadText) as caught:
        parse_date(text)

    whole = f"`{text}`" if text else "an empty text"
    assert str(caught.value) == f"{whole} is not a date: {seen} ({expected} was expected)"
    assert caught.value.hint == "write a date like `2010-01-01`"


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("2010-01-01X", 10, "`T` and a time, or the end"),
        ("2010-01-01T25:00", 11, "an hour from 00 to 23"),
        ("2010-01-01T06", 13, "a `:`"),
        ("2010-01-01T06:61", 14, "a minute from 00 to 59"),
        ("2010-01-01T06:30:60", 17, "a second from 00 to 59"),
        ("2010-01-01T06:30:00.", 20, "a digit"),
        ("2010-01-01T06:30X", 16, "`Z`, an offset like `+02:00`, or the end"),
        ("2010-01-01T06:30+2", 18, "an hour from 00 to 23"),
        ("2010-01-01T06:30Zulu", 17, "the end"),
    ],
)
def test_a_bad_moment_is_refused_at_its_position(text: str, position: int, expected: str) -> None:
    with pytest.raises(BadText) as caught:
        parse_moment(text)

    assert (caught.value.kind, caught.value.position, caught.value.expected) == ("moment", position, expected)


OFFSETS = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(timezones=OFFSETS))
def test_what_python_writes_is_read_back(moment: datetime) -> None:
    assert parse_moment(moment.isoformat()) == moment
