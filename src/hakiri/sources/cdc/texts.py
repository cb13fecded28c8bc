"""Columns of texts, as Postgres shows its values, as columns of their own types.

The snapshot and the changes both come through here, so that a value is the same whichever way it came.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hakiri.sources.errors import SchemaIncompatible

# What Postgres can hold beside ordinary values, and Arrow cannot.
_SPECIAL = ("infinity", "-infinity", "Infinity", "-Infinity", "NaN")
_ELEMENT = re.compile(r'"((?:[^"\\]|\\.)*)"|([^,{}"\\]+)', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MOMENT = re.compile(
    r"(?P<year>\d{4,})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?: (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.(?P<part>\d{1,6}))?(?:\+00)?)?"
    r"(?P<era> BC)?"
)
_DAY_MICROSECONDS = 86_400_000_000
_FEBRUARY = 2


class _NoValue(ValueError):
    """A text that stands for no value of the type."""


def text_array(values: Sequence[bytes | None]) -> pa.Array:
    """Texts as they came over the wire; raises ArrowInvalid if they are no UTF-8."""
    return pa.array(values, pa.binary()).cast(pa.string())


def typed_column(texts: pa.Array, kind: pa.DataType, *, table: str, column: str) -> pa.Array:
    """The values that the texts stand for; raises SchemaIncompatible if the type cannot hold one of them."""
    try:
        return _typed(texts, kind)
    except (pa.ArrowInvalid, ValueError, OverflowError):
        special = next((text for text in texts.to_pylist() if text in _SPECIAL), None)
        value = "a value" if special is None else f"`{special}`"
        raise SchemaIncompatible(
            f"column `{column}` of table `{table}` holds {value}, which type {kind} cannot hold",
            hint="change the value at the source, or the column to text",
        ) from None  # the cause would show the value


def _typed(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):
        return texts
    if pa.types.is_boolean(kind):
        return pc.equal(texts, "t")
    if pa.types.is_binary(kind):
        return pa.array(_each(texts, lambda text: bytes.fromhex(text.removeprefix("\\x"))), kind)
    if pa.types.is_list(kind):
        return _lists(texts, kind)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _moments(texts, kind)
    return texts.cast(kind)


def _each(texts: pa.Array, read: Callable[[str], object]) -> list[object]:
    return [None if text is None else read(text) for text in texts.to_pylist()]


def _lists(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    offsets: list[int | None] = []
    elements: list[str | None] = []
    for text in texts.to_pylist():
        offsets.append(None if text is None else len(elements))
        elements += [] if text is None else array_elements(text)
    values = _typed(pa.array(elements, pa.string()), kind.value_type)
    return pa.ListArray.from_arrays(pa.array([*offsets, len(elements)], pa.int32()), values, type=kind)


def array_elements(text: str) -> list[str | None]:
    """The elements of an array of one dimension; raises ValueError for more."""
    body = text.partition("=")[2] if text.startswith("[") else text
    if body.startswith("{{"):
        raise _NoValue("an array of several dimensions is no list")
    return [
        (None if found[2] == "NULL" else found[2]) if found[1] is None else _ESCAPED.sub(r"\1", found[1])
        for found in _ELEMENT.finditer(body)
    ]


def _moments(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        # Arrow reads the years from 0000 to 9999 only. The others are rare, and taken one by one.
        is_date = pa.types.is_date(kind)
        numbers = _each(texts, _day_number if is_date else _microseconds)
        return pa.array(numbers, pa.int32() if is_date else pa.int64()).cast(kind)


def _microseconds(text: str) -> int:
    found = _moment(text)
    seconds = (int(found["hour"]) * 60 + int(found["minute"])) * 60 + int(found["second"])
    part = int((found["part"] or "").ljust(6, "0"))
    return _days(found) * _DAY_MICROSECONDS + seconds * 1_000_000 + part


def _day_number(text: str) -> int:
    return _days(_moment(text))


def _moment(text: str) -> re.Match[str]:
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise _NoValue("that is no moment")
    return found


def _days(found: re.Match[str]) -> int:
    """Days since 1970 in the Gregorian calendar without end or beginning; the year 1 BC is 0."""
    year, month = int(found["year"]), int(found["month"])
    year = 1 - year if found["era"] else year
    # Counted from March, so that the leap day is the last of its year.
    year, month = (year - 1, month + 9) if month <= _FEBRUARY else (year, month - 3)
    leap_days = year // 4 - year // 100 + year // 400
    return year * 365 + leap_days + (month * 153 + 2) // 5 + int(found["day"]) - 1 - 719_468
