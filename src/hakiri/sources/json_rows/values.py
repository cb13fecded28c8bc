"""Whether one JSON value fits a column without children, and what it is there."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import pyarrow as pa

from hakiri.sources.json_rows.texts import json_text
from hakiri.sources.json_rows.types import is_moment

MISFIT: Final = object()
# What a value that is not null is in the column, or MISFIT.
Rule: TypeAlias = Callable[[Any], Any]

DECIMAL_TEXT = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?"
_DECIMAL = re.compile(DECIMAL_TEXT)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ](?P<time>[0-9]{2}(?::[0-9]{2}(?::[0-9]{2})?)?)"
    r"(?:(?<=:[0-9]{2}:[0-9]{2})\.(?P<fraction>[0-9]+))?"
    r"(?P<offset>[Zz]|[+-][0-9]{2}(?::?[0-5][0-9])?)?)?"
)
_MICROSECOND = timedelta(microseconds=1)
_DIGITS_OF_MICROSECOND = 6
_HOURS_OF_DAY = 24
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - all arithmetic is in UTC
FIRST_MICROSECOND = (datetime.min - EPOCH) // _MICROSECOND  # noqa: DTZ901
LAST_MICROSECOND = (datetime.max - EPOCH) // _MICROSECOND  # noqa: DTZ901


def has_rule(kind: pa.DataType) -> bool:
    """Whether a type of column without children is one of ours."""
    return kind in _RULES or is_moment(kind) or _is_plain_decimal(kind)


def rule_for(kind: pa.DataType) -> Rule:
    """What becomes of a value in a column of a type that has a rule."""
    if _is_plain_decimal(kind):
        return partial(_decimal, precision=kind.precision, scale=kind.scale)
    return _moment if is_moment(kind) else _RULES[kind]


def _is_plain_decimal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal128(kind) and 0 <= kind.scale <= kind.precision)


def _whole(value: Any, *, bits: int) -> Any:
    limit = 1 << (bits - 1)
    return value if type(value) is int and -limit <= value < limit else MISFIT


def _double(value: Any) -> Any:
    if type(value) is float:
        return value
    if type(value) is int or (type(value) is Decimal and value.as_tuple().exponent == 0):
        return _equal_double(value)
    if type(value) is Decimal:
        nearest = float(value)
        return MISFIT if math.isinf(nearest) else nearest
    return MISFIT


def _equal_double(number: int | Decimal) -> Any:
    try:
        nearest = float(number)
    except OverflowError:
        return MISFIT
    return nearest if nearest == number else MISFIT


def _flag(value: Any) -> Any:
    return value if type(value) is bool else MISFIT


def _text(value: Any) -> str:
    return value if type(value) is str else json_text(value)


def _day(value: Any) -> Any:
    if type(value) is not str or not _DATE.fullmatch(value):
        return MISFIT
    try:
        return date.fromisoformat(value)
    except ValueError:
        return MISFIT


def _moment(value: Any) -> Any:
    """Microseconds since 1970, in the years 1 to 9999, if the text says no less than a microsecond."""
    found = _MOMENT.fullmatch(value) if type(value) is str else None
    if not found:
        return MISFIT
    fraction = (found["fraction"] or "").ljust(_DIGITS_OF_MICROSECOND, "0")
    offset = _microseconds_of_offset(found["offset"])
    if offset is None or fraction[_DIGITS_OF_MICROSECOND:].strip("0"):
        return MISFIT
    try:
        whole = datetime.fromisoformat(f"{found['date']}T{found['time'] or '00'}")
    except ValueError:
        return MISFIT
    moment = (whole - EPOCH) // _MICROSECOND + int(fraction[:_DIGITS_OF_MICROSECOND]) - offset
    return moment if FIRST_MICROSECOND <= moment <= LAST_MICROSECOND else MISFIT


def _microseconds_of_offset(text: str | None) -> int | None:
    """How far a clock is ahead of UTC; None for more than a day."""
    if text is None or text in "Zz":
        return 0
    hours, minutes = int(text[1:3]), int(text[3:].lstrip(":") or 0)
    if hours >= _HOURS_OF_DAY:
        return None
    ahead = timedelta(hours=hours, minutes=minutes) // _MICROSECOND
    return -ahead if text[0] == "-" else ahead


def _decimal(value: Any, *, precision: int, scale: int) -> Any:
    if type(value) is int or (type(value) is str and _DECIMAL.fullmatch(value)):
        number = Decimal(value)
    elif type(value) is float:
        number = Decimal(repr(value))  # the shortest digits that mean this float, which JSON said
    elif type(value) is Decimal:
        number = value
    else:
        return MISFIT
    # Not by arithmetic on decimals, which rounds to the 28 digits of its context.
    is_negative, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return MISFIT
    if not any(digits):
        return Decimal(0)
    significant = "".join(map(str, digits)).rstrip("0")
    lowest_place = exponent + len(digits) - len(significant)
    fits = -lowest_place <= scale and number.adjusted() < precision - scale
    # Without zeros at the end, of which Arrow does not take more than the column has places.
    return Decimal(f"{'-' if is_negative else ''}{significant}E{lowest_place}") if fits else MISFIT


def _bytes(value: Any) -> Any:
    if type(value) is not str:
        return MISFIT
    try:
        found = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return MISFIT
    # Two texts may mean the same bytes; only one of them can be told from the bytes again.
    return found if base64.b64encode(found).decode() == value else MISFIT


_RULES: Mapping[pa.DataType, Rule] = MappingProxyType(
    {
        pa.int64(): partial(_whole, bits=64),
        pa.int32(): partial(_whole, bits=32),
        pa.float64(): _double,
        pa.bool_(): _flag,
        pa.string(): _text,
        pa.date32(): _day,
        pa.binary(): _bytes,
    }
)
