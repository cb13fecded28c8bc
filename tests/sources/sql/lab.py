"""A database of one test, and connectors to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from tests.support.postgres import PostgresServer

from hakiri.core.clock import SystemClock
from hakiri.core.errors import Place
from hakiri.core.secrets import Secret
from hakiri.sources.budget import NoBudget
from hakiri.sources.config import read_config
from hakiri.sources.contract import Batch, Context, Read, Table
from hakiri.sources.sql import SqlConnector
from hakiri.sources.sql.config import SqlConfig

# A type as it is declared, a value in SQL, the type in Arrow, the value in Python.
Typed: TypeAlias = tuple[str, str, pa.DataType, Any]


@dataclass(kw_only=True)
class Lab:
    """One database: statements go in by its own client, rows come out by the connector."""

    url: str
    root: Path
    run: Callable[[str], None]
    secrets: dict[str, str] = field(default_factory=dict)

    def connector(self, **config: Any) -> SqlConnector:
        context = Context(
            root=self.root,
            secrets={name: Secret(value) for name, value in self.secrets.items()},
            budget=NoBudget(),
            clock=SystemClock(),
            wait=lambda seconds: None,
        )
        keys = {"url": self.url} | config
        checked = read_config(
            SqlConfig, keys, connector="sql", place=Place("hakiri.toml", 1), secrets=tuple(self.secrets)
        )
        return SqlConnector(checked, context)

    def table(self, name: str, **config: Any) -> Table:
        (table,) = self.connector(**config).discover([name])
        return table

    def batches(self, table: str, config: dict[str, Any] | None = None, **read: Any) -> list[Batch]:
        return list(self.connector(**config or {}).open(Read(table=table, **read)))

    def rows(self, table: str, config: dict[str, Any] | None = None, **read: Any) -> list[dict[str, Any]]:
        batches = self.batches(table, config, **read)
        return [row for batch in batches for row in batch.rows.to_pylist()]


def check_everything(lab: Lab, types: Sequence[Typed], folder: Path) -> list[Any]:
    """See that table `everything` comes as it is announced, and goes through Parquet as it came.

    It has a column for each of the types, and two rows: their values, and another one, which is given back.
    """
    table = lab.table("everything")
    (batch,) = lab.batches("everything")
    announced = {kind: column.type for (kind, *_), column in zip(types, table.schema, strict=True)}
    assert announced == {kind: arrow for kind, _, arrow, _ in types}
    assert batch.rows.schema.equals(table.schema)
    batch.rows.validate(full=True)
    first, second = (list(row.values()) for row in batch.rows.to_pylist())
    assert first == [value for *_, value in types]
    pq.write_table(pa.Table.from_batches([batch.rows]), folder / "everything.parquet")
    assert pq.read_table(folder / "everything.parquet").to_pylist() == batch.rows.to_pylist()
    return second


@contextmanager
def postgres_lab(server: PostgresServer, root: Path) -> Iterator[Lab]:
    name = server.create_database()

    def run(statements: str) -> None:
        with psycopg.connect(server.url(name), autocommit=True) as connection:
            connection.execute(statements.encode())

    yield Lab(url=server.url(name, over="tcp"), root=root, run=run)
    server.drop_database(name)


def sqlite_lab(root: Path) -> Lab:
    script = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.stdin.read())"

    def run(statements: str) -> None:
        # In a process of its own: two SQLite libraries in one would take each other's locks away.
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", script, str(root / "shop.db")],
            input=statements,
            text=True,
            check=True,
            capture_output=True,
        )

    run("PRAGMA journal_mode = wal")
    return Lab(url="sqlite:///shop.db", root=root, run=run)


def duckdb_lab(root: Path) -> Lab:
    script = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute(sys.stdin.read()).fetchall()"

    def run(statements: str) -> None:
        # In a process of its own: one that has the file open for writing can have nobody read it.
        subprocess.run(
            [sys.executable, "-c", script, str(root / "shop.duckdb")],
            input=statements,
            text=True,
            check=True,
            capture_output=True,
        )

    return Lab(url="duckdb:///shop.duckdb", root=root, run=run)
