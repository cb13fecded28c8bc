"""The text of a table's DuckDB view: exactly the committed files, in the types of today. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from hakiri.store.descent import Node, descent
from hakiri.store.duck_sql import column_of, column_type, literal, parquet_files, quoted
from hakiri.store.errors import UnknownSchemaVersion
from hakiri.store.rows import OP, POSITION, QUARANTINE_FIELDS, SEQ, Op
from hakiri.store.schemas import fingerprint

FORM = 1  # a view of an older form is written anew


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """A table at one moment: all that its view is made of.

    `schemas` holds every version from 1 on; the highest is the current one. `files` are absolute paths by
    the schema version they were written in. `revision` is the catalog's version of what landed in the table,
    and `since` when it got to know the table: another catalog may come to the same number.
    """

    table: str
    primary_key: tuple[str, ...]
    schemas: Mapping[int, pa.Schema]
    revision: int
    since: datetime
    root: str
    files: Mapping[int, tuple[str, ...]]
    quarantine: tuple[str, ...] = ()

    @property
    def schema_version(self) -> int:
        return max(self.schemas)

    @property
    def schema(self) -> pa.Schema:
        return self.schemas[self.schema_version]


def header(
    *, table: str, schema: pa.Schema, schema_version: int, revision: int, since: datetime, root: str
) -> str:
    """The first lines of a view's text: equal exactly when there is nothing to write anew."""
    return (
        f"-- views/{table}.sql: made by Hakiri from its catalog, form {FORM}; written anew at every commit\n"
        f"-- Catalog schema fingerprint: {fingerprint(schema)} (rev {schema_version})\n"
        f"-- Committed chunks: rev {revision} since {since.isoformat()}, below {json.dumps(root)}\n"
    )


def quarantine_name(table: str) -> str:
    """The view of the rows that did not fit into a table."""
    return f"{table}__quarantine"


def view_sql(state: TableState) -> str:
    """`views/<t>.sql`: statements that make the table's view, and that of its quarantine if it has one."""
    head = header(
        table=state.table,
        schema=state.schema,
        schema_version=state.schema_version,
        revision=state.revision,
        since=state.since,
        root=state.root,
    )
    return head + _table_view(state) + (_quarantine_view(state) if state.quarantine else "")


def _table_view(state: TableState) -> str:
    versions = descent(state.schemas)
    if unknown := sorted(state.files.keys() - versions.keys()):
        raise UnknownSchemaVersion(state.table, unknown[0])
    new = versions[state.schema_version]
    create = f"CREATE OR REPLACE VIEW {quoted(state.table)} AS\n"
    parts = [
        _part(version, versions[version], new, paths)
        for version, paths in sorted(state.files.items())
        if paths
    ]
    if not parts:
        columns = ",\n".join(
            f"  CAST(NULL AS {column_type(node.kind)}) AS {quoted(node.name)}" for node in new
        )
        return f"{create}SELECT\n{columns}\nWHERE false;\n"
    names = ", ".join(quoted(node.name) for node in new)
    rows = "\n  UNION ALL BY NAME\n".join(parts)
    newest = ""
    if state.primary_key:
        key = ", ".join(quoted(name) for name in state.primary_key)
        newest = (
            f"\nQUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {SEQ} DESC, {POSITION} DESC) = 1"
            f"\n  AND {OP} <> {literal(Op.DELETE)}"
        )
    return f"{create}WITH all_rows AS (\n{rows}\n)\nSELECT {names}\nFROM all_rows{newest};\n"


def _part(version: int, old: tuple[Node, ...], new: tuple[Node, ...], paths: tuple[str, ...]) -> str:
    known = {node.identity: node for node in old}
    columns = "".join(
        f"    {column_of(known.get(node.identity), node)} AS {quoted(node.name)},\n" for node in new
    )
    head = f"  SELECT -- schema version {version}\n{columns}    {SEQ}, {POSITION}, {OP}\n"
    return f"{head}  FROM {parquet_files(paths)}"


def _quarantine_view(state: TableState) -> str:
    names = ", ".join(field.name for field in QUARANTINE_FIELDS)
    lines = (
        f"CREATE OR REPLACE VIEW {quoted(quarantine_name(state.table))} AS",
        f"  SELECT {names}",
        f"  FROM {parquet_files(state.quarantine)};",
    )
    return "".join(f"{line}\n" for line in lines)
