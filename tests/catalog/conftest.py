"""What the tests of the catalog share: a database of Postgres for each test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.postgres import PostgresServer


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of an empty database that is this test's own."""
    database = postgres_server.create_database()
    yield postgres_server.url(database)
    postgres_server.drop_database(database)
