"""A database of one test each: Postgres, SQLite and DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sources.sql.lab import Lab, duckdb_lab, postgres_lab, sqlite_lab
from tests.support.postgres import PostgresServer


@pytest.fixture
def postgres(postgres_server: PostgresServer, tmp_path: Path) -> Iterator[Lab]:
    with postgres_lab(postgres_server, tmp_path) as lab:
        yield lab


@pytest.fixture
def sqlite(tmp_path: Path) -> Lab:
    return sqlite_lab(tmp_path)


@pytest.fixture
def duckdb(tmp_path: Path) -> Lab:
    return duckdb_lab(tmp_path)


@pytest.fixture(params=["postgres", "sqlite", "duckdb"])
def lab(request: pytest.FixtureRequest) -> Lab:
    """Each of the three in turn, for what holds in all of them."""
    found: Lab = request.getfixturevalue(request.param)
    return found
