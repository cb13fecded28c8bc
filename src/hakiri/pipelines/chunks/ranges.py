"""Ranges of a column's values: as an operator gives them, and as stretches of its axis."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import NamedTuple

from hakiri.core.grammar import parse_date, parse_moment
from hakiri.pipelines.chunks.bounds import MOMENTS, Axis
from hakiri.pipelines.chunks.errors import EmptyRange
from hakiri.sources.contract import Bound

# Places that no value has, for ends that are open.
START_OF_LINE, END_OF_LINE = -(1 << 200), 1 << 200

_NUMBER = re.compile(r"-?\d{1,40}", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class Stretch(NamedTuple):
    """The places from `low` on and below `high`."""

    low: int
    high: int

    def meets(self, other: Stretch) -> bool:
        return max(self.low, other.low) < min(self.high, other.high)

    def within(self, other: Stretch) -> Stretch:
        """What both have in common; empty if it is nothing."""
        low = max(self.low, other.low)
        return Stretch(low, max(low, min(self.high, other.high)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRange:
    """The values from `since` on and below `until`; an end that is None is open."""

    since: Bound | None = None
    until: Bound | None = None

    @classmethod
    def parse(cls, since: str, until: str) -> ValueRange:
        """What `--from` and `--to` mean: numbers, days, or moments, which are in UTC without an offset.

        A day or a number at the end belongs to the range; a moment is the first that does not. Raises BadText
        and EmptyRange.
        """
        first = int(since) if _NUMBER.fullmatch(since) else _moment_text(since)
        end = _end(until)
        if _is_empty(first, end):
            raise EmptyRange(since, until)
        return cls(since=first, until=end)

    def on(self, axis: Axis) -> Stretch:
        """The range as a stretch of an axis. Raises RangeMisfit if it is of another kind."""
        return Stretch(
            START_OF_LINE if self.since is None else axis.place(self.since),
            END_OF_LINE if self.until is None else axis.place(self.until),
        )


def minus(stretches: Iterable[Stretch], taken: Iterable[Stretch]) -> list[Stretch]:
    """The places of the stretches that are not taken, each once and in order."""
    left: list[Stretch] = []
    blocked = sorted(taken)
    reached = START_OF_LINE
    for stretch in sorted(stretches):
        low = max(stretch.low, reached)
        for block in blocked:
            if low < block.low < stretch.high:
                left.append(Stretch(low, block.low))
            if block.low < stretch.high and block.high > low:
                low = max(low, block.high)
        if low < stretch.high:
            left.append(Stretch(low, stretch.high))
        reached = max(reached, stretch.high)
    return _joined(left)


def _joined(stretches: list[Stretch]) -> list[Stretch]:
    """Neighbours that touch as one."""
    joined: list[Stretch] = []
    for stretch in stretches:
        if joined and joined[-1].high == stretch.low:
            joined[-1] = Stretch(joined[-1].low, stretch.high)
        else:
            joined.append(stretch)
    return joined


def _moment_text(text: str) -> str:
    return parse_moment(text).astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"


def _end(until: str) -> Bound | None:
    if _NUMBER.fullmatch(until):
        return int(until) + 1
    if not _DAY.fullmatch(until):
        return _moment_text(until)
    try:
        return (parse_date(until) + timedelta(days=1)).isoformat()
    except OverflowError:  # the last day of the calendar
        return None


def _is_empty(first: Bound, end: Bound | None) -> bool:
    """Ends of two kinds are left to the column: it tells which of them does not fit."""
    if isinstance(first, int) and isinstance(end, int):
        return first >= end
    if isinstance(first, str) and isinstance(end, str):
        return MOMENTS.place(first) >= MOMENTS.place(end)
    return False
