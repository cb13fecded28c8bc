from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.core.grammar import (
    BadText,
    Duration,
    NoFixedLength,
    OutOfCalendar,
    format_duration,
    spell_duration,
)

T0 = datetime(2025, 3, 31, 12, 0, tzinfo=UTC)
UNITS = "one of s, m, h, d, w, ms, us"


@pytest.mark.parametrize(
    ("text", "months", "delta"),
    [
        ("15m", 0, timedelta(minutes=15)),
        ("30d", 0, timedelta(days=30)),
        ("6h", 0, timedelta(hours=6)),
        ("90s", 0, timedelta(seconds=90)),
        ("2w", 0, timedelta(weeks=2)),
        ("500ms", 0, timedelta(milliseconds=500)),
        ("7us", 0, timedelta(microseconds=7)),
        ("1h30m", 0, timedelta(minutes=90)),
        ("1w2d3h4m5s6ms7us", 0, timedelta(9, 3 * 3600 + 4 * 60 + 5, 6007)),
        ("P1D", 0, timedelta(days=1)),
        ("PT15M", 0, timedelta(minutes=15)),
        ("P2W", 0, timedelta(weeks=2)),
        ("P1M", 1, timedelta()),
        ("P1Y2M3DT4H5M6S", 14, timedelta(days=3, hours=4, minutes=5, seconds=6)),
        ("PT1.5S", 0, timedelta(seconds=1, milliseconds=500)),
        ("PT0,25S", 0, timedelta(milliseconds=250)),
    ],
)
def test_a_duration_is_read(text: str, months: int, delta: timedelta) -> None:
    duration = Duration.parse(text)

    assert (duration.text, duration.months, duration.delta) == (text, months, delta)
    assert str(duration) == text


@pytest.mark.parametrize(
    ("text", "seen", "expected"),
    [
        ("", "unexpected end at position 1", f"a number and {UNITS}"),
        ("15", "unexpected end at position 3", UNITS),
        ("15x", "unexpected `x` at position 3", UNITS),
        ("15min", "unexpected `min` at position 3", UNITS),
        ("15%", "unexpected `%` at position 3", UNITS),
        ("-5m", "unexpected `-` at position 1", f"a number and {UNITS}"),
        ("15m ", "unexpected ` ` at position 4", f"a number and {UNITS}"),
        ("٣m", "unexpected `٣` at position 1", f"a number and {UNITS}"),
        ("30m1h", "unexpected `h` at position 5", "a smaller unit than the one before it"),
        ("1h1h", "unexpected `h` at position 4", "a smaller unit than the one before it"),
        ("0m", "unexpected `0m` at position 1", "a length above zero"),
        ("P0D", "unexpected `P0D` at position 1", "a length above zero"),
        ("4000000d", "unexpected `4000000d` at position 1", "a length of at most 9999 years"),
        ("P10000Y", "unexpected `P10000Y` at position 1", "a length of at most 9999 years"),
        (
            "1d9999999999999999999s",
            "unexpected `9999999999999999999` at position 3",
            "a length of at most 9999 years",
        ),
        ("P", "unexpected end at position 2", "a number and one of Y, M, W, D"),
        ("P1DT", "unexpected end at position 5", "a number and one of H, M, S"),
        ("P1H", "unexpected `H` at position 3", "one of Y, M, W, D"),
        ("P1M1Y", "unexpected `Y` at position 5", "one of W, D"),
        ("P1D5", "unexpected `5` at position 4", "`T` or the end"),
        ("PT1S5", "unexpected `5` at position 5", "the end"),
        ("PT1.5M", "unexpected `1.5` at position 3", "a whole number of hours or minutes"),
        ("PT1.S", "unexpected `S` at position 5", "a digit"),
    ],
)
def test_a_bad_duration_is_refused_at_its_position(text: str, seen: str, expected: str) -> None:
    with pytest.raises(BadText) as caught:
        Duration.parse(text)

    whole = f"`{text}`" if text else "an empty text"
    assert str(caught.value) == f"{whole} is not a duration: {seen} ({expected} was expected)"
    assert caught.value.hint == "write a length of time like `15m`, `6h`, `30d`, `1h30m` or `P1D`"


def test_a_refusal_carries_its_data_and_survives_pickling() -> None:
    with pytest.raises(BadText) as caught:
        Duration.parse("15x")

    copy = pickle.loads(pickle.dumps(caught.value))

    assert (copy.kind, copy.text, copy.position, copy.expected) == ("duration", "15x", 2, UNITS)
    assert (copy.code, int(copy.exit_code), str(copy)) == ("grammar.bad_text", 2, str(caught.value))


def test_a_long_text_with_control_characters_is_shown_short_and_on_one_line() -> None:
    with pytest.raises(BadText) as caught:
        Duration.parse("5\n" + "x" * 100)

    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("`5\\n" + "x" * 56 + "…` is not a duration")


def test_durations_are_equal_by_meaning() -> None:
    assert Duration.parse("60m") == Duration.parse("1h") == Duration.parse("PT1H")
    assert hash(Duration.parse("60m")) == hash(Duration.parse("1h"))
    assert Duration.parse("P1Y") == Duration.parse("P12M")
    assert Duration.parse("P1M") != Duration.parse("30d")


@pytest.mark.parametrize(
    ("text", "moment", "after", "before"),
    [
        ("P1M", "2025-03-31T00:00:00+00:00", "2025-04-30T00:00:00+00:00", "2025-02-28T00:00:00+00:00"),
        ("P1M", "2024-01-31T00:00:00+00:00", "2024-02-29T00:00:00+00:00", "2023-12-31T00:00:00+00:00"),
        ("P1Y", "2024-02-29T00:00:00+00:00", "2025-02-28T00:00:00+00:00", "2023-02-28T00:00:00+00:00"),
        ("P1M1D", "2025-01-31T00:00:00+00:00", "2025-03-01T00:00:00+00:00", "2024-12-30T00:00:00+00:00"),
        ("15m", "2025-01-01T00:00:00", "2025-01-01T00:15:00", "2024-12-31T23:45:00"),
    ],
)
def test_months_follow_the_calendar(text: str, moment: str, after: str, before: str) -> None:
    start = datetime.fromisoformat(moment)

    assert Duration.parse(text).after(start).isoformat() == after
    assert Duration.parse(text).before(start).isoformat() == before


def test_a_clock_change_does_not_stretch_a_duration() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    before_the_gap = datetime(2025, 3, 30, 1, 50, tzinfo=berlin)

    later = Duration.parse("15m").after(before_the_gap)

    assert later.isoformat() == "2025-03-30T03:05:00+02:00"
    assert Duration.parse("15m").before(later).isoformat() == before_the_gap.isoformat()


@pytest.mark.parametrize("text", ["P9999Y", "P9000Y", "3000000d"])
def test_a_moment_outside_the_calendar_is_refused(text: str) -> None:
    with pytest.raises(OutOfCalendar, match="lies outside the years 1 to 9999"):
        Duration.parse(text).after(T0)
    with pytest.raises(OutOfCalendar, match=f"`{text}` before 2025-03-31T12:00:00"):
        Duration.parse(text).before(T0)


def test_only_a_duration_without_months_has_a_total() -> None:
    assert Duration.parse("1h30m").total() == timedelta(minutes=90)
    with pytest.raises(NoFixedLength) as caught:
        Duration.parse("P1M").total()

    assert str(caught.value) == "`P1M` has no fixed length, because months and years differ"
    assert caught.value.hint == "write it in days or smaller units, for example `30d`"


@pytest.mark.parametrize(
    ("delta", "text"),
    [
        (timedelta(minutes=15), "15m"),
        (timedelta(minutes=90), "1h30m"),
        (timedelta(days=30), "30d"),
        (timedelta(days=7), "7d"),
        (timedelta(milliseconds=1500), "1s500ms"),
    ],
)
def test_a_delta_is_written_in_the_largest_units(delta: timedelta, text: str) -> None:
    assert format_duration(delta) == text


@pytest.mark.parametrize("delta", [timedelta(), timedelta(seconds=-1)])
def test_a_delta_that_is_not_above_zero_has_no_text(delta: timedelta) -> None:
    with pytest.raises(ValueError, match="above zero"):
        format_duration(delta)


@given(st.timedeltas(min_value=timedelta(microseconds=1), max_value=timedelta(days=3_000_000)))
def test_a_written_delta_reads_back_equal(delta: timedelta) -> None:
    assert Duration.parse(format_duration(delta)).total() == delta


@given(st.text(alphabet="PT0159YMWDHSdhmsuw., -", max_size=12) | st.text(max_size=8))
def test_any_text_is_either_read_or_refused_inside_itself(text: str) -> None:
    outcome = read_or_refused(text)

    if isinstance(outcome, BadText):
        assert 0 <= outcome.position <= len(text)
    else:
        assert outcome.months or outcome.delta > timedelta()


def read_or_refused(text: str) -> Duration | BadText:
    try:
        return Duration.parse(text)
    except BadText as refusal:
        return refusal


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("15m", "15 minutes"),
        ("1h", "1 hour"),
        ("90m", "1 hour and 30 minutes"),
        ("P1Y2M3D", "1 year, 2 months and 3 days"),
        ("500ms", "500 milliseconds"),
    ],
)
def test_a_duration_is_said_in_words(text: str, words: str) -> None:
    assert spell_duration(Duration.parse(text)) == words
