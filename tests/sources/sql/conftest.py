"""A database of one test each: Postgres, SQLite and DuckDB."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.sources.sql.lab import Lab
from tests.support.postgres import PostgresServer


@pytest.fixture
def postgres(postgres_server: PostgresServer, tmp_path: Path) -> Iterator[Lab]:
    name = postgres_server.create_database()

    def run(statements: str) -> None:
        with psycopg.connect(postgres_server.url(name), autocommit=True) as connection:
            connection.execute(statements.encode())

    yield Lab(url=postgres_server.url(name, over="tcp"), root=tmp_path, run=run)
    postgres_server.drop_database(name)


@pytest.fixture
def sqlite(tmp_path: Path) -> Lab:
    def run(statements: str) -> None:
        with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
            connection.executescript(statements)

    run("PRAGMA journal_mode = wal")
    return Lab(url="sqlite:///shop.db", root=tmp_path, run=run)


@pytest.fixture
def duckdb(tmp_path: Path) -> Lab:
    def run(statements: str) -> None:
        script = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute(sys.stdin.read()).fetchall()"
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "shop.duckdb")],
            input=statements,
            text=True,
            check=True,
            capture_output=True,
        )

    return Lab(url="duckdb:///shop.duckdb", root=tmp_path, run=run)


@pytest.fixture(params=["postgres", "sqlite", "duckdb"])
def lab(request: pytest.FixtureRequest) -> Lab:
    """Each of the three in turn, for what holds in all of them."""
    found: Lab = request.getfixturevalue(request.param)
    return found
