"""How values leave DuckDB: whole, whatever Python can hold of their type. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from hakiri.store.names import literal, quoted
from hakiri.store.query.types import Member, base_of, members_of

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
# Keys of maps that Python writes as DuckDB does.
_KEYS = _TEXTS | {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}
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
        return base_of(self.type)

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
    place = f"#{number}"
    if form is Form.JSON:
        return _for_json(place, column.type)
    is_plain = column.base in _TEXTS or column.base == "BOOLEAN" or column.is_number
    return place if is_plain and column.base != "FLOAT" else f"CAST({place} AS VARCHAR)"


def _for_json(value: str, kind: str, depth: int = 0) -> str:
    """The value in a type that Python holds all of; itself if its own is one."""
    base, members = base_of(kind), members_of(kind)
    if base == "LIST":
        return _each(value, members[0].type, depth)
    if base == "MAP":
        return _map_for_json(value, *members, depth=depth)
    if base in {"STRUCT", "TUPLE"}:
        return _struct_for_json(value, members, depth)
    if base in _TEXTS or base in _NUMBERS or base in {"BOOLEAN", "BLOB"}:
        return value
    text = f"CAST({value} AS VARCHAR)"
    if base == _ZONED:
        moment = f"replace(CAST({value} AT TIME ZONE 'UTC' AS VARCHAR), ' ', 'T') || 'Z'"
        return f"CASE WHEN isfinite({value}) THEN {moment} ELSE {text} END"
    return f"replace({text}, ' ', 'T')" if base in _MOMENTS else text


def _struct_for_json(value: str, members: Sequence[Member], depth: int) -> str:
    has_names = all(member.name for member in members)
    places = [literal(each.name) if has_names else str(at) for at, each in enumerate(members, start=1)]
    parts = [f"struct_extract({value}, {place})" for place in places]
    converted = [_for_json(part, each.type, depth) for part, each in zip(parts, members, strict=True)]
    if converted == parts:
        return value
    if has_names:
        named = zip(members, converted, strict=True)
        fields = (f"{quoted(member.name)} := {part}" for member, part in named)
        made = f"struct_pack({', '.join(fields)})"
    else:
        made = f"row({', '.join(converted)})"
    return f"CASE WHEN {value} IS NOT NULL THEN {made} END"


def _map_for_json(value: str, key: Member, item: Member, *, depth: int) -> str:
    """A map whose keys are texts: those of JSON's objects are nothing else."""
    keys, items = f"map_keys({value})", f"map_values({value})"
    texts = keys
    if base_of(key.type) not in _KEYS:
        name = f"_{depth}"
        text = name if members_of(key.type) else _for_json(name, key.type)
        text = f"CAST({name} AS VARCHAR)" if text == name else text
        texts = f"list_transform({keys}, lambda {name}: {text})"
    converted = _each(items, item.type, depth)
    return value if (texts, converted) == (keys, items) else f"map({texts}, {converted})"


def _each(values: str, kind: str, depth: int) -> str:
    """All that is in a list, converted."""
    name = f"_{depth}"
    converted = _for_json(name, kind, depth + 1)
    return values if converted == name else f"list_transform({values}, lambda {name}: {converted})"
