"""The types of SQLite in Arrow: what a column was declared as decides, and every value is held to it.

SQLite itself lets any value into any column, and the driver takes the first rows for all others. So the
SELECT asks for the kind of every value, and a row that goes first tells the driver each column's type.
"""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType

import pyarrow as pa

from hakiri.sources.sql.relations import Column, Grain, quoted, text_literal

# Whole numbers above this are not all to be had as floating point.
_MOST_EXACT = 2**53


class Kind(Enum):
    """How the values of a column are read."""

    NUMBER = "number"
    REAL = "real"
    FLAG = "flag"
    TEXT = "text"
    BYTES = "bytes"
    ANY_TEXT = "numbers and texts, as text"
    SHOWN = "anything, as text"


_TYPES = MappingProxyType(
    {
        Kind.NUMBER: pa.int64(),
        Kind.REAL: pa.float64(),
        Kind.FLAG: pa.bool_(),
        Kind.TEXT: pa.string(),
        Kind.BYTES: pa.binary(),
        Kind.ANY_TEXT: pa.string(),
        Kind.SHOWN: pa.string(),
    }
)
_SAMPLES = MappingProxyType(
    {pa.int64(): "0", pa.float64(): "0.5", pa.bool_(): "0", pa.string(): "''", pa.binary(): "x''"}
)


def first_value(column: Column) -> str:
    """A value in SQL from which the driver knows the column's type."""
    return _SAMPLES[column.type]


def kind_of(declared: str) -> Kind:
    """By SQLite's own rules of affinity, in their order; a numeric one only if the name speaks of numbers.

    What SQLite does not know (`DATETIME`, `JSON`, `UUID`, `STRING`) is kept as it is, in the form of a text.
    """
    name = declared.upper()
    rules = (
        (("INT",), Kind.NUMBER),
        (("CHAR", "CLOB", "TEXT"), Kind.TEXT),
        (("BLOB",), Kind.BYTES),
        (("REAL", "FLOA", "DOUB", "NUM", "DEC"), Kind.REAL),
        (("BOOL",), Kind.FLAG),
    )
    return next((kind for parts, kind in rules if any(part in name for part in parts)), Kind.ANY_TEXT)


def column_of(name: str, declared: str, *, is_nullable: bool, is_indexed: bool, is_text: bool) -> Column:
    """A column as it is read; with `is_text`, as a text whatever it holds, bytes as `\\x` and digits."""
    kind = Kind.SHOWN if is_text else kind_of(declared)
    value = quoted(name)
    select, misfit = _read_as(kind, value)
    grain = {Kind.NUMBER: Grain.NUMBER, Kind.TEXT: Grain.TEXT, Kind.ANY_TEXT: Grain.TEXT}.get(kind)
    return Column(
        name=name,
        type=_TYPES[kind],
        select=select,
        is_nullable=is_nullable,
        is_indexed=is_indexed,
        misfit=misfit,
        misfit_shown=_shown(value),
        grain=grain,
        # A column may order its texts without regard to case; a cursor regards it.
        key=f"{value} COLLATE BINARY" if grain is Grain.TEXT else value,
        # Numbers come before all texts in any order, and would be lost after a cursor that is one.
        key_misfit=_is_none_of(value, "text") if kind is Kind.ANY_TEXT else None,
        may_be_time=grain is Grain.TEXT,
    )


def _read_as(kind: Kind, value: str) -> tuple[str, str | None]:  # noqa: PLR0911 - one for each kind
    """The expression for the SELECT list, and the condition for values that it cannot give."""
    match kind:
        case Kind.NUMBER:
            return f"CASE typeof({value}) WHEN 'integer' THEN {value} END", _is_none_of(value, "integer")
        case Kind.REAL:
            exact = f"(typeof({value}) = 'integer' AND {value} NOT BETWEEN -{_MOST_EXACT} AND {_MOST_EXACT})"
            is_number = f"typeof({value}) IN ('real', 'integer')"
            return (
                f"CASE WHEN {is_number} THEN CAST({value} AS REAL) END",
                f"{_is_none_of(value, 'real', 'integer')} OR {exact}",
            )
        case Kind.FLAG:
            return f"CASE WHEN {value} IN (0, 1) THEN {value} END", f"{value} NOT IN (0, 1)"
        case Kind.TEXT:
            return f"CASE typeof({value}) WHEN 'text' THEN {value} END", _is_none_of(value, "text")
        case Kind.BYTES:
            return f"CASE typeof({value}) WHEN 'blob' THEN {value} END", _is_none_of(value, "blob")
        case Kind.ANY_TEXT:
            return (
                f"CASE WHEN typeof({value}) <> 'blob' THEN CAST({value} AS TEXT) END",
                f"typeof({value}) = 'blob'",
            )
        case Kind.SHOWN:
            return _shown(value), None


def _shown(value: str) -> str:
    digits = f"{text_literal(chr(92) + 'x')} || lower(hex({value}))"
    return f"CASE typeof({value}) WHEN 'blob' THEN {digits} ELSE CAST({value} AS TEXT) END"


def _is_none_of(value: str, *kinds: str) -> str:
    return f"typeof({value}) NOT IN ({', '.join(text_literal(kind) for kind in (*kinds, 'null'))})"
