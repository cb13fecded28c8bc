from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.core.grammar import (
    BadText,
    Cron,
    Duration,
    Every,
    OutOfCalendar,
    Schedule,
    describe,
    next_after,
    parse_schedule,
)

BERLIN = ZoneInfo("Europe/Berlin")
HINT = "write `every 15m`, or five cron fields like `0 */2 * * *`"
NEITHER = "`every` and a duration, or a line of five cron fields"
FIVE = "a line of the five fields minute, hour, day of month, month, day of week"


def test_every_and_a_duration_is_a_schedule() -> None:
    schedule = parse_schedule("every 15m")

    assert schedule == Every(Duration.parse("15m"))
    assert schedule.text == "every 15m"


def test_five_fields_are_a_cron_schedule() -> None:
    schedule = parse_schedule("0 */2 * * *")

    assert schedule == Cron("0 */2 * * *")
    assert schedule.text == "0 */2 * * *"


@pytest.mark.parametrize("text", ["0 2 * * MON-FRI", "0 0 L * *", "*/5 8-17 1,15 jan-mar *", "0 0 * * 5#2"])
def test_names_lists_ranges_steps_and_last_days_are_cron(text: str) -> None:
    assert parse_schedule(text) == Cron(text)


@pytest.mark.parametrize(
    ("text", "seen", "expected"),
    [
        ("", "unexpected end at position 1", NEITHER),
        ("15m", "unexpected `15m` at position 1", NEITHER),
        ("@daily", "unexpected `@daily` at position 1", NEITHER),
        ("run every day at noon", "unexpected `run` at position 1", NEITHER),
        ("every", "unexpected end at position 6", "a duration like `15m`"),
        ("every  15x", "unexpected `x` at position 10", "one of s, m, h, d, w, ms, us"),
        ("every 15m now", "unexpected `now` at position 11", "the end"),
        ("0 2 * *", "unexpected end at position 8", FIVE),
        ("0 2 * * * *", "unexpected `*` at position 11", FIVE),
        (
            "60 * * * *",
            "unexpected `60` at position 1",
            "for the minute a value of 0 to 59, a range or a step",
        ),
        (
            "0 1,2,99 * * *",
            "unexpected `99` at position 7",
            "for the hour a value of 0 to 23, a range or a step",
        ),
        (
            "0 0 0 * *",
            "unexpected `0` at position 5",
            "for the day of month a value of 1 to 31 or L, a range or a step",
        ),
        (
            "0 0 * FOO *",
            "unexpected `FOO` at position 7",
            "for the month a value of 1 to 12 or JAN to DEC, a range or a step",
        ),
        (
            "0 0 * * 8",
            "unexpected `8` at position 9",
            "for the day of week a value of 0 to 7 or SUN to SAT, a range or a step",
        ),
        (
            "1, * * * *",
            "unexpected ` ` at position 3",
            "for the minute a value of 0 to 59, a range or a step",
        ),
        (
            "0 0 31 2 *",
            "unexpected `31` at position 5",
            "a day of month that comes together with the other fields",
        ),
        (
            "0 0 */31 * MON#2",
            "unexpected `*/31` at position 5",
            "a day of month that comes together with the other fields",
        ),
    ],
)
def test_a_bad_schedule_is_refused_at_its_position(text: str, seen: str, expected: str) -> None:
    with pytest.raises(BadText) as caught:
        parse_schedule(text)

    whole = f"`{text}`" if text else "an empty text"
    assert str(caught.value) == f"{whole} is not a schedule: {seen} ({expected} was expected)"
    assert caught.value.hint == HINT


def test_a_number_of_thousands_of_digits_is_refused_like_any_other() -> None:
    with pytest.raises(BadText):
        parse_schedule("9" * 5000 + " * * * *")


def test_a_bad_cron_cannot_be_made() -> None:
    with pytest.raises(BadText):
        Cron("tomorrow")


def test_schedules_survive_pickling() -> None:
    for schedule in (parse_schedule("every 15m"), parse_schedule("0 2 * * *")):
        assert pickle.loads(pickle.dumps(schedule)) == schedule


def test_every_comes_again_after_its_duration() -> None:
    last_start = datetime(2025, 1, 31, 12, 7, tzinfo=UTC)

    assert next_after(parse_schedule("every 15m"), last_start) == last_start + timedelta(minutes=15)
    assert next_after(parse_schedule("every P1M"), last_start) == datetime(2025, 2, 28, 12, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "moment", "expected"),
    [
        ("0 */2 * * *", "2025-01-01T00:00:00+00:00", "2025-01-01T02:00:00+00:00"),
        ("0 2 * * *", "2025-12-31T02:00:00+00:00", "2026-01-01T02:00:00+00:00"),
        ("0 0 31 * *", "2025-01-31T00:00:00+00:00", "2025-03-31T00:00:00+00:00"),
        ("0 0 L * *", "2024-02-01T00:00:00+00:00", "2024-02-29T00:00:00+00:00"),
        ("0 0 29 2 *", "2025-01-01T00:00:00+00:00", "2028-02-29T00:00:00+00:00"),
        ("*/5 * * * *", "2025-01-01T00:00:59.999999+00:00", "2025-01-01T00:05:00+00:00"),
    ],
)
def test_cron_comes_at_its_next_time(expression: str, moment: str, expected: str) -> None:
    assert next_after(Cron(expression), datetime.fromisoformat(moment)).isoformat() == expected


def test_a_time_that_the_clock_skips_fires_right_after_the_gap() -> None:
    before = datetime(2025, 3, 29, 12, 0, tzinfo=BERLIN)

    first = next_after(Cron("30 2 * * *"), before)
    second = next_after(Cron("30 2 * * *"), first)

    assert first.isoformat() == "2025-03-30T03:00:00+02:00"
    assert second.isoformat() == "2025-03-31T02:30:00+02:00"


def test_a_time_that_comes_twice_fires_once() -> None:
    before = datetime(2025, 10, 26, 0, 0, tzinfo=BERLIN)

    first = next_after(Cron("30 2 * * *"), before)
    second = next_after(Cron("30 2 * * *"), first)

    assert first.isoformat() == "2025-10-26T02:30:00+02:00"
    assert second.isoformat() == "2025-10-27T02:30:00+01:00"


def test_a_line_with_a_star_follows_the_wall_clock_through_both_passes_and_over_the_gap() -> None:
    repeated = datetime(2025, 10, 26, 2, 30, tzinfo=BERLIN)
    before_the_gap = datetime(2025, 3, 29, 2, 30, tzinfo=BERLIN)

    assert next_after(Cron("*/30 * * * *"), repeated).isoformat() == "2025-10-26T02:00:00+01:00"
    assert next_after(Cron("*/30 2 * * *"), before_the_gap).isoformat() == "2025-03-31T02:00:00+02:00"


def test_in_the_second_pass_of_an_hour_the_first_pass_is_not_next() -> None:
    in_the_second_pass = datetime(2025, 10, 26, 2, 10, tzinfo=BERLIN, fold=1)

    following = next_after(Cron("30 2 * * *"), in_the_second_pass)

    assert following.isoformat() == "2025-10-27T02:30:00+01:00"


def test_a_moment_without_a_zone_is_not_taken() -> None:
    with pytest.raises(ValueError, match="time zone"):
        next_after(Cron("0 2 * * *"), datetime.fromisoformat("2025-01-01T00:00:00"))


def test_after_the_last_year_nothing_fires() -> None:
    with pytest.raises(OutOfCalendar, match="does not fire again after 9999-12-31T12:00:00"):
        next_after(Cron("0 2 * * *"), datetime(9999, 12, 31, 12, tzinfo=UTC))


MINUTES = st.sampled_from(["*", "*/7", "0", "13", "5-20", "1,59"])
HOURS = st.sampled_from(["*", "*/5", "2", "0-3", "1,2,23"])
ZONES = st.sampled_from([UTC, BERLIN, ZoneInfo("America/New_York"), ZoneInfo("Australia/Lord_Howe")])


def moments(zones: st.SearchStrategy[tzinfo]) -> st.SearchStrategy[datetime]:
    first, last = datetime.fromisoformat("2024-01-01"), datetime.fromisoformat("2026-01-01")
    return st.datetimes(first, last, timezones=zones)


@given(MINUTES, HOURS, moments(ZONES))
def test_the_next_time_is_always_later(minute: str, hour: str, moment: datetime) -> None:
    following = next_after(Cron(f"{minute} {hour} * * *"), moment)

    assert following.astimezone(UTC) > moment.astimezone(UTC)
    assert following.astimezone(UTC) - moment.astimezone(UTC) <= timedelta(hours=50)


@given(MINUTES, HOURS, moments(st.just(UTC)))
def test_the_next_time_is_the_first_minute_that_fits(minute: str, hour: str, moment: datetime) -> None:
    minutes, hours = fitting(minute, range(60)), fitting(hour, range(24))
    candidate = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
    while candidate.minute not in minutes or candidate.hour not in hours:
        candidate += timedelta(minutes=1)

    assert next_after(Cron(f"{minute} {hour} * * *"), moment) == candidate


def fitting(written: str, values: range) -> set[int]:
    if written.startswith("*"):
        return set(values[:: int(written[2:] or 1)])
    first, _, last = written.partition("-")
    return set(range(int(first), int(last) + 1)) if last else {int(each) for each in written.split(",")}


@given(st.text(alphabet="0159*/,-LWMON# every15m", max_size=16) | st.text(max_size=8))
def test_any_text_is_read_as_a_schedule_or_refused_inside_itself(text: str) -> None:
    outcome = read_or_refused(text)

    if isinstance(outcome, BadText):
        assert 0 <= outcome.position <= len(text)
    else:
        assert describe(outcome)


def read_or_refused(text: str) -> Schedule | BadText:
    try:
        return parse_schedule(text)
    except BadText as refusal:
        return refusal


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("every 15m", "every 15 minutes"),
        ("every 1h", "every hour"),
        ("every 90m", "every 1 hour and 30 minutes"),
        ("every P1M", "every month"),
        ("0 2 * * *", "At 02:00 every day"),
        ("*/5 * * * MON-FRI", "Every fifth minute of every hour on Monday through Friday"),
    ],
)
def test_a_schedule_is_said_in_words(text: str, words: str) -> None:
    assert describe(parse_schedule(text)) == words
