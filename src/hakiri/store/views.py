"""The text of a table's DuckDB view: exactly the committed files, in the types of today. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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

FORM = 5  # a view of an older form is written anew
ROWS_A_FILE = (
    500  # with fewer in each, files cost more than rows do, and every one is read as seldom as can be
)
SNAPSHOT_LINE = "-- Snapshot: "


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """A table at one moment: all that its view is made of.

    `schemas` holds every version from 1 on; the highest is the current one. `files` are absolute paths by
    the schema version they were written in, and `rows` is how many rows are in them. `folded` are those of
    the snapshot: of a table with a key it has one row a key, and what is in `files` is newer. `excluded` are
    claims whose rows in it do not count any more. `had_key`: it had one when some of `files` were written, so
    that deletes may be in them. `revision` is the catalog's version of what landed in the table, and `since`
    when it got to know the table: another catalog may come to the same number.
    """

    table: str
    primary_key: tuple[str, ...]
    schemas: Mapping[int, pa.Schema]
    revision: int
    since: datetime
    root: str
    files: Mapping[int, tuple[str, ...]]
    rows: int
    quarantine: tuple[str, ...] = ()
    snapshot: SnapshotId | None = None
    folded: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    excluded: tuple[int, ...] = ()
    had_key: bool = False

    @property
    def schema_version(self) -> int:
        return max(self.schemas)

    @property
    def schema(self) -> pa.Schema:
        return self.schemas[self.schema_version]

    @property
    def has_small_files(self) -> bool:
        return self.rows < ROWS_A_FILE * sum(map(len, self.files.values()))


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
        return create + _every_row(names, recent, folded, state)
    keys = _parts(versions, tuple(node for node in new if node.name in state.primary_key), state.files)
    parts = _Parts(names=names, key=state.primary_key, recent=recent, keys=keys, folded=folded)
    return create + parts.newest_rows(sorts=state.has_small_files)


def _parts(
    versions: Mapping[int, tuple[Node, ...]], new: tuple[Node, ...], files: Mapping[int, tuple[str, ...]]
) -> str:
    parts = (
        _part(version, versions[version], new, paths) for version, paths in sorted(files.items()) if paths
    )
    return "\n  UNION ALL BY NAME\n".join(parts)


def _every_row(names: str, recent: str, folded: str, state: TableState) -> str:
    """All rows of a table without a key, but for those of the snapshot that something has replaced."""
    if folded and state.excluded:
        gone = ", ".join(map(str, state.excluded))
        folded = f"  FROM (\n{folded}\n  ) WHERE {SEQ} NOT IN ({gone})"
    if recent and state.had_key:
        recent = f"  FROM (\n{recent}\n  ) WHERE {OP} <> {literal(Op.DELETE)}"
    rows = "\n  UNION ALL BY NAME\n".join(part for part in (folded, recent) if part)
    return f"WITH all_rows AS (\n{rows}\n)\nSELECT {names}\nFROM all_rows;\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What the rows of a table with a key are read from: the files not folded yet, and the snapshot.

    `keys` is `recent` with the columns of the key alone. It is read apart: DuckDB keeps what is used twice,
    with columns that nobody asks for.
    """

    names: str
    key: tuple[str, ...]
    recent: str
    keys: str
    folded: str

    def newest_rows(self, *, sorts: bool) -> str:
        """One row a key. The snapshot has each key once, and what is not in it yet is newer than all of it.

        By sorting the rows of each key, or by looking for newer ones of the same key: that reads the files
        once more, but none of the rows that a filter leaves out, and keeps nothing but keys in memory.
        """
        if not self.recent:
            return f"SELECT {self.names}\nFROM (\n{self.folded}\n);\n"
        newest = self._sorted() if sorts else self._unsurpassed()
        folded = [*self._without_newer(self.folded), "UNION ALL"] if self.folded else []
        return "\n".join((*folded, *newest, f"WHERE {OP} <> {literal(Op.DELETE)};\n"))

    def _sorted(self) -> Iterator[str]:
        key = ", ".join(map(quoted, self.key))
        order = f"PARTITION BY {key} ORDER BY {SEQ} DESC, {POSITION} DESC"
        yield f"SELECT {self.names}"
        yield f"FROM (\n  FROM (\n{self.recent}\n  )"
        yield f"  QUALIFY row_number() OVER ({order}) = 1\n)"

    def _unsurpassed(self) -> Iterator[str]:
        yield from self._without_newer(self.recent)
        later = f"newer.{SEQ} = found.{SEQ} AND newer.{POSITION} > found.{POSITION}"
        yield f"  AND (newer.{SEQ} > found.{SEQ} OR {later})"

    def _without_newer(self, rows: str) -> Iterator[str]:
        same = (f"newer.{quoted(name)} IS NOT DISTINCT FROM found.{quoted(name)}" for name in self.key)
        yield f"SELECT {self.names}"
        yield f"FROM (\n{rows}\n) AS found"
        yield f"ANTI JOIN (\n{self.keys}\n) AS newer"
        yield f"  ON {' AND '.join(same)}"


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
