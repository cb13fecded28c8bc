"""What the texts in a CSV mean: which type a column is found to have, and the texts as values of a type.

A column is inferred from all of its fields that are not empty, and only where every one of them is written in
the one form that the type itself would write:

| type        | every field is                                                                             |
|-------------|--------------------------------------------------------------------------------------------|
| `boolean`   | `true` or `false`, in any case                                                             |
| `bigint`    | a whole number of 64 bits, without a plus, a leading zero or blanks                        |
| `double`    | a number like `-0.5`, `1.25e-3` or a whole one of up to 15 digits, finite                  |
| `date`      | a day of the calendar like `2026-01-31`                                                    |
| `timestamp` | a day and a time like `2026-01-31T08:00:00.5+01:00`; without an offset it is UTC           |
| `string`    | anything else, such as `007`, `+49 30 1234`, `1,5`, `31.01.2026`, or nothing at all        |

A declared type takes more: blanks around a value, a plus and leading zeros for numbers, and for `boolean`
also t, f, yes, no, y, n, 1 and 0. A field that is empty, or blank in a column that is not `string`, is NULL.
The forms are regular expressions that Spark and Arrow understand alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from hakiri.sources.json_rows.types import TIMESTAMP

REPLACEMENT = "\ufffd"
BLANKS = " \t\r\n"  # what may surround a value without being a part of it
TRUE = ("true", "t", "yes", "y", "1")
FALSE = ("false", "f", "no", "n", "0")
MOST_EXACT_DIGITS = 15
WHOLE = "[+-]?[0-9]+"
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
OFFSET = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
MOMENT = rf"{DATE}[T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,6}})?)?{OFFSET}?"
# Up to the minutes, a moment has always the same length.
LENGTH_TO_MINUTES = 16

_STRICT_WHOLE = "-?(0|[1-9][0-9]*)"
_INFERRED: Mapping[pa.DataType, str] = MappingProxyType(
    {
        pa.bool_(): "(?i:true|false)",
        pa.int64(): _STRICT_WHOLE,
        pa.float64(): rf"{_STRICT_WHOLE}(\.[0-9]+([eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)"
        rf"|-?(0|[1-9][0-9]{{0,{MOST_EXACT_DIGITS - 1}}})",
        pa.date32(): DATE,
        TIMESTAMP: MOMENT,
    }
)


class Misfits(Exception):
    """Fields that are no values of their column's type, by their rows."""

    def __init__(self, rows: list[int]) -> None:
        super().__init__(f"{len(rows)} fields")
        self.rows = rows


@dataclass(slots=True)
class ColumnSketch:
    """What the fields of a column may be, as far as they were seen."""

    is_empty: bool = True
    possible: list[pa.DataType] = field(default_factory=lambda: list(_INFERRED))

    def add(self, texts: pa.Array, null_values: Sequence[str]) -> None:
        """Look at more fields."""
        if not self.possible:
            return
        texts = _without_nulls(texts, null_values).drop_null()
        texts = texts.filter(pc.not_equal(texts, ""))
        if not len(texts):
            return
        self.is_empty = False
        self.possible = [kind for kind in self.possible if _are_all(texts, kind)]

    @property
    def type(self) -> pa.DataType:
        return pa.string() if self.is_empty or not self.possible else self.possible[0]


def _are_all(texts: pa.Array, kind: pa.DataType) -> bool:
    if not pc.all(pc.match_substring_regex(texts, f"^({_INFERRED[kind]})$")).as_py():
        return False
    try:
        values = _cast(texts, kind)
    except pa.ArrowInvalid:
        return False
    return kind != pa.float64() or bool(pc.all(pc.is_finite(values)).as_py())


def form_of(kind: pa.DataType) -> str:
    """How a field of this type is written, as a regular expression over what is between its blanks."""
    if kind in (pa.int64(), pa.int32()):
        return WHOLE
    if kind == pa.float64():
        return NUMBER
    if kind == pa.bool_():
        return f"(?i:{'|'.join((*TRUE, *FALSE))})"
    if kind == pa.date32():
        return DATE
    if pa.types.is_decimal128(kind):
        whole, places = kind.precision - kind.scale, kind.scale
        return (
            rf"[+-]?(0*[0-9]{{1,{max(whole, 1)}}}(\.[0-9]{{0,{places}}}0*)?|\.[0-9]{{1,{max(places, 1)}}}0*)"
        )
    return MOMENT


def values_of(texts: pa.Array, kind: pa.DataType, null_values: Sequence[str]) -> pa.Array:
    """The fields as values; raises Misfits for those that are none."""
    texts = _without_nulls(texts, null_values)
    if kind == pa.string():
        return texts
    texts = pc.utf8_trim(texts, BLANKS)
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    fits = pc.match_substring_regex(texts, f"^({form_of(kind)})$")
    if not pc.all(fits, min_count=0).as_py():
        of_form = pc.if_else(fits, texts, pa.scalar(None, pa.string()))
        raise Misfits(sorted({*_rows(pc.invert(fits)), *_no_values(of_form, kind)}))
    try:
        values = _cast(texts, kind)
    except pa.ArrowInvalid:
        raise Misfits(_no_values(texts, kind)) from None
    if kind == pa.float64() and pc.any(pc.is_inf(values)).as_py():
        raise Misfits(_rows(pc.is_inf(values)))
    return values


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    if kind == pa.bool_():
        is_true = pc.is_in(pc.utf8_lower(texts), pa.array(TRUE))
        return pc.if_else(pc.is_null(texts), pa.scalar(None, pa.bool_()), is_true)
    if kind in (pa.int64(), pa.int32()):
        return pc.replace_substring_regex(texts, r"^\+", "").cast(kind)
    if kind == TIMESTAMP:
        has_offset = pc.match_substring_regex(texts, f"{OFFSET}$")
        return pc.if_else(has_offset, texts, pc.binary_join_element_wise(texts, "Z", "")).cast(kind)
    return texts.cast(kind)


def _without_nulls(texts: pa.Array, null_values: Sequence[str]) -> pa.Array:
    if not null_values:
        return texts
    return pc.if_else(pc.is_in(texts, pa.array(null_values)), pa.scalar(None, pa.string()), texts)


def _rows(mask: pa.Array) -> list[int]:
    return cast("list[int]", pc.indices_nonzero(mask).to_pylist())


def _no_values(texts: pa.Array, kind: pa.DataType) -> list[int]:
    """Of the right form, and yet no value: the 31st of February, or a number too large. Found by halves."""
    found: list[int] = []
    spans = [(0, len(texts))]
    while spans:
        start, length = spans.pop()
        try:
            values = _cast(texts.slice(start, length), kind)
        except pa.ArrowInvalid:
            if length == 1:
                found.append(start)
            else:
                half = length // 2
                spans += [(start + half, length - half), (start, half)]
            continue
        if kind == pa.float64():
            found += [start + row for row in _rows(pc.is_inf(values))]
    return found
