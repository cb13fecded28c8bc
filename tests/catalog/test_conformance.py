"""Every backend keeps the contract."""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from hakiri.catalog.testing import CatalogContract, SqlVandal, UrlOpener

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.postgres import PostgresServer

PROJECT = "shop"
# Triggers rest in this role, which only a superuser may take: the rows of the test before could not go else.
EMPTY_SCHEMA = f"""
DO $$
DECLARE known RECORD;
BEGIN
  SET LOCAL session_replication_role = replica;
  FOR known IN SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
                WHERE schemaname = 'hakiri_{PROJECT}' AND tablename <> 'schema_version'
  LOOP EXECUTE 'DELETE FROM ' || known.name; END LOOP;
  PERFORM setval('hakiri_{PROJECT}.claim_seq', 1, false);
END $$
"""


@pytest.mark.spec("AD-009")
@pytest.mark.spec("AD-022")
class TestSqlite(CatalogContract):
    @pytest.fixture(scope="class")
    @classmethod
    def empty_file(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """A catalog with nothing in it. A copy is at hand sooner than the tables are made."""
        base = tmp_path_factory.mktemp("empty")
        UrlOpener(url="sqlite:///meta.sqlite", project=PROJECT, base=base).open().close()
        return base / "meta.sqlite"

    @pytest.fixture
    def opener(self, empty_file: Path, tmp_path: Path) -> UrlOpener:
        shutil.copyfile(empty_file, tmp_path / "meta.sqlite")
        return UrlOpener(url="sqlite:///meta.sqlite", project=PROJECT, base=tmp_path)

    @pytest.fixture
    def vandal(self, tmp_path: Path) -> SqlVandal:
        def run(statement: str, **values: object) -> None:
            with closing(sqlite3.connect(tmp_path / "meta.sqlite")) as connection, connection:
                connection.execute(statement, values)

        return SqlVandal(run)


@pytest.mark.spec("AD-011")
@pytest.mark.spec("AD-022")
class TestPostgres(CatalogContract):
    @pytest.fixture(scope="class")
    @classmethod
    def url(cls, postgres_server: PostgresServer) -> Iterator[str]:
        """One database for all tests, emptied before each: making the tables takes longer."""
        database = postgres_server.create_database()
        url = postgres_server.url(database)
        UrlOpener(url=url, project=PROJECT, base=Path()).open().close()
        yield url
        postgres_server.drop_database(database)

    @pytest.fixture
    def opener(self, url: str) -> UrlOpener:
        with psycopg.connect(url) as connection:
            connection.execute(EMPTY_SCHEMA)
        return UrlOpener(url=url, project=PROJECT, base=Path())

    @pytest.fixture
    def vandal(self, url: str) -> SqlVandal:
        def run(statement: str, **values: object) -> None:
            with psycopg.connect(url) as connection:
                connection.execute(f"SET search_path = hakiri_{PROJECT}")
                connection.execute(re.sub(r":(\w+)", r"%(\1)s", statement), values)

        return SqlVandal(run)
