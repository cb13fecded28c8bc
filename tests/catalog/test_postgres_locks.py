"""Others in the way on Postgres: conflicts are tried again, and locks waited for, but not for ever."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import pytest
from tests.support.faults import FaultyDatabase
from tests.support.grounds import IMPATIENT, T0, TTL, PostgresGround, catalog_on, opened
from tests.support.postgres import is_soon
from tests.support.sessions import (
    AT_COMMIT,
    AT_STATEMENT,
    Session,
    alter_database,
    failing,
    is_waiting,
    number,
    session_on,
)
from tests.support.writes import declared, planned, step, table_of

from hakiri.catalog.errors import CatalogBusy, CatalogError
from hakiri.core.ids import NodeId, RunId

pytestmark = pytest.mark.spec("AD-011")

LOCK = "SELECT * FROM pipeline_state FOR UPDATE"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0"


@pytest.fixture
def session(postgres_ground: PostgresGround) -> Iterator[Session]:
    with session_on(postgres_ground) as session:
        yield session


def full_text(error: CatalogError) -> str:
    return f"{error.code}: {error}\n{error.hint}"


@pytest.mark.parametrize("when", [AT_STATEMENT, AT_COMMIT], ids=["at a statement", "at COMMIT"])
@pytest.mark.parametrize("code", ["40001", "40P01", "57P01"])
def test_what_may_succeed_the_next_time_is_tried_again(
    postgres_ground: PostgresGround, session: Session, code: str, when: str
) -> None:
    name, receipts = f"{code} {when}", postgres_ground.receipts()
    with opened(postgres_ground) as catalog:
        with failing(session, code, when, once=True):
            assert catalog.number(name) == 1
        assert catalog.number(name) == 2
        assert postgres_ground.receipts() == receipts + 2


def test_conflicts_that_do_not_end_are_not_tried_for_ever(
    postgres_ground: PostgresGround, session: Session
) -> None:
    with opened(postgres_ground, IMPATIENT) as catalog:
        with failing(session, "40001", AT_COMMIT), pytest.raises(CatalogBusy):
            catalog.number("endless")
        assert catalog.number("endless") == 1


def test_a_deadlock_is_solved_by_trying_again(postgres_ground: PostgresGround, session: Session) -> None:
    alter_database(session, "SET deadlock_timeout = '10ms'")
    database = FaultyDatabase(postgres_ground.database())
    with catalog_on(database) as catalog, ThreadPoolExecutor(1) as other:
        crossed = declared(catalog, "crossed")
        catalog.schemas.record(step("crossed"), crossed, T0)
        session.execute("SET deadlock_timeout = '1min'")  # so that it is not the one that gives in
        session.execute("BEGIN")
        session.execute("SELECT * FROM table_state WHERE table_name = %s FOR UPDATE", (table_of("crossed"),))

        def cross() -> None:
            session.execute("SELECT * FROM pipeline_state WHERE pipeline_id = 'crossed' FOR UPDATE")
            session.execute("COMMIT")

        def start_crossing() -> None:
            """Have the session wait for what the write has locked, which goes on to what the session has."""
            crossings.append(other.submit(cross))
            with session_on(postgres_ground) as watcher:
                assert is_soon(lambda: is_waiting(watcher, session.info.backend_pid))

        crossings: list[Future[None]] = []
        database.fail_at(1, start_crossing)
        tries = database.tries

        assert catalog.schemas.record(replace(step("crossed"), based_on=1), crossed, T0).version == 2

        crossings[0].result()
        assert database.tries >= tries + 2
        assert [change.version for change in catalog.schemas.log(table_of("crossed"))] == [1, 2]


def test_a_lock_that_is_held_for_too_long_is_not_waited_for(
    postgres_ground: PostgresGround, session: Session
) -> None:
    with opened(postgres_ground, IMPATIENT) as catalog:
        locked = declared(catalog, "locked")
        with session.transaction():
            session.execute(LOCK)
            with pytest.raises(CatalogBusy) as failed:
                planned(catalog, "locked")
            assert catalog.chunks.tally(locked).total == 0

        planned(catalog, "locked")
        assert catalog.chunks.tally(locked).total == 2
    assert full_text(failed.value) == (
        "catalog.busy: the catalog `postgresql://test#test` stays locked by another program\n"
        "end the program that holds a write transaction open, then run the command again"
    )


def test_a_lock_that_is_let_go_in_time_is_waited_for(
    postgres_ground: PostgresGround, session: Session
) -> None:
    with opened(postgres_ground) as catalog, ThreadPoolExecutor(1) as other:
        locked = declared(catalog, "locked a while")
        with session.transaction(), session_on(postgres_ground) as watcher:
            session.execute(LOCK)
            planning = other.submit(planned, catalog, "locked a while")
            assert is_soon(lambda: number(watcher, WAITING) == 1)

        assert planning.result() == locked
        assert catalog.chunks.tally(locked).pending == 2


def test_chunks_that_someone_locked_by_hand_are_passed_over(
    postgres_ground: PostgresGround, session: Session
) -> None:
    with opened(postgres_ground, IMPATIENT) as catalog:
        pipeline = planned(catalog, "locked chunks", 4)
        who = RunId("r"), NodeId("n"), T0

        with session.transaction():
            session.execute("SELECT * FROM pipeline_chunks WHERE chunk_id IN (1, 3) FOR UPDATE")
            for tables in (None, [table_of("locked chunks")]):
                taken = catalog.queue.claim_some(pipeline, *who, ttl=TTL, limit=1, tables=tables)
                assert [attempt.chunk for attempt in taken] == [2 if tables is None else 4]

        rest = catalog.queue.claim_some(pipeline, *who, ttl=TTL, limit=9)
        assert [attempt.chunk for attempt in rest] == [1, 3]
