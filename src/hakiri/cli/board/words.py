"""Numbers, times and predicates as a person reads them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from hakiri.core.grammar import format_size

MINUTE, HOUR, DAY = 60, 3600, 86_400
FEW_SECONDS = 10
FEW_ROWS = 10
# A moment at midnight in UTC is a date to everybody who reads it.
MIDNIGHT = re.compile(r"(?<=\d)[T ]00:00(:00(\.0+)?)?(Z|\+00:00)(?!\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """The few signs that are no letters."""

    done: str
    failed: str
    partial: str
    skipped: str
    changed: str
    bar: str
    half_bar: str
    rest: str
    dots: str


UNICODE = Signs(
    done="✓",
    failed="✗",
    partial="!",
    skipped="–",
    changed="~",
    bar="━",
    half_bar="╸",
    rest="─",
    dots="…",
)
ASCII = Signs(
    done="+",
    failed="x",
    partial="!",
    skipped="-",
    changed="~",
    bar="#",
    half_bar="",
    rest="-",
    dots="...",
)


def signs_for(encoding: str | None) -> Signs:
    """The signs that a stream of this encoding can show; one without an encoding holds any text."""
    return UNICODE if encoding is None or encoding.lower().startswith("utf") else ASCII


def counted(number: int, noun: str) -> str:
    """`1 row`, `1,204 rows`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def seconds_words(seconds: float) -> str:
    """`4.2 s`, `42 s`, `3 min 05 s`, `2 h 05 min`, `3 d 4 h`."""
    if seconds < FEW_SECONDS:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE:02d} s"
    if whole < DAY:
        return f"{whole // HOUR} h {whole % HOUR // MINUTE:02d} min"
    return f"{whole // DAY} d {whole % DAY // HOUR} h"


def elapsed_words(seconds: float) -> str:
    """Time that passed, in whole seconds because it ticks."""
    return _ticking(math.floor(max(seconds, 0)))


def remaining_words(seconds: float) -> str:
    """Time to come, in whole seconds: rounded up, because it is not over before it is."""
    return _ticking(math.ceil(max(seconds, 0)))


def rows_rate(rows_per_second: float) -> str:
    """`850 rows/s`; slow ones with a digit behind the point."""
    is_slow = 0 < rows_per_second < FEW_ROWS
    return f"{rows_per_second:,.{1 if is_slow else 0}f} rows/s"


def bytes_rate(bytes_per_second: float) -> str:
    return f"{format_size(int(bytes_per_second))}/s"


def left_words(seconds: float | None) -> str:
    """When it will be over, if that can be said."""
    return "" if seconds is None else f"{remaining_words(seconds)} left"


def trouble_words(*, failed: int, retries: int) -> str:
    """`1 failed, 2 retries`, or nothing."""
    words = [f"{failed} failed"] if failed else []
    if retries:
        words.append("1 retry" if retries == 1 else f"{retries} retries")
    return ", ".join(words)


def predicate_words(predicate: str) -> str:
    """The predicate on one line, with moments at midnight as dates."""
    return MIDNIGHT.sub("", " ".join(predicate.split()))


def sentence(facts: Iterable[str]) -> str:
    """Those facts that say something, with commas between them."""
    return ", ".join(filter(None, facts))


def _ticking(seconds: int) -> str:
    return f"{seconds} s" if seconds < FEW_SECONDS else seconds_words(seconds)
