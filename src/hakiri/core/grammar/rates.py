"""How often something may happen: `60/min`, `10/s`, `100/15m`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from hakiri.core.grammar.durations import Duration
from hakiri.core.grammar.text import BadText, Reader

HINT = "write a count and a time, like `60/min`, `10/s`, `5000/h` or `100/15m`"
UNIT_WAS_EXPECTED = "one of s, min, h, d, or a duration like `15m`"
MOST_DIGITS = 12
UNITS = {
    **dict.fromkeys(("s", "sec", "second"), timedelta(seconds=1)),
    **dict.fromkeys(("m", "min", "minute"), timedelta(minutes=1)),
    **dict.fromkeys(("h", "hour"), timedelta(hours=1)),
    **dict.fromkeys(("d", "day"), timedelta(days=1)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """At most `count` in every `per`. Equal when both are: `60/min` is `60/m`, but not `1/s`."""

    text: str = field(compare=False)
    count: int
    per: timedelta

    @classmethod
    def parse(cls, text: str) -> Rate:
        """Read a count, a slash, and a unit or a duration; raises BadText with the position."""
        reader = Reader("rate", text, hint=HINT)
        count = _read_count(reader)
        if not reader.take_character("/"):
            raise reader.refusal("a `/`")
        return cls(text=text, count=count, per=_read_period(reader))

    def __str__(self) -> str:
        return self.text

    @property
    def per_second(self) -> float:
        return self.count / self.per.total_seconds()


def _read_count(reader: Reader) -> int:
    digits = reader.take_digits()
    if not digits:
        raise reader.refusal("a whole number")
    if len(digits) > MOST_DIGITS:
        raise reader.refusal(f"a number of at most {MOST_DIGITS} digits", at=0)
    if int(digits) == 0:
        raise reader.refusal("a number above zero", at=0)
    return int(digits)


def _read_period(reader: Reader) -> timedelta:
    start = reader.position
    rest = reader.text[start:]
    if rest[:1].isdecimal() or rest[:1] == "P":
        try:
            duration = Duration.parse(rest)
        except BadText as error:
            raise error.inside("rate", reader.text, offset=start, hint=HINT) from None
        if not duration.months:
            return duration.delta
        reader.position = len(reader.text)
        raise reader.refusal("a duration without months", at=start)
    unit = reader.take_letters()
    if not unit:
        raise reader.refusal(UNIT_WAS_EXPECTED)
    if unit not in UNITS:
        raise reader.refusal(UNIT_WAS_EXPECTED, at=start)
    if not reader.is_at_end:
        raise reader.refusal("the end")
    return UNITS[unit]
