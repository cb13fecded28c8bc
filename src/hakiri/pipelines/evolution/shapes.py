"""The columns and the key of a table, and the notes that its fields carry."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pyarrow as pa

from hakiri.core.canonical import canonical_json
from hakiri.store.schemas import ACCEPTS, WAS, former_names

MISSING = b"hakiri.missing"
"""That the source once did not have the column any more: `true`."""
RENAMED_FROM = b"hakiri.renamed_from"
"""What an incoming column was called before: its former name."""

_NOTES: Mapping[bytes, bytes] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableShape:
    """The columns of a table without the hidden ones, and its primary key, none if that is empty.

    Two are equal if their columns are in the same order, with the same types and notes, and the key as well.
    """

    schema: pa.Schema
    primary_key: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableShape):
            return NotImplemented
        # Arrow itself leaves the notes out when it compares.
        return bool(
            self.primary_key == other.primary_key and self.schema.equals(other.schema, check_metadata=True)
        )

    def __hash__(self) -> int:
        return hash((tuple(self.schema.names), self.primary_key))


NO_SHAPE = TableShape(schema=pa.schema([]))
"""The shape of a table that is not there."""


def accepted_types(field: pa.Field) -> tuple[str, ...]:
    """The texts of the types that an operator let into the column."""
    found: list[str] = json.loads(_notes(field).get(ACCEPTS, b"[]"))
    return tuple(found)


def is_noted_missing(field: pa.Field) -> bool:
    return MISSING in _notes(field)


def renamed_from(field: pa.Field) -> str | None:
    """What the column says it was called before, if it says so."""
    name = _notes(field).get(RENAMED_FROM)
    return None if name is None else name.decode()


def with_former_names(field: pa.Field, names: Iterable[str]) -> pa.Field:
    return _noted(field, WAS, names)


def with_accepted_types(field: pa.Field, texts: Iterable[str]) -> pa.Field:
    return _noted(field, ACCEPTS, texts)


def noted_missing(field: pa.Field) -> pa.Field:
    return field.with_metadata({**_notes(field), MISSING: b"true"})


def declared_renamed(field: pa.Field, former: str) -> pa.Field:
    """The incoming column, saying what it was called before."""
    return field.with_metadata({**_notes(field), RENAMED_FROM: former.encode()})


def of_another_type(field: pa.Field, kind: pa.DataType) -> pa.Field:
    """The same column with its notes, and another type."""
    return pa.field(field.name, kind, nullable=field.nullable, metadata=field.metadata)


def path_of(path: str, name: str) -> str:
    """The path of a column or of a field inside of one; a name that could be a path stands in quotes."""
    part = f'"{name}"' if set(name) & set('."[]') else name
    return f"{path}.{part}" if path else part


def renamed(column: pa.Field, name: str) -> pa.Field:
    """The column under another name, with all the names that it had before."""
    former = (each for each in (*former_names(column), column.name) if each != name)
    return with_former_names(column.with_name(name), former)


def taken_names(columns: Sequence[pa.Field]) -> dict[str, str]:
    """Why no further column can be called so, by the name without regard to case."""
    former = {
        name.casefold(): f"it is a former name of `{each.name}`"
        for each in columns
        for name in former_names(each)
    }
    return former | {each.name.casefold(): f"it differs from `{each.name}` only in case" for each in columns}


def _notes(field: pa.Field) -> Mapping[bytes, bytes]:
    found: Mapping[bytes, bytes] | None = field.metadata
    return _NOTES if found is None else found


def _noted(field: pa.Field, key: bytes, texts: Iterable[str]) -> pa.Field:
    listed = list(dict.fromkeys(texts))
    rest = {known: value for known, value in _notes(field).items() if known != key}
    return field.with_metadata({**rest, key: canonical_json(listed).encode()} if listed else rest or None)
