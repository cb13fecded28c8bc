"""The text of a table's DuckDB view: exactly the committed files, in the types of today. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa

from hakiri.core.ids import SnapshotId
from hakiri.store.descent import Node, descent
from hakiri.store.duck_sql import column_of, column_type, parquet_files
from hakiri.store.errors import UnknownSchemaVersion
from hakiri.store.names import literal, quoted
from hakiri.store.rows import OP, POSITION, QUARANTINE_FIELDS, SEQ, Op
from hakiri.store.schemas import fingerprint

FORM = 3  # a view of an older form is written anew
SNAPSHOT_LINE = "-- Snapshot: "


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """A table at one moment: all that its view is made of.

    `schemas` holds every version from 1 on; the highest is the current one. `files` are absolute paths by
    the schema version they were written in, and `folded` those of the snapshot: of a table with a key it has
    one row a key, and what is in `files` is newer. `excluded` are claims whose rows in it do not count any
    more. `revision` is the catalog's version of what landed in the table, and `since` when it got to know the
    table: another catalog may come to the same number.
    """

    table: str
    primary_key: tuple[str, ...]
    schemas: Mapping[int, pa.Schema]
    revision: int
    since: datetime
    root: str
    files: Mapping[int, tuple[str, ...]]
    quarantine: tuple[str, ...] = ()
    snapshot: SnapshotId | None = None
    folded: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    excluded: tuple[int, ...] = ()

    @property
    def schema_version(self) -> int:
        return max(self.schemas)

    @property
    def schema(self) -> pa.Schema:
        return self.schemas[self.schema_version]


def header(
    *,
    table: str,
    schema: pa.Schema,
    schema_version: int,
    revision: int,
    since: datetime,
    snapshot: SnapshotId | None,
    root: str,
) -> str:
    """The first lines of a view's text: equal exactly when there is nothing to write anew."""
    return (
        f"-- views/{table}.sql: made by Hakiri from its catalog, form {FORM}; written anew at every commit\n"
        f"-- Catalog schema fingerprint: {fingerprint(schema)} (rev {schema_version})\n"
        f"-- Committed chunks: rev {revision} since {since.isoformat()}, below {json.dumps(root)}\n"
        f"{SNAPSHOT_LINE}{snapshot or 'none'}\n"
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
        snapshot=state.snapshot,
        root=state.root,
    )
    return head + _table_view(state) + (_quarantine_view(state) if state.quarantine else "")


def _table_view(state: TableState) -> str:
    versions = descent(state.schemas)
    if unknown := sorted((state.files.keys() | state.folded.keys()) - versions.keys()):
        raise UnknownSchemaVersion(state.table, unknown[0])
    new = versions[state.schema_version]
    create = f"CREATE OR REPLACE VIEW {quoted(state.table)} AS\n"
    recent, folded = _parts(versions, new, state.files), _parts(versions, new, state.folded)
    names = ", ".join(quoted(node.name) for node in new)
    if not recent and not folded:
        columns = ",\n".join(
            f"  CAST(NULL AS {column_type(node.kind)}) AS {quoted(node.name)}" for node in new
        )
        return f"{create}SELECT\n{columns}\nWHERE false;\n"
    if not state.primary_key:
        return create + _every_row(names, recent, folded, state.excluded)
    keys = _parts(versions, tuple(node for node in new if node.name in state.primary_key), state.files)
    return create + _newest_rows(names, recent, keys, folded, state.primary_key)


def _parts(
    versions: Mapping[int, tuple[Node, ...]], new: tuple[Node, ...], files: Mapping[int, tuple[str, ...]]
) -> str:
    parts = (
        _part(version, versions[version], new, paths) for version, paths in sorted(files.items()) if paths
    )
    return "\n  UNION ALL BY NAME\n".join(parts)


def _every_row(names: str, recent: str, folded: str, excluded: tuple[int, ...]) -> str:
    """All rows of a table without a key, but for those of the snapshot that something has replaced."""
    if folded and excluded:
        gone = ", ".join(map(str, excluded))
        folded = f"  FROM (\n{folded}\n  ) WHERE {SEQ} NOT IN ({gone})"
    rows = "\n  UNION ALL BY NAME\n".join(part for part in (folded, recent) if part)
    return f"WITH all_rows AS (\n{rows}\n)\nSELECT {names}\nFROM all_rows;\n"


def _newest_rows(names: str, recent: str, keys: str, folded: str, primary_key: tuple[str, ...]) -> str:
    """One row a key. The snapshot has each key once, and what is not in it yet is newer than all of it.

    The keys are read apart from the rows: DuckDB keeps what is used twice, with columns that nobody asks for.
    """
    if not recent:
        return f"SELECT {names}\nFROM (\n{folded}\n);\n"
    key = ", ".join(quoted(name) for name in primary_key)
    newest = f"row_number() OVER (PARTITION BY {key} ORDER BY {SEQ} DESC, {POSITION} DESC) = 1"
    is_there = f"{OP} <> {literal(Op.DELETE)}"
    if not folded:
        return (
            f"WITH all_rows AS (\n{recent}\n)\n"
            f"SELECT {names}\nFROM all_rows\nQUALIFY {newest}\n  AND {is_there};\n"
        )
    same = " AND ".join(
        f"again.{quoted(name)} IS NOT DISTINCT FROM folded.{quoted(name)}" for name in primary_key
    )
    lines = (
        f"WITH folded AS (\n{folded}\n),",
        f"again AS (\n  FROM (\n{keys}\n  )\n  SELECT DISTINCT {key}\n)",
        f"SELECT {names}",
        f"FROM folded ANTI JOIN again ON {same}",
        "UNION ALL",
        f"SELECT {names}",
        f"FROM (\n  FROM (\n{recent}\n  )\n  QUALIFY {newest}\n)",
        f"WHERE {is_there};",
    )
    return "".join(f"{line}\n" for line in lines)


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
