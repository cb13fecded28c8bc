"""Rows of an older schema in the columns of a newer one. Nothing is lost on the way, or it is refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from hakiri.compaction.errors import ValuesWouldBeLost
from hakiri.store.descent import Node, descent
from hakiri.store.fitting import fitted
from hakiri.store.rows import HIDDEN_FIELDS


@dataclass(frozen=True, slots=True)
class Conformer:
    """Brings batches of any version of a table into its newest one, with the hidden columns behind.

    `schema` has the columns that are wanted, which need not be all.
    """

    table: str
    versions: Mapping[int, tuple[Node, ...]]
    schema: pa.Schema

    def only(self, columns: Collection[str]) -> Conformer:
        """The same for some of the columns alone."""
        return replace(self, schema=pa.schema([each for each in self.schema if each.name in columns]))

    def columns_in(self, version: int) -> list[str]:
        """What has to be read of a file of this version."""
        known = {node.identity: node.name for node in self.versions[version]}
        own = [known[node.identity] for node in self._wanted() if node.identity in known]
        return [*own, *(each.name for each in self._hidden())]

    def conformed(self, rows: pa.RecordBatch, version: int) -> pa.RecordBatch:
        """The rows in today's columns: older names, smaller types and missing columns are seen to.

        Raises ValuesWouldBeLost for a value that today's type does not hold.
        """
        old = {node.identity: node for node in self.versions[version]}
        columns = []
        for node in self._wanted():
            origin = old.get(node.identity)
            if origin is None:
                columns.append(pa.nulls(rows.num_rows, node.kind))
                continue
            fit = fitted(_renamed(rows.column(origin.name), origin, node), node.kind, node.name)
            if fit.bad is not None:
                raise ValuesWouldBeLost(self.table, node.name, str(origin.kind), str(node.kind))
            columns.append(fit.column)
        hidden = [rows.column(each.name) for each in self._hidden()]
        return pa.RecordBatch.from_arrays([*columns, *hidden], schema=self.schema)

    def _wanted(self) -> list[Node]:
        names = {*self.schema.names}
        return [node for node in self.versions[max(self.versions)] if node.name in names]

    def _hidden(self) -> list[pa.Field]:
        return [each for each in HIDDEN_FIELDS if self.schema.get_field_index(each.name) >= 0]


def conformer(table: str, schemas: Mapping[int, pa.Schema]) -> Conformer:
    """For a table with these versions of its schema, from 1 on."""
    newest = schemas[max(schemas)]
    own = [pa.field(field.name, field.type) for field in newest]
    return Conformer(table, descent(schemas), pa.schema([*own, *HIDDEN_FIELDS]))


def _renamed(column: pa.Array, old: Node, new: Node) -> pa.Array:
    """The same values with today's names of the fields inside them."""
    if pa.types.is_duration(old.kind) and pa.types.is_integer(column.type):
        column = column.cast(old.kind)  # Parquet has no durations: a file has the microseconds
    if not _is_other_inside(old, new):
        return column
    known = {child.identity: child for child in new.children}
    if pa.types.is_struct(column.type):
        kept = [child for child in old.children if child.identity in known]
        given = dict(zip([child.name for child in old.children], column.flatten(), strict=True))
        arrays = [_renamed(given[child.name], child, known[child.identity]) for child in kept]
        names = [known[child.identity].name for child in kept]
        return pa.StructArray.from_arrays(arrays, names=names, mask=column.is_null())
    if pa.types.is_map(column.type):
        keys = _renamed(column.keys, old.children[0], new.children[0])
        items = _renamed(column.items, old.children[1], new.children[1])
        return pa.MapArray.from_arrays(column.offsets, keys, items, mask=column.is_null())
    values = _renamed(column.values, old.children[0], new.children[0])
    return pa.ListArray.from_arrays(column.offsets, values, mask=column.is_null())


def _is_other_inside(old: Node, new: Node) -> bool:
    """Whether a field inside is called otherwise now, or is not there any more.

    What is nested in another way now, or not at all, is another value, whose parts keep their names.
    """
    if old.kind.id != new.kind.id:
        return False
    known = {child.identity: child for child in new.children}
    is_struct = pa.types.is_struct(old.kind)
    return any(
        child.identity not in known
        or (is_struct and known[child.identity].name != child.name)
        or _is_other_inside(child, known[child.identity])
        for child in old.children
    )
