"""The faulty database itself: it fails where it was told to, once, and a dry run leaves nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.faults import AFTER_COMMIT, BEFORE_COMMIT, Crash, FaultyDatabase, points_of
from tests.support.grounds import T0, SqliteGround, catalog_on, opened
from tests.support.writes import held_chunk

from hakiri.catalog.sql.database import Database

POINTS_OF_A_NUMBER = ("count_on", BEFORE_COMMIT, AFTER_COMMIT)


@pytest.fixture
def ground(tmp_path: Path) -> SqliteGround:
    ground = SqliteGround(tmp_path / "meta.sqlite")
    ground.migrate()
    return ground


@pytest.fixture
def database(ground: SqliteGround) -> Iterator[Database]:
    database = ground.database()
    yield database
    database.close()


def test_the_points_of_an_operation_are_found_without_doing_it(
    ground: SqliteGround, database: Database
) -> None:
    before = ground.dump()

    assert points_of(database, lambda catalog: catalog.number("n")) == POINTS_OF_A_NUMBER

    assert ground.dump() == before


def test_the_points_of_a_commit_are_all_its_statements(ground: SqliteGround, database: Database) -> None:
    with opened(ground) as catalog:
        held = held_chunk(catalog, "p")

    points = points_of(
        database, lambda catalog: catalog.queue.commit(held.attempt, held.commit, T0, held.lease)
    )

    assert {"lock_pipeline", "lease", "finish_chunks", "write_cursor", "add_edges"} <= set(points)
    assert {"add_schema_change", "first_table_schema", "bump_revision"} <= set(points)
    assert points[-2:] == (BEFORE_COMMIT, AFTER_COMMIT)


def test_an_operation_that_writes_nothing_has_no_points(database: Database) -> None:
    with pytest.raises(AssertionError, match="wrote nothing"):
        points_of(database, lambda catalog: catalog.pipelines.all())


@pytest.mark.parametrize("point", range(len(POINTS_OF_A_NUMBER)))
def test_a_fault_is_at_its_point_and_there_once(database: Database, point: int) -> None:
    faulty = FaultyDatabase(database)
    catalog = catalog_on(faulty)
    faulty.fail_at(point)

    with pytest.raises(Crash):
        catalog.number("n")

    assert tuple(faulty.points) == POINTS_OF_A_NUMBER[: point + 1]
    is_kept = POINTS_OF_A_NUMBER[point] == AFTER_COMMIT
    assert catalog.number("n") == (2 if is_kept else 1)
    assert faulty.tries == 2
