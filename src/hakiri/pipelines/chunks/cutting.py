"""Where the history of a table is cut: values along its cursor column, at equal distances."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import datetime

from hakiri.core.grammar import Duration, OutOfCalendar, format_duration
from hakiri.pipelines.chunks.bounds import DAY_US, EPOCH, FIRST_US, LAST_US, ONE_MICROSECOND, Axis, Grain

# What one chunk should bring: minutes of work, and little to do again after a crash.
ROWS_A_CHUNK = 1_000_000
# The most parts of a range of ids whose rows nobody has counted: there may be far fewer rows than ids.
MOST_UNCOUNTED_PARTS = 16
# The mean of the calendar, in which a year has 365.2425 days.
_MONTH_US = 2_629_746 * 10**6
_ROUND_US = (DAY_US, 3600 * 10**6, 60 * 10**6, 10**6, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stride:
    """Equal steps along an axis, counted from a fixed place and not from where a table happens to begin.

    `length` is a length of time or, on an axis of numbers, a number. A month is a month of the calendar.
    """

    axis: Axis
    length: Duration | int
    anchor: datetime = EPOCH

    def steps(self, low: int, high: int) -> range:
        """The numbers of the steps that are above `low` and below `high`."""
        if isinstance(self.length, int):
            return range(low // self.length + 1, (high - 1) // self.length + 1)
        reach = (LAST_US - FIRST_US) // mean_us(self.length) + 2
        known = range(-reach, reach)
        first = bisect_right(known, low, key=self.place)
        return known[first : bisect_left(known, high, lo=first, key=self.place)]

    def place(self, step: int) -> int:
        """Where a step is; a place outside of the calendar if it is not in there."""
        if isinstance(self.length, int):
            return step * self.length
        if not self.length.months:
            start = (self.anchor - EPOCH) // ONE_MICROSECOND
            return self.axis.place_of_us(start + step * (self.length.delta // ONE_MICROSECOND))
        times = abs(step)
        way = Duration(text="", months=self.length.months * times, delta=self.length.delta * times)
        try:
            return self.axis.place_of_moment(way.after(self.anchor) if step > 0 else way.before(self.anchor))
        except OutOfCalendar:
            return self.axis.place_of_us(LAST_US + DAY_US if step > 0 else FIRST_US - DAY_US)


def mean_us(length: Duration) -> int:
    """The microseconds of a length of time, with months of the mean length."""
    return length.months * _MONTH_US + length.delta // ONE_MICROSECOND


def stride_for_rows(axis: Axis, low: int, high: int, *, parts: int) -> Duration | int:
    """A round length by which the range has about so many parts: whole days, or two digits of ids."""
    exact = -(-(high - low) // parts)
    if axis.grain is Grain.NUMBER:
        unit: int = 10 ** max(len(str(exact)) - 2, 0)
        return max(1, -(-exact // unit) * unit)
    return round_duration(exact * DAY_US if axis.grain is Grain.DAY else exact)


def round_duration(microseconds: int) -> Duration:
    """A length of time that is not shorter, in whole days if it is longer than one, else hours, and so on."""
    unit = next(unit for unit in _ROUND_US if microseconds > unit or unit == 1)
    return Duration.parse(format_duration(max(1, -(-microseconds // unit)) * unit * ONE_MICROSECOND))


def parts_for_rows(axis: Axis, low: int, high: int, *, rows: int | None, partitions: int) -> int:
    """Into how many parts a range is cut so that each has about a million rows."""
    if rows is not None:
        return max(1, -(-rows // (ROWS_A_CHUNK * max(partitions, 1))))
    if axis.grain is not Grain.NUMBER:
        return 1
    return max(1, min(MOST_UNCOUNTED_PARTS, -(-(high - low) // ROWS_A_CHUNK)))
