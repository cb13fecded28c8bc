"""The databases of a catalog, with its tables and nothing in them, for tests of single roles."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from hakiri.catalog.postgres.schema import PostgresSchema
from hakiri.catalog.sql.database import Database
from hakiri.catalog.sql.migrations import migrations_of
from hakiri.catalog.sqlite.file import SqliteFile

T0 = datetime(2026, 5, 11, 8, 0, tzinfo=UTC)
BACKENDS = ("sqlite", "postgres")


def sqlite_database(path: Path) -> Database:
    """A new SQLite file with the catalog's tables."""
    file = SqliteFile(path)
    file.apply(migrations_of("sqlite"), T0)
    return file.database()


def postgres_database(url: str) -> Database:
    """A new schema with the catalog's tables in the database of the URL."""
    schema = PostgresSchema(url, "hakiri_test", "postgresql://test")
    schema.apply(migrations_of("postgres"), T0)
    return schema.database()


def database_of(request: pytest.FixtureRequest, folder: Path) -> Database:
    """The database of the backend that a fixture's parameter names."""
    if request.param == "sqlite":
        return sqlite_database(folder / "meta.sqlite")
    return postgres_database(request.getfixturevalue("postgres_url"))
