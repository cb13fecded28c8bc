"""A Postgres of their own for the tests of `postgres-cdc`: the shared one does not log enough."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from tests.sources.cdc.helpers import SETTINGS, connected, drop_slots
from tests.support.postgres import PostgresServer


@pytest.fixture(scope="session")
def logical_server() -> Iterator[PostgresServer]:
    with PostgresServer.start(settings=SETTINGS) as server:
        yield server


@pytest.fixture
def database(logical_server: PostgresServer) -> Iterator[str]:
    """The name of an empty database, which is gone after the test with all its slots."""
    name = logical_server.create_database()
    yield name
    drop_slots(logical_server.url(name))
    logical_server.drop_database(name)


@pytest.fixture
def url(logical_server: PostgresServer, database: str) -> str:
    return logical_server.url(database)


@pytest.fixture
def sql(url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection on which every statement is a transaction of its own."""
    with connected(url) as connection:
        yield connection
