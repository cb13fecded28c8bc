"""A Postgres that is away, full or read-only: every fault is waited out or ends in a clear error."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import sql
from tests.support.faults import BEFORE_COMMIT, FaultyDatabase
from tests.support.grounds import IMPATIENT, T0, TTL, PostgresGround, catalog_on, opened
from tests.support.postgres import PostgresServer, is_soon
from tests.support.sessions import (
    AT_COMMIT,
    AT_STATEMENT,
    Session,
    alter_database,
    backends,
    end_backends,
    failing,
    session_on,
)
from tests.support.writes import declared, held_chunk, planned

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkCommit
from hakiri.catalog.errors import (
    CatalogDamaged,
    CatalogError,
    CatalogFull,
    CatalogReadOnly,
    CatalogUnreachable,
)
from hakiri.catalog.postgres.words import is_lost
from hakiri.core.ids import NodeId, PipelineId, RunId

pytestmark = [pytest.mark.proof, pytest.mark.spec("AD-011")]

WORKERS = 8
CHUNKS = 48
SCHEMA = "test"
PIPELINE = PipelineId("p")


@pytest.fixture
def ground(postgres_url: str) -> PostgresGround:
    ground = PostgresGround(postgres_url, SCHEMA)
    ground.migrate()
    return ground


@pytest.fixture
def session(ground: PostgresGround) -> Iterator[Session]:
    with session_on(ground) as session:
        yield session


def full_text(error: CatalogError) -> str:
    return f"{error.code}: {error}\n{error.hint}"


def work_off(catalog: Catalog, worker: int, wait_for_others: Callable[[], object]) -> list[int]:
    """Claim and commit until there is nothing left; the chunks that this worker has done."""
    done: list[int] = []
    while attempt := catalog.queue.claim(PIPELINE, RunId("r"), NodeId(f"n{worker}"), T0, ttl=TTL):
        catalog.queue.commit(attempt, ChunkCommit(rows=1, bytes=1, manifest="{}", cursor="1"), T0)
        done.append(attempt.chunk)
        wait_for_others()
    return done


def restart_fast(server: PostgresServer) -> None:
    server.restart("fast")


def restart_immediately(server: PostgresServer) -> None:
    server.restart("immediate")


def kill_and_start(server: PostgresServer) -> None:
    server.kill()
    server.start_again()


@pytest.mark.spec("AD-003")
@pytest.mark.parametrize("restart", [restart_fast, restart_immediately, kill_and_start])
def test_a_restart_in_the_middle_of_work_is_not_noticed_by_the_workers(
    ground: PostgresGround, postgres_server: PostgresServer, restart: Callable[[PostgresServer], None]
) -> None:
    with opened(ground) as catalog, ThreadPoolExecutor(WORKERS) as pool:
        planned(catalog, "p", CHUNKS)
        progress = threading.Semaphore(0)

        workers = [pool.submit(work_off, catalog, n, progress.release) for n in range(WORKERS)]
        for _ in range(CHUNKS // 3):
            progress.acquire()
        restart(postgres_server)

        done = [chunk for worker in workers for chunk in worker.result()]
        assert sorted(done) == list(range(1, CHUNKS + 1))
        assert {chunk.attempts for chunk in catalog.chunks.page(PIPELINE)} == {1}
        assert catalog.chunks.tally(PIPELINE).done == CHUNKS
        assert catalog.check() == ()


def test_a_server_that_is_away_for_too_long_is_called_unreachable_until_it_is_back(
    ground: PostgresGround, postgres_server: PostgresServer
) -> None:
    with opened(ground, IMPATIENT) as catalog:
        catalog.number("n")
        postgres_server.kill()
        try:
            with pytest.raises(CatalogUnreachable) as writing:
                catalog.number("n")
            with pytest.raises(CatalogUnreachable) as reading:
                catalog.pipelines.get(PIPELINE)
        finally:
            postgres_server.start_again()

        assert catalog.number("n") == 2
    assert writing.value.why.endswith("No such file or directory")
    assert full_text(writing.value) == (
        f"catalog.unreachable: the catalog `postgresql://test#test` cannot be reached: {writing.value.why}\n"
        "check host, database, user and password of `catalog.url` and that the server is up; nothing was lost"
    )
    assert full_text(reading.value) == full_text(writing.value)


def test_connections_that_the_server_ended_for_being_idle_are_replaced(
    ground: PostgresGround, session: Session
) -> None:
    alter_database(session, "SET idle_session_timeout = '10ms'")
    with opened(ground) as catalog:
        catalog.number("n")
        assert is_soon(lambda: backends(session) == 0)

        assert catalog.number("n") == 2


@pytest.mark.parametrize("code", ["57P01", "57P02", "57P03", "57P05", "25P03", "08006", "53300"])
def test_a_connection_that_was_cut_off_is_known_by_its_code(code: str) -> None:
    assert is_lost(psycopg.errors.lookup(code)())


def test_a_connection_ended_by_hand_at_any_point_of_a_write_does_it_no_harm(
    ground: PostgresGround, session: Session
) -> None:
    database = FaultyDatabase(ground.database())
    with catalog_on(database) as catalog:
        number = 0
        while True:
            held = held_chunk(catalog, f"p{number}")
            database.fail_at(number, lambda: end_backends(session))
            catalog.queue.commit(held.attempt, held.commit, T0, held.lease)

            chunk = catalog.chunks.get(held.attempt.pipeline, held.attempt.chunk)
            assert chunk is not None
            assert (chunk.status, chunk.attempts, chunk.cursor_committed) == ("done", 1, held.commit.cursor)
            assert len(catalog.schemas.log(held.attempt.table)) == 1
            assert len(catalog.lineage.parents(held.commit.edges[0].child)) == 2
            if database.points[number] == BEFORE_COMMIT:
                break
            number += 1
        assert number > 10
        assert catalog.check() == ()


def test_a_database_that_is_read_only_may_be_read(ground: PostgresGround, session: Session) -> None:
    with opened(ground) as catalog:
        declared(catalog, "p")
    alter_database(session, "SET default_transaction_read_only = on")

    with opened(ground) as catalog:
        with pytest.raises(CatalogReadOnly) as failed:
            catalog.number("n")
        assert catalog.pipelines.get(PIPELINE) is not None
        alter_database(session, "RESET default_transaction_read_only")
        end_backends(session)
        assert catalog.number("n") == 1

    assert full_text(failed.value) == (
        "catalog.read_only: the catalog `postgresql://test#test` cannot be written to\n"
        "give this user the right to write it, or run as the user who owns it"
    )


@pytest.mark.parametrize("when", [AT_STATEMENT, AT_COMMIT], ids=["at a statement", "at COMMIT"])
def test_a_full_disk_of_the_server_keeps_nothing_of_a_write(
    ground: PostgresGround, session: Session, when: str
) -> None:
    with opened(ground) as catalog, ground.looking() as dump:
        before = dump()
        with failing(session, "53100", when), pytest.raises(CatalogFull) as failed:
            catalog.number("n")

        assert dump() == before
        assert ground.receipts() == 0
        assert catalog.number("n") == 1
    assert full_text(failed.value) == (
        "catalog.full: there is no room left to write to the catalog `postgresql://test#test`\n"
        "free some space on its disk and run the command again; what was committed is safe"
    )


def test_a_catalog_whose_tables_are_gone_is_damaged(ground: PostgresGround, session: Session) -> None:
    with opened(ground) as catalog:
        session.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(SCHEMA)))

        with pytest.raises(CatalogDamaged) as reading:
            catalog.pipelines.get(PIPELINE)
        with pytest.raises(CatalogDamaged):
            catalog.number("n")

    assert str(reading.value) == (
        'the catalog `postgresql://test#test` is damaged: relation "test.pipeline_state" does not exist'
    )
