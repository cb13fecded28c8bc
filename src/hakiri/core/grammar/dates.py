"""Dates and moments in ISO 8601: `2010-01-01`, `2010-01-01T06:30:00Z`."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

from hakiri.core.grammar.text import Reader

DATE_HINT = "write a date like `2010-01-01`"
MOMENT_HINT = "write a date like `2010-01-01` or a moment like `2010-01-01T06:30:00Z`"
FRACTION_DIGITS = 6


def parse_date(text: str) -> date:
    """Read `YYYY-MM-DD`; raises BadText with the position."""
    reader = Reader("date", text, hint=DATE_HINT)
    day = _read_date(reader)
    if not reader.is_at_end:
        raise reader.refusal("the end")
    return day


def parse_moment(text: str) -> datetime:
    """Read a date, or a date and a time, as an aware moment; raises BadText with the position.

    A date alone is its midnight, and a time without an offset is in UTC, so that the same manifest
    means the same on every machine.
    """
    reader = Reader("moment", text, hint=MOMENT_HINT)
    day = _read_date(reader)
    if reader.is_at_end:
        return datetime(day.year, day.month, day.day, tzinfo=UTC)
    if not reader.take_character("T "):
        raise reader.refusal("`T` and a time, or the end")
    hour = _read_two_digits(reader, "an hour", 0, 23)
    _step_over(reader, ":")
    minute = _read_two_digits(reader, "a minute", 0, 59)
    second = _read_two_digits(reader, "a second", 0, 59) if reader.take_character(":") else 0
    microsecond = _read_fraction(reader) if reader.take_character(".") else 0
    zone = _read_offset(reader)
    if not reader.is_at_end:
        raise reader.refusal("the end")
    return datetime(day.year, day.month, day.day, hour, minute, second, microsecond, tzinfo=zone)


def _read_date(reader: Reader) -> date:
    from calendar import monthrange  # it pulls in locale, and most commands read no dates

    year = int(_read_digits(reader, 4, "a year of four digits"))
    if year == 0:
        raise reader.refusal("a year from 0001 to 9999", at=0)
    _step_over(reader, "-")
    month = _read_two_digits(reader, "a month", 1, 12)
    _step_over(reader, "-")
    return date(year, month, _read_two_digits(reader, "a day", 1, monthrange(year, month)[1]))


def _read_offset(reader: Reader) -> timezone:
    if reader.is_at_end or reader.take_character("Z"):
        return UTC
    sign = -1 if reader.next_character == "-" else 1
    if not reader.take_character("+-"):
        raise reader.refusal("`Z`, an offset like `+02:00`, or the end")
    hours = _read_two_digits(reader, "an hour", 0, 23)
    _step_over(reader, ":")
    minutes = _read_two_digits(reader, "a minute", 0, 59)
    return timezone(sign * timedelta(hours=hours, minutes=minutes))


def _read_fraction(reader: Reader) -> int:
    digits = reader.take_digits(at_most=FRACTION_DIGITS)
    if not digits:
        raise reader.refusal("a digit")
    return int(digits.ljust(FRACTION_DIGITS, "0"))


def _read_two_digits(reader: Reader, what: str, lowest: int, highest: int) -> int:
    start = reader.position
    expected = f"{what} from {lowest:02d} to {highest:02d}"
    number = int(_read_digits(reader, 2, expected))
    if not lowest <= number <= highest:
        raise reader.refusal(expected, at=start)
    return number


def _read_digits(reader: Reader, count: int, expected: str) -> str:
    digits = reader.take_digits(at_most=count)
    if len(digits) < count:
        raise reader.refusal(expected)
    return digits


def _step_over(reader: Reader, character: str) -> None:
    if not reader.take_character(character):
        raise reader.refusal(f"a `{character}`")
