"""Faults of a catalog in a file: each ends in a clear error, and nothing is half written."""

from __future__ import annotations

import resource
import sqlite3
import threading
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from tests.support.grounds import IMPATIENT, T0, SqliteGround, catalog_on, opened
from tests.support.small_disk import can_mount, mount_disk, resize_disk
from tests.support.victims import held_by_child, in_child, stay_ready
from tests.support.writes import declared

from hakiri.catalog.contract.chunks import ChunkTally, NewChunk
from hakiri.catalog.errors import (
    CatalogBusy,
    CatalogError,
    CatalogFull,
    CatalogUnreachable,
)
from hakiri.core.ids import PipelineId, TableName

pytestmark = pytest.mark.spec("AD-009")

PIPELINE = PipelineId("p")
MANY = [NewChunk(table=TableName("t"), predicate="x" * 1000)] * 2000
NO_LIMIT = resource.RLIM_INFINITY


@pytest.fixture
def ground(tmp_path: Path) -> SqliteGround:
    ground = SqliteGround(tmp_path / "meta.sqlite")
    ground.migrate()
    return ground


def full_text(error: CatalogError) -> str:
    return f"{error.code}: {error}\n{error.hint}"


def fill_up(path: Path) -> str:
    """Plan more than a disk of 900 kB can take; then give it room."""
    mount_disk(path.parent, "900k")
    ground = SqliteGround(path)
    ground.migrate()
    with opened(ground) as catalog:
        declared(catalog, PIPELINE)
        before = ground.dump()
        with pytest.raises(CatalogFull) as failed:
            catalog.chunks.plan(PIPELINE, "first", MANY, T0)
        assert ground.dump() == before
        assert catalog.chunks.tally(PIPELINE) == ChunkTally()
        resize_disk(path.parent, "60m")
        assert catalog.chunks.plan(PIPELINE, "first", MANY, T0) == len(MANY)
        assert catalog.check() == ()
    return full_text(failed.value)


def test_a_full_disk_keeps_nothing_of_a_write_and_lets_the_same_handle_go_on(tmp_path: Path) -> None:
    if not can_mount():
        pytest.skip("this system does not let a process have a disk of its own")
    path = tmp_path / "meta.sqlite"

    assert in_child(fill_up, path) == (
        f"catalog.full: there is no room left to write to the catalog `sqlite:///{path}`\n"
        "free some space on its disk and run the command again; what was committed is safe"
    )


def test_a_file_that_may_not_grow_keeps_nothing_of_a_write(ground: SqliteGround) -> None:
    database = ground.database()
    with catalog_on(database) as catalog:
        declared(catalog, PIPELINE)
        before = ground.dump()
        # The limit is one of the connection, not of the file.
        assert database._writer is not None
        database._writer.execute("PRAGMA max_page_count = 150")

        with pytest.raises(CatalogFull):
            catalog.chunks.plan(PIPELINE, "first", MANY, T0)

        assert ground.dump() == before
        database._writer.execute("PRAGMA max_page_count = 1000000")
        assert catalog.chunks.plan(PIPELINE, "first", MANY, T0) == len(MANY)
        assert catalog.check() == ()


def write_against_a_limit(ground: SqliteGround) -> str:
    """Plan more than a file may hold of those that this process writes; then lift the limit."""
    with opened(ground) as catalog:
        declared(catalog, PIPELINE)
        before = ground.dump()
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, NO_LIMIT))
        with pytest.raises(CatalogUnreachable) as failed:
            catalog.chunks.plan(PIPELINE, "first", MANY, T0)
        assert ground.dump() == before
        resource.setrlimit(resource.RLIMIT_FSIZE, (NO_LIMIT, NO_LIMIT))
        assert catalog.chunks.plan(PIPELINE, "first", MANY, T0) == len(MANY)
        assert catalog.check() == ()
    return full_text(failed.value)


def test_a_write_that_the_system_refuses_keeps_nothing_and_lets_the_same_handle_go_on(
    ground: SqliteGround,
) -> None:
    assert in_child(write_against_a_limit, ground) == (
        f"catalog.unreachable: the catalog `sqlite:///{ground.path}` cannot be reached: disk I/O error\n"
        "check `catalog.url`, and that this user may read and write the file and its folder"
    )


def hold_the_write_lock(path: Path, told: Connection) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        stay_ready(told)


def test_a_write_lock_that_is_held_for_too_long_is_not_waited_for(ground: SqliteGround) -> None:
    with opened(ground, IMPATIENT) as catalog:
        with held_by_child(hold_the_write_lock, ground.path) as pid:
            with pytest.raises(CatalogBusy) as failed:
                catalog.number("n")
            assert catalog.chunks.tally(PIPELINE) == ChunkTally()

        assert catalog.number("n") == 1
    assert full_text(failed.value) == (
        f"catalog.busy: the catalog `sqlite:///{ground.path}` stays locked by process {pid}\n"
        "end the program that holds a write transaction open, then run the command again"
    )


def test_a_write_lock_that_is_let_go_in_time_is_waited_for(ground: SqliteGround) -> None:
    with opened(ground) as catalog, closing(sqlite3.connect(ground.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = threading.Thread(target=catalog.number, args=("n",))
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()

        other.execute("ROLLBACK")

        waiting.join()
        assert catalog.number("n") == 2
