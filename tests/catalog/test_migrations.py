"""Migrations: numbered, forward only, under a lock, and refused by programs that are too old."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier

import psycopg
import pytest

from hakiri.catalog.errors import CatalogError, CatalogTooNew, CatalogTooOld
from hakiri.catalog.postgres.schema import PostgresSchema
from hakiri.catalog.sql.migrations import (
    Migratable,
    Migration,
    bring_up_to_date,
    migrations_of,
    refuse_other_versions,
)
from hakiri.catalog.sqlite.file import SqliteFile

T0 = datetime(2026, 1, 1, tzinfo=UTC)
FIRST = Migration(
    1,
    "first",
    "CREATE TABLE schema_version (id BIGINT PRIMARY KEY, applied_at TEXT NOT NULL);\nCREATE TABLE a (x INT);",
)
SECOND = Migration(2, "second", "CREATE TABLE b (x INT);\nINSERT INTO b VALUES (1);")
BROKEN = Migration(3, "broken", "CREATE TABLE c (x INT);\nINSERT INTO nowhere VALUES (1);")
WORKERS = 8

Make = Callable[[], Migratable]
Ask = Callable[[str], list[tuple[object, ...]]]


@pytest.fixture(params=["sqlite", "postgres"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def target(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Make:
    if backend == "sqlite":
        return lambda: SqliteFile(tmp_path / "meta.sqlite")
    url = request.getfixturevalue("postgres_url")
    return lambda: PostgresSchema(url, "hakiri_shop", "postgresql://here/db#hakiri_shop")


@pytest.fixture
def ask(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Ask]:
    """Asks the database itself."""
    if backend == "sqlite":
        with sqlite3.connect(tmp_path / "meta.sqlite", isolation_level=None) as file:
            yield lambda question: file.execute(question).fetchall()
        file.close()
        return
    with psycopg.connect(request.getfixturevalue("postgres_url"), autocommit=True) as server:
        server.execute("SET search_path = hakiri_shop")
        yield lambda question: server.execute(question).fetchall()


def test_all_missing_steps_are_taken_in_order_once(target: Make, ask: Ask) -> None:
    taken = bring_up_to_date(target(), (FIRST, SECOND), T0)
    again = bring_up_to_date(target(), (FIRST, SECOND), T0)

    assert (taken, again) == ((1, 2), ())
    assert ask("SELECT x FROM b") == [(1,)]
    assert ask("SELECT id FROM schema_version ORDER BY id") == [(1,), (2,)]
    assert target().version() == 2


def test_an_older_catalog_takes_only_what_it_lacks(target: Make, ask: Ask) -> None:
    bring_up_to_date(target(), (FIRST,), T0)
    ask("INSERT INTO a VALUES (7) RETURNING x")

    assert bring_up_to_date(target(), (FIRST, SECOND), T0) == (2,)
    assert ask("SELECT x FROM a") == [(7,)]


def test_of_many_who_come_at_once_one_migrates_and_the_others_find_it_done(target: Make, ask: Ask) -> None:
    together = Barrier(WORKERS)

    def come(_: int) -> tuple[int, ...]:
        database = target()
        together.wait()
        return bring_up_to_date(database, (FIRST, SECOND), T0)

    with ThreadPoolExecutor(WORKERS) as all_at_once:
        taken = sorted(all_at_once.map(come, range(WORKERS)))

    assert taken == [()] * (WORKERS - 1) + [(1, 2)]
    assert ask("SELECT count(*) FROM b") == [(1,)]


def test_a_step_that_fails_leaves_everything_as_it_was(target: Make, ask: Ask) -> None:
    bring_up_to_date(target(), (FIRST, SECOND), T0)

    with pytest.raises(CatalogError):
        bring_up_to_date(target(), (FIRST, SECOND, BROKEN), T0)

    assert target().version() == 2
    with pytest.raises((sqlite3.OperationalError, psycopg.errors.UndefinedTable)):
        ask("SELECT * FROM c")


def test_a_catalog_from_a_newer_program_is_refused_and_left_alone(target: Make) -> None:
    bring_up_to_date(target(), (FIRST, SECOND), T0)

    with pytest.raises(CatalogTooNew) as caught:
        bring_up_to_date(target(), (FIRST,), T0)

    assert str(caught.value).endswith("has version 2, and this program knows versions up to 1")
    assert caught.value.hint == "upgrade with `pip install --upgrade hakiri`"
    assert target().version() == 2


def test_who_does_not_migrate_is_told_to(target: Make) -> None:
    bring_up_to_date(target(), (FIRST,), T0)

    with pytest.raises(CatalogTooOld) as caught:
        refuse_other_versions(target(), (FIRST, SECOND))

    assert str(caught.value).endswith("has version 1, and this program needs version 2")
    assert caught.value.hint == "run `hakiri catalog migrate`"


def test_both_backends_have_the_same_versions_tables_and_columns(tmp_path: Path, postgres_url: str) -> None:
    ours, theirs = migrations_of("sqlite"), migrations_of("postgres")
    assert [(each.number, each.name) for each in ours] == [(each.number, each.name) for each in theirs]

    SqliteFile(tmp_path / "meta.sqlite").apply(ours, T0)
    PostgresSchema(postgres_url, "hakiri_shop", "").apply(theirs, T0)

    with sqlite3.connect(tmp_path / "meta.sqlite") as file:
        of_sqlite = set(
            file.execute(
                "SELECT s.name, c.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS c"
                " WHERE s.type IN ('table', 'view') AND s.name NOT LIKE 'sqlite%'"
            )
        )
    file.close()
    with psycopg.connect(postgres_url) as server:
        of_postgres = set(
            server.execute(
                "SELECT table_name, column_name FROM information_schema.columns"
                " WHERE table_schema = 'hakiri_shop' AND table_name <> 'receipt'"
            )
        )
    assert of_sqlite == of_postgres
