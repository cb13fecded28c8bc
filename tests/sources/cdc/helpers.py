"""A server whose log can be decoded, connectors to it, and a copy of a table that is kept by its changes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from hakiri.core.canonical import canonical_json
from hakiri.core.clock import SystemClock
from hakiri.core.secrets import Secret
from hakiri.sources.budget import NoBudget
from hakiri.sources.cdc import PostgresCdcConnector
from hakiri.sources.contract import Batch, Budget, Context, Cursor, Read
from hakiri.sources.testing import maker

SETTINGS = {
    "wal_level": "logical",
    "max_replication_slots": "40",
    "max_wal_senders": "40",
    "log_statement": "all",
    "log_replication_commands": "on",
    "log_line_prefix": "%d %a ",
}
Row = dict[str, Any]


def connector_to(
    url: str, *, secrets: Mapping[str, str] | None = None, budget: Budget | None = None, **config: Any
) -> PostgresCdcConnector:
    """A connector that waits in earnest."""
    values = dict(secrets or {})
    context = Context(
        root=Path(),
        secrets={name: Secret(value) for name, value in values.items()},
        budget=budget or NoBudget(),
        clock=SystemClock(),
        wait=threading.Event().wait,
    )
    made = maker(PostgresCdcConnector, {"url": url, **config}, secrets=tuple(values))(context)
    assert isinstance(made, PostgresCdcConnector)
    return made


def make_pages(sql: psycopg.Connection[tuple[Any, ...]], count: int) -> None:
    """Table `pages`, each with a body so large that changes to the rest of its row leave it out."""
    sql.execute("CREATE TABLE pages (id int PRIMARY KEY, title text, body text)")
    sql.execute("ALTER TABLE pages ALTER body SET STORAGE EXTERNAL")
    sql.execute(
        "INSERT INTO pages SELECT n, 'old', repeat(n::text, 20000) FROM generate_series(1, %s) n", [count]
    )


def connected(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    return psycopg.connect(url, autocommit=True)


@dataclass(slots=True)
class Replica:
    """A table as its reader has it: rows by key, and the cursor that was stored with them.

    Rows count once the cursor after them is there, as when a run is committed.
    """

    table: str
    key: tuple[str, ...] = ("id",)
    rows: dict[tuple[Any, ...], Row] = field(default_factory=dict)
    cursor: Cursor | None = None
    pending: list[Row] = field(default_factory=list)

    def read(self, connector: PostgresCdcConnector) -> list[Row]:
        """Read on to the end, and give back the rows that came."""
        came: list[Row] = []
        for batch in connector.open(Read(table=self.table, cursor=self.cursor)):
            came += batch.rows.to_pylist()
            self.take(batch)
        assert self.pending == []
        return came

    def take(self, batch: Batch) -> None:
        self.pending += batch.rows.to_pylist()
        if batch.cursor is not None:
            if self.cursor is None:
                self.rows.clear()  # a new snapshot stands for all that was read before it
            self.commit(self.pending, batch.cursor)
            self.pending = []

    def commit(self, rows: list[Row], cursor: Cursor) -> None:
        for row in rows:
            key = tuple(row[name] for name in self.key)
            if row["_op"] == "delete":
                self.rows.pop(key, None)
            else:
                self.rows[key] = {name: value for name, value in row.items() if name != "_op"}
        self.cursor = json.loads(canonical_json(cursor))


def begun(connector: PostgresCdcConnector, table: str, key: tuple[str, ...] = ("id",)) -> Replica:
    """A copy of the table after its first read, which is a snapshot."""
    replica = Replica(table, key)
    replica.read(connector)
    return replica


def table_now(url: str, table: str, key: tuple[str, ...] = ("id",)) -> dict[tuple[Any, ...], Row]:
    """The table as a plain SELECT shows it, rows by key."""
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        rows = connection.execute(f'SELECT * FROM "{table}"'.encode()).fetchall()
    return {tuple(row[name] for name in key): row for row in rows}


def slots_of(url: str) -> dict[str, str]:
    """The slots of the database, each with the place up to which it was confirmed."""
    with connected(url) as connection:
        rows = connection.execute(
            "SELECT slot_name, confirmed_flush_lsn::text FROM pg_replication_slots "
            "WHERE database = current_database()"
        ).fetchall()
    return {str(name): str(confirmed) for name, confirmed in rows}


def drop_slots(url: str) -> None:
    """Remove all slots of the database, also those that are being read."""
    with connected(url) as connection:
        mine = "FROM pg_replication_slots WHERE database = current_database()"
        for _ in _until_none(connection, f"SELECT count(*) {mine}"):
            connection.execute(f"SELECT pg_terminate_backend(active_pid) {mine} AND active".encode())
            connection.execute(f"SELECT pg_drop_replication_slot(slot_name) {mine} AND NOT active".encode())


def _until_none(connection: psycopg.Connection[Any], counting: str) -> Iterator[None]:
    for _ in range(1_000):
        row = connection.execute(counting.encode()).fetchone()
        if row is not None and row[0] == 0:
            return
        yield
        threading.Event().wait(0.01)
    raise AssertionError("slots stay in use")
