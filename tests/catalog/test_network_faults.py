"""A network that is slow, cut or gone for a while: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import threading

import pytest
from tests.support.grounds import IMPATIENT, T0, opened
from tests.support.lines import ALWAYS, BEGIN, COMMIT, Line
from tests.support.postgres import is_soon
from tests.support.proxy import Side
from tests.support.sessions import alter_database, number, session_on
from tests.support.writes import HeldChunk, held_chunk

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.revocations import Scope
from hakiri.catalog.errors import CatalogUnreachable, CommitUnknown
from hakiri.catalog.postgres.database import _TIDY_EVERY

pytestmark = [pytest.mark.proof, pytest.mark.spec("AD-011")]

LAST_BYTES = 24
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0"
SCOPE = Scope(project="shop", tenant="t", principal_class="agent")


@pytest.mark.spec("AD-003")
def test_what_is_counted_is_counted_once_when_answers_are_lost(line: Line) -> None:
    with opened(line.faulty) as catalog:
        line.proxy.swallow_answer_of(COMMIT, times=6)
        numbers = [catalog.number("lost answers") for _ in range(3)]
        epochs = [catalog.revocations.bump(SCOPE, T0) for _ in range(3)]

        assert numbers == epochs == [1, 2, 3]


def commit(catalog: Catalog, held: HeldChunk) -> None:
    catalog.queue.commit(held.attempt, held.commit, T0, held.lease)


def assert_committed_once(catalog: Catalog, held: HeldChunk) -> None:
    chunk = catalog.chunks.get(held.attempt.pipeline, held.attempt.chunk)
    cursor = catalog.cursors.get(held.attempt.pipeline, held.attempt.table)
    assert chunk is not None
    assert cursor is not None
    assert (chunk.status, chunk.attempts, cursor.value) == ("done", 1, held.commit.cursor)
    assert [change.version for change in catalog.schemas.log(held.attempt.table)] == [1]
    assert len(catalog.lineage.parents(held.commit.edges[0].child)) == len(held.commit.edges)


def bytes_of_a_commit(line: Line, side: Side, name: str) -> int:
    """How many bytes one side sends during a commit on a stage whose name has this length."""
    with opened(line.faulty) as catalog:
        held = held_chunk(line.direct, name)
        catalog.pipelines.all()
        line.proxy.reset_after(**{f"bytes_from_{side}": ALWAYS})
        commit(catalog, held)
        left = line.proxy._faults.bytes_left[side]
        line.proxy.heal()
        return ALWAYS - left


@pytest.mark.parametrize("side", ["client", "server"])
def test_a_reset_after_any_number_of_bytes_is_survived(line: Line, side: Side) -> None:
    total = bytes_of_a_commit(line, side, f"{side} ?????")
    # Some on the way, and each of the last: there, whether it is done is in doubt.
    positions = [*range(0, total - LAST_BYTES, total // 12), *range(total - LAST_BYTES, total + 1)]
    fired = line.proxy.faults_fired
    for position in positions:
        held = held_chunk(line.direct, f"{side} {position:05}")
        with opened(line.faulty) as catalog:
            catalog.pipelines.all()
            line.proxy.reset_after(**{f"bytes_from_{side}": position})

            commit(catalog, held)

            line.proxy.heal()
        assert_committed_once(line.direct, held)
    assert line.direct.check() == ()
    # Numbers that have grown since the measurement make some answers longer.
    assert len(positions) - 4 <= line.proxy.faults_fired - fired <= len(positions)


def test_a_slow_network_only_takes_longer(line: Line) -> None:
    with opened(line.faulty) as catalog:
        held = held_chunk(line.direct, "delayed")
        line.proxy.delay(0.005)

        commit(catalog, held)

        assert_committed_once(line.direct, held)


def test_a_network_that_is_gone_for_a_while_is_waited_for(line: Line) -> None:
    with opened(line.faulty) as catalog:
        held = held_chunk(line.direct, "gone")
        catalog.pipelines.all()
        line.proxy.drop_all()
        waiting = threading.Thread(target=commit, args=(catalog, held))
        waiting.start()
        refused = line.proxy.connections
        assert is_soon(lambda: line.proxy.connections > refused + 1)

        line.proxy.heal()

        waiting.join()
        assert_committed_once(line.direct, held)


def test_a_network_that_is_gone_for_too_long_is_an_error(line: Line) -> None:
    with opened(line.faulty, IMPATIENT) as catalog:
        held = held_chunk(line.direct, "gone for long")
        line.proxy.drop_before(BEGIN, times=ALWAYS)

        with pytest.raises(CatalogUnreachable):
            commit(catalog, held)

        line.proxy.heal()
        commit(catalog, held)
        assert_committed_once(line.direct, held)


def test_a_commit_that_is_still_on_its_way_is_waited_for(line: Line) -> None:
    """The connection is cut when COMMIT is sent, and the server takes its time to do it."""
    total = bytes_of_a_commit(line, "client", "slow 1")
    with opened(line.faulty) as catalog, session_on(line.ground) as session:
        held = held_chunk(line.direct, "slow 2")
        catalog.pipelines.all()
        session.execute(
            """CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END $$"""
        )
        session.execute(
            """CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON lineage DEFERRABLE INITIALLY DEFERRED
               FOR EACH ROW EXECUTE FUNCTION take_time()"""
        )
        receipts, fired = line.ground.receipts(), line.proxy.faults_fired
        line.proxy.reset_after(bytes_from_client=total)
        waiting = threading.Thread(target=commit, args=(catalog, held))

        waiting.start()

        assert is_soon(lambda: number(session, WAITING) == 1)
        waiting.join()
        session.execute("DROP FUNCTION take_time CASCADE")
        assert line.proxy.faults_fired == fired + 1
        assert line.ground.receipts() == receipts + 1
        assert_committed_once(line.direct, held)


def test_a_commit_in_doubt_stays_so_when_the_next_server_refuses_to_write(line: Line) -> None:
    """As when another server, which is not yet ready to be written to, stands in for the one that is gone."""
    with opened(line.faulty) as catalog, session_on(line.ground) as session:
        catalog.pipelines.all()
        alter_database(session, "SET default_transaction_read_only = on")
        line.proxy.swallow_answer_of(COMMIT)
        try:
            with pytest.raises(CommitUnknown):
                catalog.number("in doubt")
        finally:
            alter_database(session, "RESET default_transaction_read_only")

        assert line.direct.number("in doubt") == 2


def test_an_error_while_old_receipts_are_removed_does_not_hide_a_write(line: Line) -> None:
    with opened(line.faulty, IMPATIENT) as catalog:
        written = [catalog.number("tidy") for _ in range(_TIDY_EVERY - 1)]
        line.proxy.drop_before(b"DELETE FROM", times=ALWAYS)

        with pytest.raises(CatalogUnreachable):
            catalog.number("tidy")

        line.proxy.heal()
        assert catalog.number("tidy") == len(written) + 1
