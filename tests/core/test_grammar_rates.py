from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.core.grammar import BadText, Rate

UNIT = "one of s, min, h, d, or a duration like `15m`"


@pytest.mark.spec("HP-135")
@pytest.mark.parametrize(
    ("text", "count", "per"),
    [
        ("60/min", 60, timedelta(minutes=1)),
        ("60/m", 60, timedelta(minutes=1)),
        ("60/minute", 60, timedelta(minutes=1)),
        ("10/s", 10, timedelta(seconds=1)),
        ("10/sec", 10, timedelta(seconds=1)),
        ("10/second", 10, timedelta(seconds=1)),
        ("5000/h", 5000, timedelta(hours=1)),
        ("5000/hour", 5000, timedelta(hours=1)),
        ("1/d", 1, timedelta(days=1)),
        ("1/day", 1, timedelta(days=1)),
        ("100/15m", 100, timedelta(minutes=15)),
        ("100/PT15M", 100, timedelta(minutes=15)),
    ],
)
def test_a_rate_is_read(text: str, count: int, per: timedelta) -> None:
    rate = Rate.parse(text)

    assert (rate.text, rate.count, rate.per) == (text, count, per)


def test_a_rate_says_how_many_a_second() -> None:
    assert Rate.parse("90/min").per_second == 1.5


def test_rates_are_equal_by_count_and_period() -> None:
    assert Rate.parse("60/min") == Rate.parse("60/m") == Rate.parse("60/60s")
    assert Rate.parse("60/min") != Rate.parse("1/s")


@pytest.mark.spec("HP-135")
@pytest.mark.parametrize(
    ("text", "seen", "expected"),
    [
        ("", "unexpected end at position 1", "a whole number"),
        ("60", "unexpected end at position 3", "a `/`"),
        ("60/", "unexpected end at position 4", UNIT),
        ("60/year", "unexpected `year` at position 4", UNIT),
        ("60/min!", "unexpected `!` at position 7", "the end"),
        ("0/s", "unexpected `0` at position 1", "a number above zero"),
        ("1.5/s", "unexpected `.` at position 2", "a `/`"),
        ("1234567890123/s", "unexpected `1234567890123` at position 1", "a number of at most 12 digits"),
        ("100/P1M", "unexpected `P1M` at position 5", "a duration without months"),
        ("100/15x", "unexpected `x` at position 7", "one of s, m, h, d, w, ms, us"),
    ],
)
def test_a_bad_rate_is_refused_at_its_position(text: str, seen: str, expected: str) -> None:
    with pytest.raises(BadText) as caught:
        Rate.parse(text)

    whole = f"`{text}`" if text else "an empty text"
    assert str(caught.value) == f"{whole} is not a rate: {seen} ({expected} was expected)"
    assert caught.value.hint == "write a count and a time, like `60/min`, `10/s`, `5000/h` or `100/15m`"


@given(st.text(alphabet="0123456789/minsechourdayPT. ", max_size=12) | st.text(max_size=8))
def test_any_text_is_read_as_a_rate_or_refused_inside_itself(text: str) -> None:
    outcome = read_or_refused(text)

    if isinstance(outcome, BadText):
        assert 0 <= outcome.position <= len(text)
    else:
        assert outcome.per_second > 0


def read_or_refused(text: str) -> Rate | BadText:
    try:
        return Rate.parse(text)
    except BadText as refusal:
        return refusal
