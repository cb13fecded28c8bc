"""Another primary key for a table that has one, or none."""

from __future__ import annotations

from collections.abc import Sequence

from pyarrow import types as kinds

from hakiri.core.ids import TableName
from hakiri.pipelines.evolution.errors import KeyImpossible
from hakiri.pipelines.evolution.forms import type_text
from hakiri.pipelines.evolution.shapes import TableShape
from hakiri.store.layout import StoreLayout
from hakiri.store.names import quoted
from hakiri.store.reading import open_reader


def migrated_key(stored: TableShape, key: Sequence[str]) -> TableShape:
    """The table with these columns as its key, or without one. Raises KeyImpossible.

    No row changes by it: those that share a new key are seen as one, the newest.
    """
    names = stored.schema.names
    unknown = next((name for name in key if name not in names), None)
    if unknown is not None:
        raise KeyImpossible(f"there is no column `{unknown}`", names)
    if len(set(key)) < len(key):
        raise KeyImpossible("a column is named twice", names)
    nested = next((field for name in key if kinds.is_nested((field := stored.schema.field(name)).type)), None)
    if nested is not None:
        raise KeyImpossible(f"`{nested.name}` is a {type_text(nested.type)}", names)
    return TableShape(schema=stored.schema, primary_key=tuple(key))


def rows_sharing_key(layout: StoreLayout, table: TableName, key: Sequence[str]) -> int:
    """How many rows that are seen now would be hidden behind others if these columns were the key."""
    if not key or not layout.view_file(table).exists():
        return 0
    columns = ", ".join(quoted(name) for name in key)
    distinct = f"SELECT DISTINCT {columns} FROM {quoted(table)}"  # noqa: S608 - names, and quoted
    counted = f"SELECT count(*) - (SELECT count(*) FROM ({distinct})) FROM {quoted(table)}"  # noqa: S608
    with open_reader(layout) as reader:
        (found,) = reader.execute(counted).fetchone() or (0,)
    return int(found)
