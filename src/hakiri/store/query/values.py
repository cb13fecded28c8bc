"""How values leave DuckDB: whole, whatever Python can hold of their type. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

_NUMBERS = frozenset(
    {
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "HUGEINT",
        "UTINYINT",
        "USMALLINT",
        "UINTEGER",
        "UBIGINT",
        "UHUGEINT",
        "FLOAT",
        "DOUBLE",
        "DECIMAL",
    }
)
_TEXTS = frozenset({"VARCHAR", "ENUM", "JSON", "UUID"})
_ZONED = "TIMESTAMP WITH TIME ZONE"
_MOMENTS = frozenset({"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"})


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an answer; the type is DuckDB's word for it."""

    name: str
    type: str

    @property
    def base(self) -> str:
        """The type without what it is made of: `DECIMAL`, `STRUCT`; `LIST` for all that ends in brackets."""
        return "LIST" if self.type.endswith("]") else self.type.partition("(")[0].strip()

    @property
    def is_number(self) -> bool:
        return self.base in _NUMBERS

    @property
    def is_misread_when_cut(self) -> bool:
        """Whether a part of a value looks like another value."""
        return self.is_number or self.base.startswith(("DATE", "TIME", "INTERVAL"))


class Form(Enum):
    """What for values are wanted."""

    EYES = "as DuckDB writes them"
    JSON = "as exact as JSON has them: moments as in ISO 8601, nested values as they are"


def select_list(columns: Sequence[Column], form: Form) -> str | None:
    """What to select of an answer so that no value is lost in Python, or None if nothing would be.

    Python has no months in its intervals, no nanoseconds, no years after 9999 and no infinite dates.
    """
    places = [_place(number, column, form) for number, column in enumerate(columns, start=1)]
    is_plain = places == [f"#{number}" for number in range(1, len(columns) + 1)]
    return None if is_plain else ", ".join(places)


def _place(number: int, column: Column, form: Form) -> str:
    place, base = f"#{number}", column.base
    if base in _TEXTS or base == "BOOLEAN" or (column.is_number and (form is Form.JSON or base != "FLOAT")):
        return place
    if form is Form.EYES:
        return f"CAST({place} AS VARCHAR)"
    if base in {"BLOB", "LIST", "STRUCT", "MAP"}:
        return place
    if base == _ZONED:
        moment = f"replace(CAST({place} AT TIME ZONE 'UTC' AS VARCHAR), ' ', 'T') || 'Z'"
        return f"CASE WHEN isfinite({place}) THEN {moment} ELSE CAST({place} AS VARCHAR) END"
    text = f"CAST({place} AS VARCHAR)"
    return f"replace({text}, ' ', 'T')" if base in _MOMENTS else text
