"""A smaller matrix with the catalog in Postgres: at the writes that two workers may meet at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.compaction.matrix.cells import Cell, Stage, prepared
from tests.compaction.matrix.judge import Reader
from tests.compaction.matrix.operations import (
    FOLDED,
    Append,
    Bury,
    Collect,
    Compact,
    Operation,
    Rewind,
    TakeOver,
    Widen,
)
from tests.support.grounds import PostgresGround
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.proof

COMMIT = "write SqlSnapshots.commit"
PLACES = [
    (Compact(), COMMIT, TakeOver()),
    (Compact(), COMMIT, Append()),
    (Compact(), COMMIT, Rewind(FOLDED)),
    (Compact(), COMMIT, Widen()),
    (Compact(), COMMIT, Collect()),
    (Compact(), COMMIT, Bury()),
    (Append(), "write SqlChunkQueue.commit_some", Compact()),
    (Rewind(FOLDED), "write SqlChunkQueue.commit_some", Compact()),
    (Collect(), "write SqlGarbage.forget", Compact()),
]


@pytest.fixture
def server(postgres_server: PostgresServer) -> Iterator[str]:
    database = postgres_server.create_database()
    yield postgres_server.url(database)
    postgres_server.drop_database(database)


@pytest.mark.spec("HC-011")
@pytest.mark.parametrize("has_key", [True, False], ids=["key", "no key"])
@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place[0].name}, {place[1]}, {place[2].name}")
def test_on_postgres_the_table_is_that_of_one_after_the_other(
    readers: tuple[Reader, Reader],
    place: tuple[Operation, str, Operation],
    server: str,
    has_key: bool,
    tmp_path: Path,
) -> None:
    first, point, second = place

    def stage(name: str) -> Stage:
        (tmp_path / name).mkdir()
        return prepared(PostgresGround(server, name), tmp_path / name, has_key=has_key)

    at = Cell(stage("tried"), first, second).points().index(point)

    Cell(stage("played"), first, second).play(at, *readers)
