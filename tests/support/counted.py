"""A source of any cursor kind that writes down every read: a connector of the project, over a SQLite file.

What it is asked for is a line in `reads.log`, so a test can count what was fetched, by whatever process.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONNECTOR = '''
import json
import os
import sqlite3
from typing import Literal

import pyarrow as pa

from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Duration
from hakiri.sources.config import SourceConfig
from hakiri.sources.contract import Batch, Connector, Extent, Hint, Table
from hakiri.sources.errors import PermanentFailure, RateLimited, TransientFailure

SCHEMA = pa.schema({"id": pa.int64(), "at": pa.timestamp("us", "UTC"), "part": pa.string(), "v": pa.string()})


class CountedConfig(SourceConfig):
    kind: Literal["monotonic", "opaque-token", "snapshot-id", "partitioned-monotonic"]
    field: str = "at"
    has_key: bool = True
    window: str | None = None
    batch: int = 100
    seconds: float = 0.0


class CountedConnector(Connector):
    """Rows of `counted.db`."""

    Config = CountedConfig
    summary = "rows of a file, with every read written down"

    def discover(self, only=None):
        for name in only or ():
            if name != "items":
                raise PermanentFailure(f"there is no table `{name}`")
        fields = list(SCHEMA)
        extra = json.loads(self._fact("columns") or "{}")
        fields += [pa.field(name, pa.type_for_alias(kind)) for name, kind in extra.items()]
        if self.config.kind == "snapshot-id":
            fields.append(pa.field("_op", pa.string()))
        return [
            Table(
                name="items",
                schema=pa.schema(fields),
                primary_key=("id",) if self.config.has_key else (),
                cursor_fields=("at", "id"),
                estimated_rows=self._value("SELECT count(*) FROM items"),
            )
        ]

    def backfill_hint(self, table):
        kind = CursorKind(self.config.kind)
        is_cut = kind.is_cut
        return Hint(
            cursor_kind=kind,
            cursor_field=self.config.field if is_cut else None,
            partition_keys=("part",) if kind is CursorKind.PARTITIONED_MONOTONIC else (),
            natural_window=Duration.parse(self.config.window) if self.config.window else None,
        )

    def partitions(self, table):
        if self.config.kind != "partitioned-monotonic":
            return ({},)
        parts = self._rows("SELECT DISTINCT part FROM items ORDER BY part")
        return tuple({"part": row["part"]} for row in parts) or ({"part": "none"},)

    def extent(self, table, column):
        (seen,) = self._rows(
            f"SELECT min({column}) AS low, max({column}) AS high, count(*) AS rows,"
            f" sum({column} IS NULL) AS nulls FROM items"
        )
        return Extent(
            lowest=seen["low"], highest=seen["high"], rows=seen["rows"], has_nulls=bool(seen["nulls"])
        )

    def open(self, read):
        self._note(read)
        trouble = self._fact("trouble")
        if trouble:
            self._fail(trouble)
        if self.config.kind == "snapshot-id":
            yield from self._changes(read)
            return
        if self.config.kind == "opaque-token":
            yield from self._tokens(read)
            return
        field = self.config.field
        conditions, values = ["1"], []
        if read.partition:
            conditions.append("part = ?")
            values.append(read.partition["part"])
        if read.window is not None:
            window, ends = read.window, []
            if window.since is not None:
                ends.append(f"{window.field} >= ?")
                values.append(window.since)
            if window.until is not None:
                ends.append(f"{window.field} < ?")
                values.append(window.until)
            inside = " AND ".join(ends) or f"{window.field} IS NOT NULL"
            conditions.append(f"({inside}{f' OR {window.field} IS NULL' if window.has_nulls else ''})")
        if read.cursor:
            conditions.append(f"{field} > ?")
            values.append(read.cursor[field])
        rows = self._rows(
            f"SELECT * FROM items WHERE {' AND '.join(conditions)} ORDER BY {field}, id", values
        )
        last = None
        for batch in self._batches(rows[: read.limit]):
            known = [row[field] for row in batch if row[field] is not None]
            last = max([last, *known], key=lambda value: (value is not None, value)) if known else last
            yield Batch(rows=self._arrow(batch))
        if last is not None:
            # Only behind the last row: rows of one moment must not be torn apart.
            yield Batch(rows=self._arrow([]), cursor={field: last})

    def _tokens(self, read):
        after = (read.cursor or {}).get("token", 0)
        limit = read.limit if read.limit is not None else -1
        rows = self._rows("SELECT * FROM items WHERE id > ? ORDER BY id LIMIT ?", [after, limit])
        for batch in self._batches(rows):
            yield Batch(rows=self._arrow(batch), cursor={"token": batch[-1]["id"]})

    def _changes(self, read):
        top = self._value("SELECT coalesce(max(lsn), 0) FROM log")
        if read.cursor is None:
            rows = [dict(row, _op="upsert") for row in self._rows("SELECT * FROM items ORDER BY id")]
            for batch in self._batches(rows):
                yield Batch(rows=self._arrow(batch))
            yield Batch(rows=self._arrow([]), cursor={"lsn": top})
            return
        rows = self._rows(
            "SELECT lsn, op AS _op, id, at, part, v FROM log WHERE lsn > ? ORDER BY lsn",
            [read.cursor["lsn"]],
        )
        for batch in self._batches(rows):
            yield Batch(rows=self._arrow(batch), cursor={"lsn": batch[-1]["lsn"]})

    def _batches(self, rows):
        for start in range(0, len(rows), self.config.batch):
            if self.config.seconds:
                self.context.wait(self.config.seconds)
            yield rows[start : start + self.config.batch]

    def _arrow(self, rows):
        from datetime import datetime

        (table,) = self.discover(["items"])
        plain = []
        for row in rows:
            row = dict(row)
            if isinstance(row.get("at"), str):
                row["at"] = datetime.fromisoformat(row["at"])
            plain.append({name: row.get(name) for name in table.schema.names})
        return pa.RecordBatch.from_pylist(plain, schema=table.schema)

    def _fail(self, trouble):
        kind, _, left = trouble.partition(":")
        if left:
            count = int(left) - 1
            with self._database() as database:
                text = f"{kind}:{count}" if count else ""
                database.execute("UPDATE facts SET value = ? WHERE name = 'trouble'", [text])
        match kind:
            case "transient":
                raise TransientFailure("the source is asleep")
            case "limited":
                raise RateLimited("the source wants a rest", seconds=0.05)
            case "permanent":
                raise PermanentFailure("the source is gone")
            case _:
                raise ValueError("a bug")

    def _note(self, read):
        window = read.window
        line = json.dumps({
            "window": None if window is None else [window.since, window.until],
            "cursor": read.cursor, "partition": dict(read.partition), "pid": os.getpid(),
        })
        with open(self.context.root / "reads.log", "a") as log:
            log.write(line + "\\n")

    def _database(self):
        database = sqlite3.connect(self.context.root / "counted.db", timeout=30)
        database.row_factory = sqlite3.Row
        return database

    def _rows(self, sql, values=()):
        database = self._database()
        try:
            return [dict(row) for row in database.execute(sql, values)]
        finally:
            database.close()

    def _value(self, sql, values=()):
        rows = self._rows(sql, values)
        return next(iter(rows[0].values())) if rows else None

    def _fact(self, name):
        return self._value("SELECT value FROM facts WHERE name = ?", [name])
'''


@dataclass(frozen=True, slots=True)
class CountedSource:
    """The file behind the connector, and what was asked of it."""

    root: Path

    @classmethod
    def make(cls, root: Path) -> CountedSource:
        (root / "connectors").mkdir(parents=True, exist_ok=True)
        (root / "connectors" / "counted.py").write_text(CONNECTOR)
        source = cls(root)
        source.do(
            "CREATE TABLE items (id INTEGER PRIMARY KEY, at TEXT, part TEXT, v TEXT);"
            "CREATE TABLE log (lsn INTEGER PRIMARY KEY, op TEXT, id INTEGER, at TEXT, part TEXT, v TEXT);"
            "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT);"
            # What replication would tell: every change of a row, in order.
            "CREATE TRIGGER added AFTER INSERT ON items BEGIN INSERT INTO log (op, id, at, part, v)"
            " VALUES ('upsert', NEW.id, NEW.at, NEW.part, NEW.v); END;"
            "CREATE TRIGGER changed AFTER UPDATE ON items BEGIN INSERT INTO log (op, id, at, part, v)"
            " VALUES ('upsert', NEW.id, NEW.at, NEW.part, NEW.v); END;"
            "CREATE TRIGGER gone AFTER DELETE ON items BEGIN INSERT INTO log (op, id)"
            " VALUES ('delete', OLD.id); END;"
        )
        return source

    def do(self, script: str) -> None:
        database = sqlite3.connect(self.root / "counted.db", timeout=30)
        try:
            database.executescript(script)
            database.commit()
        finally:
            database.close()

    def put(self, rows: Iterable[tuple[int, str | None, str, str]]) -> None:
        """Add or change rows: id, moment, part, value."""
        database = sqlite3.connect(self.root / "counted.db", timeout=30)
        try:
            database.executemany(
                "INSERT INTO items VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
                " SET at = excluded.at, part = excluded.part, v = excluded.v",
                rows,
            )
            database.commit()
        finally:
            database.close()

    def fact(self, name: str, value: str) -> None:
        """`trouble` (`transient:2`: the next two reads fail so) or `columns` (JSON of more columns)."""
        self.do(f"INSERT OR REPLACE INTO facts VALUES ('{name}', '{value}')")

    def rows(self) -> list[tuple[Any, ...]]:
        database = sqlite3.connect(self.root / "counted.db", timeout=30)
        try:
            return database.execute("SELECT id, part, v FROM items ORDER BY id").fetchall()
        finally:
            database.close()

    def reads(self) -> list[dict[str, Any]]:
        """Every read so far, by whatever process."""
        log = self.root / "reads.log"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def forget_reads(self) -> None:
        (self.root / "reads.log").unlink(missing_ok=True)


def manifest(kind: str, *, more: str = "", config: str = "", table: str = '"items"') -> str:
    """One pipeline `p` over the source."""
    source = f'{{ connector = "counted", config = {{ kind = "{kind}"{config} }} }}'
    return f'[[pipeline]]\nid = "p"\nsource = {source}\ntables = [{table}]\n{more}'


def moments(count: int, *, parts: int = 3, days: float = 1.0) -> list[tuple[int, str | None, str, str]]:
    """Rows from 2024 on, a number of days apart."""
    from datetime import UTC, datetime, timedelta

    first = datetime(2024, 1, 1, tzinfo=UTC)
    return [
        (n, (first + timedelta(days=days * n)).isoformat(), f"part-{n % parts}", f"value {n}")
        for n in range(1, count + 1)
    ]
