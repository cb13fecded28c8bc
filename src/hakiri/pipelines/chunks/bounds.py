"""Values of a cursor column as places on a line of whole numbers, and back.

A number is its own place. A moment is its microseconds since 1970: as an instant if it has an offset, by its
wall clock if it has none. A day is its days since 1970.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from hakiri.core.grammar import Duration, OutOfCalendar
from hakiri.pipelines.chunks.errors import LagMisfit, RangeMisfit
from hakiri.sources.contract import Bound

# How far behind its cursor a read begins again: a length of time, or a number of ids.
Lag: TypeAlias = Duration | int

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ONE_MICROSECOND = timedelta(microseconds=1)
DAY_US = 24 * 3600 * 10**6
FIRST_US = (datetime.min.replace(tzinfo=UTC) - EPOCH) // ONE_MICROSECOND
LAST_US = (datetime.max.replace(tzinfo=UTC) - EPOCH) // ONE_MICROSECOND

# Only what is written in full: `20240131` may as well be an id.
_TEXT = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:(?P<separator>[T ])\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?P<offset>Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
_ZERO_OFFSETS = ("Z", "+00:00")


class Grain(StrEnum):
    """What the values of a column are, in the words of messages."""

    NUMBER = "numbers"
    MOMENT = "moments"
    LOCAL_MOMENT = "moments without an offset"
    DAY = "days"


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The line on which the values of one column lie.

    Moments with an offset are written in UTC. The sign between date and time and the sign for UTC are those
    of the source: some databases keep moments as texts, and compare letter by letter.
    """

    grain: Grain
    separator: str = "T"
    suffix: str = ""

    @property
    def is_time(self) -> bool:
        return self.grain is not Grain.NUMBER

    def place(self, bound: Bound) -> int:
        """Where the value lies. Raises RangeMisfit for one of another kind.

        A text without an offset is in UTC among moments. A moment between two days is the later one: days
        from 08:00 on begin with the next, and days until 08:00 end with that one.
        """
        if isinstance(bound, int) and self.grain is Grain.NUMBER:
            return bound
        moment = _moment(bound) if isinstance(bound, str) and self.is_time else None
        if moment is None:
            raise RangeMisfit(str(bound), self.grain.value)
        return self.place_of_moment(moment)

    def place_of_moment(self, moment: datetime) -> int:
        """The first place that is not before a moment, on an axis of time."""
        return self.place_of_us((_in_utc(moment) - EPOCH) // ONE_MICROSECOND)

    def place_of_us(self, microseconds: int) -> int:
        """The first place that is not before so many microseconds after 1970, on an axis of time."""
        return -(-microseconds // DAY_US) if self.grain is Grain.DAY else microseconds

    def last_place_at(self, moment: datetime) -> int:
        """The last place that is not after a moment, on an axis of time."""
        microseconds = (_in_utc(moment) - EPOCH) // ONE_MICROSECOND
        return microseconds // DAY_US if self.grain is Grain.DAY else microseconds

    def moment(self, place: int) -> datetime:
        """The moment at a place of an axis of time, in UTC; the nearest one that the calendar has."""
        microseconds = place * DAY_US if self.grain is Grain.DAY else place
        return EPOCH + min(max(microseconds, FIRST_US), LAST_US) * ONE_MICROSECOND

    def bound(self, place: int) -> Bound:
        """The value at a place, as the source writes it."""
        if self.grain is Grain.NUMBER:
            return place
        moment = self.moment(place)
        if self.grain is Grain.DAY:
            return moment.date().isoformat()
        return moment.replace(tzinfo=None).isoformat(sep=self.separator) + self.suffix

    def before(self, place: int, lag: Lag) -> int:
        """The place that much earlier, never later than asked. Raises LagMisfit for a lag of another kind."""
        if self.grain is Grain.NUMBER and isinstance(lag, int):
            return place - lag
        if not self.is_time or isinstance(lag, int):
            raise LagMisfit(str(lag), self.grain.value)
        try:
            earlier = lag.before(self.moment(place))
        except OutOfCalendar:
            earlier = self.moment(FIRST_US)
        return self.last_place_at(earlier)


def axis_of(bounds: Iterable[Bound | None]) -> Axis | None:
    """The line on which all of these lie; None where there is none, or nothing to tell it by.

    Days lie among moments as their midnights. Moments with and without an offset have no common line, nor
    have texts that are no times: nobody knows what lies between them.
    """
    known = [bound for bound in bounds if bound is not None]
    texts = [bound for bound in known if isinstance(bound, str)]
    if known and all(type(bound) is int for bound in known):
        return Axis(grain=Grain.NUMBER)
    written = [_TEXT.fullmatch(text) for text in texts]
    if not texts or len(texts) < len(known) or None in map(_moment, texts):
        return None
    times = [match for match in written if match is not None and match["separator"] is not None]
    if not times:
        return Axis(grain=Grain.DAY)
    offsets = {match["offset"] for match in times}
    if None in offsets and len(offsets) > 1:
        return None
    last = times[-1]
    if last["offset"] is None:
        return Axis(grain=Grain.LOCAL_MOMENT, separator=last["separator"])
    suffix = last["offset"] if last["offset"] in _ZERO_OFFSETS else "Z"
    return Axis(grain=Grain.MOMENT, separator=last["separator"], suffix=suffix)


MOMENTS = Axis(grain=Grain.MOMENT, suffix="Z")


def lowered(bound: Bound, lag: Lag | None) -> Bound:
    """The value that much earlier; the value itself without a lag. Raises LagMisfit."""
    if lag is None:
        return bound
    axis = axis_of([bound])
    if axis is None:
        raise LagMisfit(str(lag), f"`{bound}`")
    return axis.bound(axis.before(axis.place(bound), lag))


def just_above(bound: Bound) -> Bound | None:
    """The least value that is greater; None for one that is neither a number nor a time."""
    axis = axis_of([bound])
    return None if axis is None else axis.bound(axis.place(bound) + 1)


def _moment(text: str) -> datetime | None:
    if not _TEXT.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # 31 February
        return None


def _in_utc(moment: datetime) -> datetime:
    """With an offset. Brought to that of UTC, the first day of the calendar might be no day of it."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
