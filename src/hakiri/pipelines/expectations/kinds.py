"""Which values a column can be compared with, and those values as columns of Spark."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, time
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from hakiri.core.grammar import BadText, parse_moment

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

    from hakiri.manifest import Bound, ExpectationSpec, Scalar

MOST_DIGITS = 38
LARGEST_LONG = 2**63 - 1


class Kind(StrEnum):
    """What a column holds, as far as it matters for comparing; the words go on after `a column of`."""

    TEXT = "texts"
    FLAG = "true and false"
    WHOLE = "whole numbers"
    FLOAT = "single floats"
    DOUBLE = "floats"
    DECIMAL = "decimals"
    DATE = "dates"
    MOMENT = "moments"
    LOCAL = "times without a zone"
    MAP = "maps"
    OTHER = "other values"

    @property
    def is_number(self) -> bool:
        return self in (Kind.WHOLE, Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL)

    @property
    def is_float(self) -> bool:
        return self in (Kind.FLOAT, Kind.DOUBLE)

    @property
    def is_time(self) -> bool:
        return self in (Kind.DATE, Kind.MOMENT, Kind.LOCAL)


def kind_of(kind: pa.DataType) -> Kind:
    """What a column of this Arrow type holds."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return kind_of(kind.value_type)
    if types.is_timestamp(kind):
        return Kind.LOCAL if kind.tz is None else Kind.MOMENT
    if types.is_nested(kind):
        return Kind.MAP if _holds_a_map(kind) else Kind.OTHER
    checks: dict[Kind, tuple[Callable[[pa.DataType], bool], ...]] = {
        Kind.TEXT: (types.is_string, types.is_large_string, types.is_string_view),
        Kind.FLAG: (types.is_boolean,),
        Kind.WHOLE: (types.is_integer,),
        Kind.FLOAT: (types.is_float32, types.is_float16),
        Kind.DOUBLE: (types.is_float64,),
        Kind.DECIMAL: (types.is_decimal,),
        Kind.DATE: (types.is_date,),
    }
    return next((found for found, ways in checks.items() if any(is_it(kind) for is_it in ways)), Kind.OTHER)


def misfit(expectation: ExpectationSpec, kind: Kind) -> str | None:
    """Why a column of this kind cannot be checked so, if it cannot; it goes on after the column's name."""
    if expectation.check == "unique" and kind is Kind.MAP:
        return "holds maps, which cannot be compared"
    if expectation.range is not None:
        ends = [end for end in (expectation.range.min, expectation.range.max) if end is not None]
        are_numbers = all(isinstance(end, int | float) for end in ends)
        if (are_numbers and not kind.is_number) or (not are_numbers and not kind.is_time):
            wanted = "numbers" if are_numbers else "dates or moments"
            return f"is a column of {kind}, and the range is one of {wanted}"
    return next((why for value in expectation.in_ or () if (why := _misfit_of(value, kind))), None)


def value_column(value: Scalar, kind: Kind) -> Column:
    """A listed value as a literal of the column's kind. The value fits the kind."""
    from pyspark.sql import functions as F

    if kind.is_time and isinstance(value, str):
        return _moment(parse_moment(value), kind)
    if isinstance(value, bool | str):
        return F.lit(value)
    return _number(value, kind)


def is_below(column: Column, bound: Bound, kind: Kind) -> Column:
    """Whether the column's value lies below the bound."""
    if isinstance(bound, int | float):
        return column < _number(math.ceil(bound) if kind is Kind.WHOLE else bound, kind)
    if kind is Kind.DATE and _has_time_of_day(bound.at):
        return column <= _moment(bound.at, kind)  # a date is its midnight, which has passed by then
    return column < _moment(bound.at, kind)


def is_above(column: Column, bound: Bound, kind: Kind) -> Column:
    """Whether the column's value lies above the bound."""
    if isinstance(bound, int | float):
        return column > _number(math.floor(bound) if kind is Kind.WHOLE else bound, kind)
    return column > _moment(bound.at, kind)


def _misfit_of(value: Scalar, kind: Kind) -> str | None:
    if isinstance(value, bool):
        fits = kind is Kind.FLAG
    elif isinstance(value, str):
        if kind.is_time:
            return _misfit_of_time(value, kind)
        fits = kind is Kind.TEXT
    else:
        is_whole = isinstance(value, int) or value.is_integer()
        fits = kind.is_number and (is_whole or kind is not Kind.WHOLE)
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return None if fits else f"is a column of {kind}, and `{shown}` is none of them"


def _misfit_of_time(text: str, kind: Kind) -> str | None:
    try:
        moment = parse_moment(text)
    except BadText as error:
        return f"is a column of {kind}, and {error}"
    if kind is Kind.DATE and _has_time_of_day(moment):
        return f"is a column of {kind}, and `{text}` has a time of day"
    return None


def _holds_a_map(kind: pa.DataType) -> bool:
    from pyarrow import types

    return types.is_map(kind) or any(_holds_a_map(kind.field(n).type) for n in range(kind.num_fields))


def _number(number: float, kind: Kind) -> Column:
    from pyspark.sql import functions as F

    if kind is Kind.WHOLE and -LARGEST_LONG <= number <= LARGEST_LONG:
        return F.lit(int(number))
    if kind is Kind.FLOAT:
        # As the column would hold it: 0.1 as a single float is not 0.1 as a double.
        return F.lit(float(number)).cast("float")
    if kind is Kind.DECIMAL and (size := _decimal_size(number)) is not None:
        return F.lit(format(Decimal(str(number)), "f")).cast(f"decimal({size[0]}, {size[1]})")
    return F.lit(float(number))


def _decimal_size(number: float) -> tuple[int, int] | None:
    """Digits and scale of the decimal that is written like this number; None if Spark has none so long."""
    whole, _, fraction = format(Decimal(str(abs(number))), "f").partition(".")
    digits = len(whole) + len(fraction)
    return (digits, len(fraction)) if digits <= MOST_DIGITS else None


def _moment(at: datetime, kind: Kind) -> Column:
    """The moment as the column would hold it; a day and a time without a zone are those of UTC."""
    from pyspark.sql import functions as F

    in_utc = at.astimezone(UTC)
    if kind is Kind.DATE:
        return F.lit(in_utc.date().isoformat()).cast("date")
    if kind is Kind.LOCAL:
        return F.lit(in_utc.replace(tzinfo=None).isoformat(sep=" ")).cast("timestamp_ntz")
    return F.lit(in_utc.isoformat(sep=" ")).cast("timestamp")


def _has_time_of_day(at: datetime) -> bool:
    return at.astimezone(UTC).time() != time()
