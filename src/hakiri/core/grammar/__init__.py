"""The short texts that every manifest uses: durations, rates, sizes, schedules, dates."""

from __future__ import annotations

from hakiri.core.grammar.dates import parse_date, parse_moment
from hakiri.core.grammar.durations import Duration, NoFixedLength, format_duration, spell_duration
from hakiri.core.grammar.rates import Rate
from hakiri.core.grammar.schedules import Cron, Every, Schedule, describe, next_after, parse_schedule
from hakiri.core.grammar.sizes import Size, format_size
from hakiri.core.grammar.text import BadText, OutOfCalendar

__all__ = [
    "BadText",
    "Cron",
    "Duration",
    "Every",
    "NoFixedLength",
    "OutOfCalendar",
    "Rate",
    "Schedule",
    "Size",
    "describe",
    "format_duration",
    "format_size",
    "next_after",
    "parse_date",
    "parse_moment",
    "parse_schedule",
    "spell_duration",
]
