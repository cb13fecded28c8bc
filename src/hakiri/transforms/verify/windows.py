"""Windows of time that overlap: Spark plans each of them, and a row is in all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hakiri.transforms.verify.limits import MOST_OVERLAPS
from hakiri.transforms.verify.literals import literal_text
from hakiri.transforms.verify.reasons import Reason

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Expression

_UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_PART = re.compile(r"(\d{1,12})\s+([a-z]+?)s?(?:\s+|$)")


def window_problem(arguments: Sequence[Expression]) -> Reason | None:
    """Why these windows may not be; None if they may."""
    if len(arguments) <= 1 or 1 <= overlaps(arguments) <= MOST_OVERLAPS:
        return None
    return Reason(
        f"needs literal durations of which at most {MOST_OVERLAPS} overlap",
        "write durations such as `10 minutes`, with a longer slide",
    )


def overlaps(arguments: Sequence[Expression]) -> int:
    """How many windows one row is in; 0 where the plan does not tell."""
    texts = [literal_text(argument) for argument in arguments[1:]]
    durations = [microseconds(text) if text is not None else None for text in texts]
    if not durations or not durations[0] or None in durations:
        return 0
    slide = durations[1] if len(durations) > 1 else durations[0]
    return -(-durations[0] // slide) if slide else 0


def microseconds(text: str) -> int | None:
    """A duration such as `1 hour 30 minutes`; None for what is none."""
    rest = text.strip().lower().removeprefix("interval ").strip()
    total, at = 0, 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None or part[2] not in _UNITS:
            return None
        total += int(part[1]) * _UNITS[part[2]]
        at = part.end()
    return total if rest else None
