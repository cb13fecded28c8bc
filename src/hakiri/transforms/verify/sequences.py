"""How long the list of a `sequence` can become.

Between numbers it must be known from the plan: literals, or columns held between literals. Between dates and
times a row may decide, as long as the step is a day or more: the calendar then ends before the memory does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hakiri.transforms.verify.limits import MOST_ELEMENTS
from hakiri.transforms.verify.literals import (
    arguments_of,
    bounds,
    function_of,
    literal_integer,
    literal_number,
    literal_of,
)
from hakiri.transforms.verify.reasons import Reason
from hakiri.transforms.verify.words import words

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Expression

_MICROSECONDS_A_DAY = 86_400_000_000
_LITERAL_TIMES = ("date", "timestamp", "timestamp_ntz")
_GIVES_TIMES = words("""
    add_months date date_add date_from_unix_date date_sub date_trunc dateadd from_utc_timestamp last_day
    make_date make_timestamp make_timestamp_ltz make_timestamp_ntz next_day timestamp timestamp_micros
    timestamp_millis timestamp_seconds to_date to_timestamp to_timestamp_ltz to_timestamp_ntz
    to_utc_timestamp trunc try_to_date try_to_timestamp
    """)
_TIME_TYPES = frozenset({"date", "timestamp", "timestamp_ntz", "timestamp_ltz"})
# Which argument counts what, from years down to days.
_WHOLE_DAYS = {"make_interval": 4, "make_dt_interval": 1, "make_ym_interval": 2}

_HINT = (
    "give literal ends, limit columns with `F.least` and `F.greatest` and give a literal step, "
    "or step through dates by a day or more"
)


def sequence_problem(arguments: Sequence[Expression]) -> Reason | None:
    """Why the list may be too long; None if it cannot be."""
    if len(arguments) not in (2, 3):
        return None
    most = sequence_length(arguments)
    if most <= MOST_ELEMENTS:
        return None
    size = "as many elements as a row says" if math.isinf(most) else f"{most:.0f} elements"
    return Reason(f"makes a list of {size}, and at most {MOST_ELEMENTS} may be asked for", _HINT)


def sequence_length(arguments: Sequence[Expression]) -> float:
    """The most elements that the plan allows; 1 where only the calendar ends the list."""
    start, stop, *steps = arguments
    step = steps[0] if steps else None
    if step is not None and _is_days(step):
        return 1
    if step is None and (_is_time(start) or _is_time(stop)):
        return 1  # Spark's own step between dates and times is a day
    return _numbers(start, stop, step)


def _numbers(start: Expression, stop: Expression, step: Expression | None) -> float:
    low_start, high_start = bounds(start, by_data=True)
    low_stop, high_stop = bounds(stop, by_data=True)
    if step is None:
        return max(high_stop - low_start, high_start - low_stop) + 1
    width = literal_integer(step)
    if not width:
        return math.inf
    # Spark fails on a step that leads away from the end.
    distance = high_stop - low_start if width > 0 else high_start - low_stop
    return max(distance, 0) // abs(width) + 1 if math.isfinite(distance) else math.inf


def _is_time(expression: Expression) -> bool:
    if expression.WhichOneof("expr_type") == "cast":
        cast = expression.cast
        if cast.WhichOneof("cast_to_type") == "type_str":
            return str(cast.type_str).strip().lower() in _TIME_TYPES
        return cast.type.WhichOneof("kind") in _TIME_TYPES
    literal = literal_of(expression)
    if literal is not None:
        return literal.WhichOneof("literal_type") in _LITERAL_TIMES
    return function_of(expression) in _GIVES_TIMES


def _is_days(step: Expression) -> bool:
    """Whether a step is an interval of a day or more, forwards or backwards."""
    literal = literal_of(step)
    if literal is not None:
        kind = literal.WhichOneof("literal_type")
        if kind == "calendar_interval":
            interval = literal.calendar_interval
            return _are_days([interval.months, interval.days, interval.microseconds // _MICROSECONDS_A_DAY])
        if kind == "day_time_interval":
            return bool(abs(literal.day_time_interval) >= _MICROSECONDS_A_DAY)
        return kind == "year_month_interval" and bool(literal.year_month_interval)
    counted = _WHOLE_DAYS.get(function_of(step) or "")
    if counted is None:
        return False
    numbers = [literal_number(argument) for argument in arguments_of(step)]
    return None not in numbers and _are_days([int(number or 0) for number in numbers[:counted]])


def _are_days(numbers: Sequence[int]) -> bool:
    """Whether the parts of an interval that count days and more say something, all in one direction."""
    return any(numbers) and (min(numbers) >= 0 or max(numbers) <= 0)
