"""A process that is frozen in the middle of a write, as by SIGSTOP or on a laptop that is shut."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from tests.support.faults import FaultyDatabase, freeze_this_process, points_of
from tests.support.grounds import IMPATIENT, T0, Ground, PostgresGround, SqliteGround, catalog_on, opened
from tests.support.postgres import is_soon
from tests.support.victims import JOIN_SECONDS, SERVER, start, state_of
from tests.support.writes import HeldChunk, held_chunk, new_chunk

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkStatus
from hakiri.catalog.errors import CatalogBusy
from hakiri.core.backoff import Backoff
from hakiri.core.ids import PipelineId

pytestmark = [pytest.mark.proof, pytest.mark.spec("AD-011")]

# The point of a commit at which its process is frozen, counted from its end.
AT_STATEMENT, AT_COMMIT = -3, -2
PATIENT = Backoff(first_seconds=0.01, longest_seconds=1, budget_seconds=9)


def commit(catalog: Catalog, held: HeldChunk) -> None:
    catalog.queue.commit(held.attempt, held.commit, T0, held.lease)


def points_of_commit(ground: Ground, held: HeldChunk) -> tuple[str, ...]:
    with closing(ground.database()) as database:
        return points_of(database, lambda catalog: commit(catalog, held))


def commit_and_freeze(ground: Ground, held: HeldChunk, point: int, told: Connection) -> None:
    database = FaultyDatabase(ground.database(PATIENT))
    database.fail_at(point, freeze_this_process)
    with catalog_on(database) as catalog:
        commit(catalog, held)
    told.send(database.tries)


@contextmanager
def frozen(ground: Ground, held: HeldChunk, point: int) -> Iterator[tuple[int, Callable[[], int]]]:
    """A process that is frozen in a commit, and a call that wakes it and says how often it has tried."""
    ours, theirs = SERVER.Pipe(duplex=False)
    process = start(commit_and_freeze, ground, held, point, theirs)
    theirs.close()
    pid = process.pid
    assert pid is not None

    def woken() -> int:
        os.kill(pid, signal.SIGCONT)
        tries = int(ours.recv())
        process.join(JOIN_SECONDS)
        return tries

    try:
        assert is_soon(lambda: state_of(pid) == "T")
        yield pid, woken
    finally:
        process.kill()
        process.join()
        process.close()
        ours.close()


def plan_more(catalog: Catalog, name: str) -> int:
    """A write to the same pipeline."""
    return catalog.chunks.plan(PipelineId(name), "second", [new_chunk(name)], T0)


def assert_committed_once(catalog: Catalog, held: HeldChunk) -> None:
    chunk = catalog.chunks.get(held.attempt.pipeline, held.attempt.chunk)
    assert chunk is not None
    assert (chunk.status, chunk.attempts) == (ChunkStatus.DONE, 1)
    assert chunk.cursor_committed == held.commit.cursor
    assert len(catalog.schemas.log(held.attempt.table)) == 1
    assert len(catalog.lineage.parents(held.commit.edges[0].child)) == len(held.commit.edges)
    assert catalog.check() == ()


@pytest.mark.parametrize("at", [AT_STATEMENT, AT_COMMIT], ids=["at a statement", "at COMMIT"])
def test_on_postgres_others_go_on_and_the_frozen_one_writes_when_it_wakes(
    postgres_ground: PostgresGround, at: int
) -> None:
    name = f"frozen {at}"
    with opened(postgres_ground, PATIENT) as catalog:
        held = held_chunk(catalog, name)
        points = points_of_commit(postgres_ground, held)

        with frozen(postgres_ground, held, len(points) + at) as (_, woken):
            assert plan_more(catalog, name) == 1
            assert catalog.chunks.tally(PipelineId(name)).done == 0

            assert woken() == 2

        assert_committed_once(catalog, held)


def test_on_sqlite_others_are_told_who_it_is_and_go_on_when_it_wakes(tmp_path: Path) -> None:
    ground = SqliteGround(tmp_path / "meta.sqlite")
    ground.migrate()
    with opened(ground, IMPATIENT) as catalog:
        held = held_chunk(catalog, "p")
        points = points_of_commit(ground, held)

        with frozen(ground, held, len(points) + AT_COMMIT) as (pid, woken):
            with pytest.raises(CatalogBusy) as failed:
                plan_more(catalog, "p")

            assert woken() == 1

        assert plan_more(catalog, "p") == 1
        assert_committed_once(catalog, held)
    assert f"{failed.value}\n{failed.value.hint}" == (
        f"the catalog `sqlite:///{ground.path}` stays locked by process {pid}, which is stopped\n"
        f"let it go on with `kill -CONT {pid}`, or end it with `kill -KILL {pid}`, then run the command again"
    )
