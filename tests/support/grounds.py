"""Where a catalog of a test is: something that every process can be told, and that can be looked at whole."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol, cast

import psycopg
import pytest
from psycopg import sql

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.upkeep import CatalogInfo
from hakiri.catalog.postgres.database import WAITS, PostgresDatabase
from hakiri.catalog.postgres.schema import PostgresSchema
from hakiri.catalog.sql.breaches import guards_of
from hakiri.catalog.sql.catalog import SqlCatalog
from hakiri.catalog.sql.database import Database
from hakiri.catalog.sql.migrations import migrations_of
from hakiri.catalog.sqlite.database import WRITER_WAITS, SqliteDatabase
from hakiri.catalog.sqlite.file import SqliteFile
from hakiri.core.backoff import Backoff

T0 = datetime(2026, 5, 11, 8, 0, tzinfo=UTC)
TTL = timedelta(minutes=10)
IMPATIENT = Backoff(first_seconds=0.01, longest_seconds=0.02, budget_seconds=0.1)
# Random, or counted outside of transactions: these differ between two catalogs of the same history.
CHANCE = frozenset({"nonce", "seq", "id", "batch"})

# A table and a row of it as JSON, in an order that depends on nothing but the rows.
Dump = list[tuple[str, str]]

_SQLITE_COLUMNS = """
SELECT tables.name, columns.name
  FROM pragma_table_list AS tables, pragma_table_info(tables.name) AS columns
 WHERE tables.schema = 'main' AND tables.type = 'table' AND tables.name <> 'sqlite_schema'
"""


class Ground(Protocol):
    """Where a catalog is. It can be sent to another process."""

    def migrate(self) -> None:
        """Make the tables."""

    def database(self, waits: Backoff | None = None) -> Database:
        """A new handle."""

    def looking(self) -> AbstractContextManager[Callable[[], Dump]]:
        """A way to dump every row of every table at one moment, again and again.

        Receipts are left out: they are not the catalog's own. Between two looks no lock is held.
        """


@dataclass(frozen=True, slots=True)
class SqliteGround:
    path: Path

    def migrate(self) -> None:
        SqliteFile(self.path).apply(migrations_of("sqlite"), T0)

    def database(self, waits: Backoff | None = None) -> SqliteDatabase:
        return SqliteDatabase(self.path, waits=waits or WRITER_WAITS)

    @contextmanager
    def looking(self) -> Iterator[Callable[[], Dump]]:
        yield self.dump

    def dump(self) -> Dump:
        # Opened anew each time, so that a file whose users have all died is found as they left it.
        with closing(sqlite3.connect(self.path)) as connection:
            columns: dict[str, list[str]] = {}
            for table, column in connection.execute(_SQLITE_COLUMNS):
                columns.setdefault(table, []).append(f"'{column}', \"{column}\"")
            looks = [
                f"SELECT '{table}', json_object({', '.join(pairs)}) FROM \"{table}\""
                for table, pairs in columns.items()
            ]
            return sorted(connection.execute(" UNION ALL ".join(looks)))


@dataclass(frozen=True, slots=True)
class PostgresGround:
    url: str
    schema: str

    def migrate(self) -> None:
        PostgresSchema(self.url, self.schema, self._location).apply(migrations_of("postgres"), T0)

    def database(self, waits: Backoff | None = None) -> PostgresDatabase:
        return PostgresDatabase(self.url, self.schema, self._location, waits=waits or WAITS)

    @contextmanager
    def looking(self) -> Iterator[Callable[[], Dump]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            found = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = %s", (self.schema,)
            )
            names = [name for (name,) in found if name != "receipt"]
            look = sql.SQL("SELECT {}, CAST(to_jsonb(each) AS TEXT) FROM {} AS each")
            looks = sql.SQL(" UNION ALL ").join(
                look.format(name, sql.Identifier(self.schema, name)) for name in names
            )
            yield lambda: sorted(connection.execute(looks, prepare=True))

    def receipts(self) -> int:
        with psycopg.connect(self.url) as connection:
            found = connection.execute(
                sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(self.schema, "receipt"))
            ).fetchone()
        return 0 if found is None else found[0]

    @property
    def _location(self) -> str:
        return f"postgresql://test#{self.schema}"


def catalog_on(database: Database) -> Catalog:
    """All roles on a database, which may stand in for another one."""
    backend = "sqlite" if database.location.startswith("sqlite") else "postgres"
    migrations = migrations_of(backend)
    info = CatalogInfo(
        backend=backend,
        location=database.location,
        version=migrations[-1].number,
        newest_version=migrations[-1].number,
        divergences=SqlCatalog.divergences,
    )
    catalog = SqlCatalog(database, info, guards_of(migration.script for migration in migrations))
    return cast(Catalog, catalog)


@contextmanager
def opened(ground: Ground, waits: Backoff | None = None) -> Iterator[Catalog]:
    """A new handle on a catalog, closed at the end."""
    with catalog_on(ground.database(waits)) as catalog:
        yield catalog


def new_ground(backend: str, request: pytest.FixtureRequest, folder: Path) -> Ground:
    """A catalog with its tables and nothing in them, on SQLite or on Postgres."""
    if backend == "sqlite":
        ground: Ground = SqliteGround(folder / "meta.sqlite")
    else:
        ground = PostgresGround(request.getfixturevalue("postgres_url"), "test")
    ground.migrate()
    return ground


def history(dump: Dump) -> Dump:
    """What of a dump two catalogs with the same history share."""
    return sorted((table, _without_chance(row)) for table, row in dump)


def _without_chance(row: str) -> str:
    return json.dumps({name: value for name, value in json.loads(row).items() if name not in CHANCE})
