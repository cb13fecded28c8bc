"""The connector's three databases keep every promise of a connector."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from tests.sources.sql.lab import Lab, duckdb_lab, postgres_lab, sqlite_lab
from tests.support.postgres import PostgresServer
from tests.support.proxy import FaultyProxy

from hakiri.sources.contract import Read
from hakiri.sources.errors import AuthExpired, PermanentFailure, TransientFailure
from hakiri.sources.sql import SqlConnector, duck, postgres, sqlite
from hakiri.sources.testing import ConnectorContract, Subject, maker
from hakiri.sources.testing.reading import read_all, rows_of
from hakiri.sources.testing.subject import visit

pytestmark = pytest.mark.proof

PASSWORD = "hunter2-marker-%/"
ROWS = {"orders": 900, "events": 700, "empty": 0}
INCREMENTAL = {"orders": "updated_at", "events": "n"}
STATEMENTS = """
CREATE TABLE orders (id integer PRIMARY KEY, updated_at {moment}, note text);
CREATE TABLE events (n integer, kind text);
CREATE TABLE empty (id integer PRIMARY KEY, note text);
INSERT INTO orders WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < 900)
SELECT i, {at}, 'note ' || i FROM g;
INSERT INTO events WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < 700)
SELECT i % 9, 'kind ' || (i % 3) FROM g;
"""
GROWN = {
    "orders": "INSERT INTO orders SELECT max(id) + 1, {later}, 'new' FROM orders",
    "events": "INSERT INTO events SELECT max(n) + 1, 'new' FROM events",
    "empty": "INSERT INTO empty SELECT coalesce(max(id), 0) + 1, 'new' FROM empty",
}
WORDS = {
    "postgres": {
        "moment": "timestamptz",
        "at": "timestamptz '2026-01-01 00:00Z' + make_interval(mins => i - i % 4)",
        "later": "max(updated_at) + interval '1 minute'",
    },
    "sqlite": {
        "moment": "datetime",
        "at": "datetime('2026-01-01', '+' || (i - i % 4) || ' minutes')",
        "later": "datetime(max(updated_at), '+1 minute')",
    },
    "duckdb": {
        "moment": "timestamp",
        "at": "timestamp '2026-01-01' + to_minutes((i - i % 4)::integer)",
        "later": "max(updated_at) + interval 1 minute",
    },
}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "BATCH_BYTES", 4_096)
    monkeypatch.setattr(sqlite, "BATCH_BYTES", 4_096)
    monkeypatch.setattr(duck, "BATCH_ROWS", 256)


def grow(lab: Lab, kind: str) -> Callable[[str], int]:
    def add(table: str) -> int:
        lab.run(GROWN[table].format(**WORDS[kind]))
        return 1

    return add


class TestPostgres(ConnectorContract):
    @pytest.fixture
    def source(self, postgres_server: PostgresServer, tmp_path: Path) -> Iterator[Subject]:
        with (
            postgres_lab(postgres_server, tmp_path) as lab,
            FaultyProxy(postgres_server.tcp_address) as proxy,
        ):
            lab.run(STATEMENTS.format(**WORDS["postgres"]))
            url = lab.url.replace("postgres@", "postgres:${DB_PASSWORD}@").replace(
                "{}:{}".format(*postgres_server.tcp_address), "{}:{}".format(*proxy.address)
            )
            yield Subject(
                make=maker(SqlConnector, {"url": url}, secrets=("DB_PASSWORD",)),
                rows=ROWS,
                root=tmp_path,
                secrets={"DB_PASSWORD": PASSWORD},
                incremental=INCREMENTAL,
                grow=grow(lab, "postgres"),
                breakages={
                    TransientFailure: lambda: dropping(proxy),
                    AuthExpired: lambda: locked_out(postgres_server, lab),
                },
            )


@contextmanager
def dropping(proxy: FaultyProxy) -> Iterator[None]:
    proxy.drop_all()
    yield
    proxy.heal()


@contextmanager
def locked_out(server: PostgresServer, lab: Lab) -> Iterator[None]:
    """Nobody may log in over the network to any database but the first."""
    rules = server.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"host all all 127.0.0.1/32 reject\n{before}")
    reload(server)
    yield
    rules.write_text(before)
    reload(server)


def reload(server: PostgresServer) -> None:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("SELECT pg_reload_conf()")


class TestSqlite(ConnectorContract):
    @pytest.fixture
    def source(self, tmp_path: Path) -> Subject:
        lab = sqlite_lab(tmp_path)
        lab.run(STATEMENTS.format(**WORDS["sqlite"]))
        return Subject(
            make=maker(SqlConnector, {"url": lab.url}),
            rows=ROWS,
            root=tmp_path,
            incremental=INCREMENTAL,
            grow=grow(lab, "sqlite"),
            breakages={PermanentFailure: lambda: moved_away(tmp_path / "shop.db")},
        )


@contextmanager
def moved_away(file: Path) -> Iterator[None]:
    file.rename(file.with_suffix(".away"))
    yield
    file.with_suffix(".away").rename(file)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file to copy, since it takes a process to make one."""
    root = tmp_path_factory.mktemp("template")
    duckdb_lab(root).run(STATEMENTS.format(**WORDS["duckdb"]))
    return root / "shop.duckdb"


class TestDuckDb(ConnectorContract):
    @pytest.fixture
    def source(self, template: Path, tmp_path: Path) -> Subject:
        shutil.copy(template, tmp_path)
        lab = duckdb_lab(tmp_path)
        return Subject(
            make=maker(SqlConnector, {"url": lab.url}),
            rows=ROWS,
            root=tmp_path,
            incremental=INCREMENTAL,
            grow=grow(lab, "duckdb"),
            breakages={PermanentFailure: lambda: moved_away(tmp_path / "shop.duckdb")},
        )

    def test_a_source_that_is_held_still_does_not_change_for_its_readers(self, source: Subject) -> None:
        with visit(source) as here, here.connector.still() as snapshot:
            before = read_all(here.connector, Read(table="orders", snapshot=snapshot))
            assert source.grow is not None
            with pytest.raises(subprocess.CalledProcessError):
                source.grow("orders")  # nobody can write while it is held
            after = read_all(here.connector, Read(table="orders", snapshot=snapshot))
        assert source.grow("orders") == 1
        assert rows_of(after) == rows_of(before)
