"""The tables of the source as its catalog describes them, and whether a read may go on with one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from hakiri.core.nearest import nearest
from hakiri.sources.cdc.positions import REWIND, Position
from hakiri.sources.cdc.server import Session, query
from hakiri.sources.cdc.types import PgType, arrow_type
from hakiri.sources.contract import OP_COLUMN, Table
from hakiri.sources.errors import PermanentFailure, SchemaIncompatible
from hakiri.sources.sql.relations import quoted

_PARTITIONED = "p"
AGAIN = "run it again: the table has changed since it was looked at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column that is sent with changes.

    `number` is its own for ever, also when it is renamed. `is_filled`: it may have come with a value for the
    rows that were there before it.
    """

    name: str
    number: int
    type_oid: int
    modifier: int
    type_text: str
    kind: pa.DataType
    is_filled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTable:
    """A table of the source. `file` is another one after the table was emptied or rewritten as a whole."""

    schema: str
    name: str
    oid: int
    file: int
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    is_partitioned: bool
    estimated_rows: int | None
    description: str

    @property
    def quoted(self) -> str:
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    @property
    def arrow_schema(self) -> pa.Schema:
        fields = [pa.field(column.name, column.kind) for column in self.columns]
        return pa.schema([*fields, pa.field(OP_COLUMN, pa.string())])

    def described(self) -> Table:
        return Table(
            name=self.name,
            schema=self.arrow_schema,
            primary_key=self.key,
            estimated_rows=self.estimated_rows,
            description=self.description,
        )


def find_tables(session: Session, schema: str, only: Collection[str] | None) -> list[SourceTable]:
    """The tables of a schema; raises PermanentFailure for one in `only` that is not there."""
    names = None if only is None else sorted(set(only))
    rows = session.rows(query("tables"), {"schema": schema, "only": names})
    missing = [] if names is None else sorted(set(names) - {row["name"] for row in rows})
    if missing:
        known = [row["name"] for row in session.rows(query("tables"), {"schema": schema, "only": None})]
        meant = nearest(missing[0], known)
        raise PermanentFailure(
            f"there is no table `{missing[0]}` in schema `{schema}` whose changes are logged",
            hint=f"did you mean `{meant}`?" if meant else "look at the tables with `hakiri source tables`",
        )
    oids = sorted({column["type"] for row in rows for column in row["columns"]})
    types = {row["oid"]: PgType(**row) for row in session.rows(query("types"), {"oids": oids})}
    return [_table(row, schema, types) for row in rows]


def find_table(session: Session, schema: str, name: str) -> SourceTable:
    """One table that can be read; raises PermanentFailure and SchemaIncompatible if this cannot be."""
    (table,) = find_tables(session, schema, [name])
    if table.is_partitioned:
        raise PermanentFailure(
            f"table `{name}` is partitioned: what happens to a whole partition is not logged for it",
            hint="read its partitions, each by its own name",
        )
    if not table.key:
        raise SchemaIncompatible(
            f"table `{name}` has no key by which a change can name its row",
            hint=f"add a primary key, or a unique index over columns that are NOT NULL with "
            f"ALTER TABLE {table.quoted} REPLICA IDENTITY USING INDEX",
        )
    if any(column.name == OP_COLUMN for column in table.columns):
        raise SchemaIncompatible(
            f"table `{name}` has a column `{OP_COLUMN}`, which is the name of the kind of change",
            hint="rename the column at the source",
        )
    return table


def wanted_columns(table: SourceTable, schema: pa.Schema | None) -> tuple[Column, ...]:
    """The table's columns, in the order that the reader expects.

    Raises SchemaIncompatible if it expects others. No column is left out: what changes bring for it would be
    gone when the reader comes to know it.
    """
    if schema is None:
        return table.columns
    by_name = {column.name: column for column in table.columns}
    wanted = [field for field in schema if field.name != OP_COLUMN]
    for field in wanted:
        found = by_name.get(field.name)
        if found is None or not found.kind.equals(field.type):
            problem = "is gone" if found is None else f"is {found.kind} now and was {field.type}"
            raise SchemaIncompatible(f"column `{field.name}` of table `{table.name}` {problem}", hint=AGAIN)
    added = [name for name in by_name if name not in schema.names]
    if added:
        raise SchemaIncompatible(f"table `{table.name}` has a new column `{added[0]}`", hint=AGAIN)
    return tuple(by_name[field.name] for field in wanted)


def refuse_unseen_changes(table: SourceTable, position: Position) -> None:
    """Raise if the table is not the one of the position, or has values that no change will ever bring."""
    if table.oid != position.table:
        raise PermanentFailure(
            f"table `{table.name}` was dropped and made anew since it was last read", hint=REWIND
        )
    names = {number: name for name, number in position.columns.items()}
    for column in table.columns:
        known = names.get(column.number)
        if known is None and column.is_filled:
            raise SchemaIncompatible(
                f"column `{column.name}` was added to table `{table.name}` and may have values in rows that "
                "were read before",
                hint=REWIND,
            )
        if known is not None and known != column.name:
            raise SchemaIncompatible(
                f"column `{known}` of table `{table.name}` was renamed to `{column.name}`", hint=REWIND
            )


def _table(row: Mapping[str, Any], schema: str, types: Mapping[int, PgType]) -> SourceTable:
    return SourceTable(
        schema=schema,
        name=row["name"],
        oid=row["oid"],
        file=row["file"] or 0,
        columns=_columns(row["columns"], types),
        key=tuple(row["key"]),
        is_partitioned=row["kind"] == _PARTITIONED,
        estimated_rows=row["rows"],
        description=row["description"],
    )


def _columns(rows: Sequence[Mapping[str, Any]], types: Mapping[int, PgType]) -> tuple[Column, ...]:
    return tuple(
        Column(
            name=row["name"],
            number=row["number"],
            type_oid=row["type"],
            modifier=row["modifier"],
            type_text=row["type_text"],
            kind=arrow_type(row["type"], row["modifier"], types),
            is_filled=row["is_filled"],
        )
        for row in rows
    )
