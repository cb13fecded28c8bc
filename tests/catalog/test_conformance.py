"""Every backend keeps the contract."""

from __future__ import annotations

import re
import secrets
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from hakiri.catalog.testing import CatalogContract, SqlVandal, UrlOpener

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.postgres import PostgresServer


@pytest.mark.spec("AD-009")
@pytest.mark.spec("AD-022")
class TestSqlite(CatalogContract):
    @pytest.fixture
    def opener(self, tmp_path: Path) -> UrlOpener:
        return UrlOpener(url="sqlite:///meta.sqlite", project="shop", base=tmp_path)

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
    def database_url(cls, postgres_server: PostgresServer) -> Iterator[str]:
        """One database for all tests; each works in a project, and so in a schema, of its own."""
        database = postgres_server.create_database()
        yield postgres_server.url(database)
        postgres_server.drop_database(database)

    @pytest.fixture
    def opener(self, database_url: str, tmp_path: Path) -> UrlOpener:
        return UrlOpener(url=database_url, project=secrets.token_hex(8), base=tmp_path)

    @pytest.fixture
    def vandal(self, opener: UrlOpener) -> SqlVandal:
        def run(statement: str, **values: object) -> None:
            with psycopg.connect(opener.url) as connection:
                connection.execute(f'SET search_path = "hakiri_{opener.project}"')
                connection.execute(re.sub(r":(\w+)", r"%(\1)s", statement), values)

        return SqlVandal(run)
