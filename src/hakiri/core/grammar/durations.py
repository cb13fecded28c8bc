"""Lengths of time: `15m`, `1h30m`, and those of ISO 8601: `P1D`, `PT15M`, `P1M`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hakiri.core.errors import ExitCode, HakiriError
from hakiri.core.grammar.text import OutOfCalendar, Reader

HINT = "write a length of time like `15m`, `6h`, `30d`, `1h30m` or `P1D`"
ONE_MICROSECOND = timedelta(microseconds=1)
MICROSECONDS_OF_UNIT = {
    "w": 7 * 24 * 3600 * 10**6,
    "d": 24 * 3600 * 10**6,
    "h": 3600 * 10**6,
    "m": 60 * 10**6,
    "s": 10**6,
    "ms": 10**3,
    "us": 1,
}
UNITS_LARGEST_FIRST = tuple(MICROSECONDS_OF_UNIT)
NAME_OF_UNIT = {
    "d": "day",
    "h": "hour",
    "m": "minute",
    "s": "second",
    "ms": "millisecond",
    "us": "microsecond",
}
# The letters of ISO 8601 in their order, each with the months and the microseconds it stands for.
ISO_DATE = {
    "Y": (12, 0),
    "M": (1, 0),
    "W": (0, MICROSECONDS_OF_UNIT["w"]),
    "D": (0, MICROSECONDS_OF_UNIT["d"]),
}
ISO_TIME = {
    "H": (0, MICROSECONDS_OF_UNIT["h"]),
    "M": (0, MICROSECONDS_OF_UNIT["m"]),
    "S": (0, MICROSECONDS_OF_UNIT["s"]),
}
UNIT_WAS_EXPECTED = "one of s, m, h, d, w, ms, us"
# No calendar that Python knows is longer than this, so nothing longer can be meant.
LONGEST_YEARS = 9999
LONGEST_MICROSECONDS = LONGEST_YEARS * 366 * MICROSECONDS_OF_UNIT["d"]
TOO_LONG = f"a length of at most {LONGEST_YEARS} years"
MOST_DIGITS = 18
FRACTION_DIGITS = 6


class NoFixedLength(HakiriError):
    """A duration with months was asked how long it is."""

    code = "grammar.no_fixed_length"
    exit_code = ExitCode.USAGE

    def __init__(self, duration: str) -> None:
        self.duration = duration
        super().__init__(
            f"`{duration}` has no fixed length, because months and years differ",
            hint="write it in days or smaller units, for example `30d`",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """A length of time above zero. Equal when it means the same: `60m` is `1h`, `P1M` is not `30d`.

    A day is 24 hours and a week 168; only months and years follow the calendar.
    """

    text: str = field(compare=False)
    months: int
    delta: timedelta

    @classmethod
    def parse(cls, text: str) -> Duration:
        """Read `15m`, `1h30m` or an ISO 8601 duration; raises BadText with the position."""
        reader = Reader("duration", text, hint=HINT)
        months, microseconds = _read_iso(reader) if reader.take_character("P") else _read_units(reader)
        if not months and not microseconds:
            raise reader.refusal("a length above zero", at=0)
        return cls(text=text, months=months, delta=microseconds * ONE_MICROSECOND)

    def __str__(self) -> str:
        return self.text

    def after(self, moment: datetime) -> datetime:
        """The moment this much later: first the months on the calendar, then the rest as elapsed time.

        A day that the month lacks becomes its last day. Clock changes do not stretch or shrink the rest.
        """
        return self._moved(moment, 1)

    def before(self, moment: datetime) -> datetime:
        """The moment this much earlier, by the same rules as `after`."""
        return self._moved(moment, -1)

    def total(self) -> timedelta:
        """How long it lasts; raises NoFixedLength if it has months."""
        if self.months:
            raise NoFixedLength(self.text)
        return self.delta

    def _moved(self, moment: datetime, sign: int) -> datetime:
        try:
            shifted = _months_later(moment, sign * self.months)
            if moment.tzinfo is None:
                return shifted + sign * self.delta
            return (shifted.astimezone(UTC) + sign * self.delta).astimezone(moment.tzinfo)
        except (OverflowError, ValueError) as error:
            word = "after" if sign > 0 else "before"
            raise OutOfCalendar(
                f"`{self.text}` {word} {moment.isoformat()} lies outside the years 1 to 9999",
                hint="use a shorter duration",
            ) from error


def format_duration(delta: timedelta) -> str:
    """The delta in the largest units that fit, `1h30m`; it parses back to an equal duration.

    Weeks are not used, because `30d` reads better than `4w2d`. The delta must be above zero.
    """
    parts = _split(delta, UNITS_LARGEST_FIRST[1:])
    if not parts:
        raise ValueError(f"a duration is above zero, not {delta!r}")
    return "".join(f"{number}{unit}" for unit, number in parts)


def spell_duration(duration: Duration) -> str:
    """The duration in words: `15 minutes`, `1 hour and 30 minutes`, `2 months`."""
    years, months = divmod(duration.months, 12)
    counted = [("year", years), ("month", months)] if duration.months else []
    counted += [(NAME_OF_UNIT[unit], number) for unit, number in _split(duration.delta, tuple(NAME_OF_UNIT))]
    words = [f"{number} {name}" if number == 1 else f"{number} {name}s" for name, number in counted if number]
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _split(delta: timedelta, units: tuple[str, ...]) -> list[tuple[str, int]]:
    rest = delta // ONE_MICROSECOND
    parts = []
    for unit in units:
        number, rest = divmod(rest, MICROSECONDS_OF_UNIT[unit]) if rest > 0 else (0, rest)
        if number:
            parts.append((unit, number))
    return parts


def _months_later(moment: datetime, months: int) -> datetime:
    from calendar import monthrange  # it pulls in locale, and most commands move no months

    if not months:
        return moment
    year, month_index = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    if not 1 <= year <= LONGEST_YEARS:
        raise ValueError(year)
    last_day = monthrange(year, month_index + 1)[1]
    return moment.replace(year=year, month=month_index + 1, day=min(moment.day, last_day))


def _read_units(reader: Reader) -> tuple[int, int]:
    microseconds = 0
    units_left = UNITS_LARGEST_FIRST
    while True:
        number = _read_number(reader, f"a number and {UNIT_WAS_EXPECTED}")
        unit_start = reader.position
        unit = reader.take_letters()
        if not unit:
            raise reader.refusal(UNIT_WAS_EXPECTED)
        if unit not in units_left:
            is_known = unit in UNITS_LARGEST_FIRST
            expected = "a smaller unit than the one before it" if is_known else UNIT_WAS_EXPECTED
            raise reader.refusal(expected, at=unit_start)
        units_left = units_left[units_left.index(unit) + 1 :]
        microseconds += number * MICROSECONDS_OF_UNIT[unit]
        if microseconds > LONGEST_MICROSECONDS:
            raise reader.refusal(TOO_LONG, at=0)
        if reader.is_at_end:
            return 0, microseconds


def _read_iso(reader: Reader) -> tuple[int, int]:
    """Everything after the `P`: years, months, weeks and days, then `T`, hours, minutes and seconds."""
    months = microseconds = 0
    part, letters_left = ISO_DATE, tuple(ISO_DATE)
    while True:
        if part is ISO_DATE and reader.take_character("T"):
            part, letters_left = ISO_TIME, tuple(ISO_TIME)
        if not letters_left:
            raise reader.refusal("`T` or the end" if part is ISO_DATE else "the end")
        number_start = reader.position
        number = _read_number(reader, f"a number and one of {', '.join(letters_left)}")
        fraction = _read_fraction(reader) if part is ISO_TIME else None
        letter = reader.next_character
        if letter not in letters_left:
            raise reader.refusal(f"one of {', '.join(letters_left)}")
        if fraction is not None and letter != "S":
            raise reader.refusal("a whole number of hours or minutes", at=number_start)
        reader.take_character(letter)
        letters_left = letters_left[letters_left.index(letter) + 1 :]
        months_each, microseconds_each = part[letter]
        months += number * months_each
        microseconds += number * microseconds_each + (fraction or 0)
        if months > LONGEST_YEARS * 12 or microseconds > LONGEST_MICROSECONDS:
            raise reader.refusal(TOO_LONG, at=0)
        if reader.is_at_end:
            return months, microseconds


def _read_number(reader: Reader, expected: str) -> int:
    start = reader.position
    digits = reader.take_digits()
    if not digits:
        raise reader.refusal(expected)
    if len(digits) > MOST_DIGITS:
        raise reader.refusal(TOO_LONG, at=start)
    return int(digits)


def _read_fraction(reader: Reader) -> int | None:
    """Microseconds after a decimal sign, or None if there is none."""
    if not reader.take_character(".,"):
        return None
    digits = reader.take_digits(at_most=FRACTION_DIGITS)
    if not digits:
        raise reader.refusal("a digit")
    return int(digits.ljust(FRACTION_DIGITS, "0"))
