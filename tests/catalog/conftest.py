"""What the tests of the catalog share: empty databases, and ways to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.databases import BACKENDS, database_of
from tests.support.grounds import PostgresGround
from tests.support.lines import Line, new_line

from hakiri.catalog.sql.database import Database

if TYPE_CHECKING:
    from tests.support.postgres import PostgresServer


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of an empty database that is this test's own."""
    database = postgres_server.create_database()
    yield postgres_server.url(database)
    postgres_server.drop_database(database)


@pytest.fixture(params=BACKENDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """The catalog's tables on each backend in turn, with nothing in them."""
    database = database_of(request, tmp_path)
    yield database
    database.close()


@pytest.fixture(scope="module")
def postgres_ground(postgres_server: PostgresServer) -> Iterator[PostgresGround]:
    """One catalog on Postgres for all tests of a module."""
    database = postgres_server.create_database()
    ground = PostgresGround(postgres_server.url(database), "test")
    ground.migrate()
    yield ground
    postgres_server.drop_database(database)


@pytest.fixture(scope="module")
def shared_line(postgres_server: PostgresServer) -> Iterator[Line]:
    with new_line(postgres_server) as line:
        yield line


@pytest.fixture
def line(shared_line: Line) -> Iterator[Line]:
    """A way to Postgres on which things go wrong when they are told to."""
    yield shared_line
    shared_line.proxy.heal()
