"""No loss and no duplicate: while others write, when readers are killed, and when the server goes away."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.sources.cdc.helpers import Replica, begun, connected, connector_to, make_pages, table_now
from tests.sources.cdc.writers import BOOKS, load, read_for_ever, writers
from tests.support.postgres import PostgresServer, is_soon
from tests.support.seeds import chosen_seed
from tests.support.victims import assert_killed, start

from hakiri.sources.contract import Batch, Read
from hakiri.sources.errors import PermanentFailure, TransientFailure

pytestmark = pytest.mark.proof

Sql = psycopg.Connection[tuple[Any, ...]]


@contextmanager
def setting(sql: Sql, name: str, value: str) -> Iterator[None]:
    """A setting of the whole server, until the block ends."""
    sql.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
    sql.execute("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        sql.execute(f"ALTER SYSTEM RESET {name}".encode())
        sql.execute("SELECT pg_reload_conf()")


@pytest.mark.spec("HP-109")
def test_a_copy_that_is_kept_while_others_write_is_the_table_at_every_stop(url: str, sql: Sql) -> None:
    seed = chosen_seed()
    sql.execute(BOOKS)
    replica, reads = Replica("books"), 0
    for stop in range(3):
        with writers(url, 4, seed + 100 * stop):
            for _ in range(8):
                replica.read(connector_to(url))
                reads += 1
        replica.read(connector_to(url))
        assert replica.rows == table_now(url, "books"), f"stop {stop} with seed {seed}"
    anew = begun(connector_to(url), "books")

    assert anew.rows == replica.rows
    assert reads == 24


@pytest.mark.spec("HP-109")
def test_tables_are_read_side_by_side_while_others_write(url: str, sql: Sql) -> None:
    seed = chosen_seed()
    sql.execute(BOOKS)
    for name in ("films", "songs"):
        sql.execute(f"CREATE TABLE {name} (id int PRIMARY KEY, n int)".encode())
        sql.execute(f"INSERT INTO {name} SELECT n, 0 FROM generate_series(1, 500) n".encode())
    replicas = [Replica(name) for name in ("books", "films", "songs")]

    def follow(replica: Replica) -> None:
        for _ in range(6):
            replica.read(connector_to(url))

    with writers(url, 2, seed):
        threads = [threading.Thread(target=follow, args=(replica,)) for replica in replicas]
        for thread in threads:
            thread.start()
        for round_number in range(40):
            for name in ("films", "songs"):
                sql.execute(f"UPDATE {name} SET n = n + 1 WHERE id % 7 = {round_number % 7}".encode())
                sql.execute(f"UPDATE {name} SET id = -id WHERE id % 11 = {round_number % 11}".encode())
        for thread in threads:
            thread.join()
    for replica in replicas:
        replica.read(connector_to(url))

    assert all(replica.rows == table_now(url, replica.table) for replica in replicas), f"seed {seed}"


@pytest.mark.spec("HP-109")
@pytest.mark.spec("HP-027")
def test_readers_that_are_killed_at_any_moment_lose_nothing(url: str, sql: Sql, tmp_path: Path) -> None:
    seed = chosen_seed()
    dice = random.Random(seed)
    sql.execute(BOOKS)
    sql.execute("INSERT INTO books SELECT n, 'first', repeat('b', 500) FROM generate_series(100, 5000) n")
    file, started = tmp_path / "replica", tmp_path / "started"
    cursors = {str(None)}
    with writers(url, 2, seed):
        for number in range(6):
            started.unlink(missing_ok=True)
            reader = start(read_for_ever, url, file, started)
            assert is_soon(started.exists)
            if number % 2:  # every other one gets somewhere, however slow the machine is
                assert is_soon(lambda: str(load(file).cursor) not in cursors)
            threading.Event().wait(dice.uniform(0.0, 0.8))
            reader.kill()
            assert_killed(reader)
            cursors.add(str(load(file).cursor))
    replica = load(file)
    replica.read(connector_to(url))

    assert replica.rows == table_now(url, "books"), f"seed {seed}"
    assert len(cursors) > 3


def test_readers_that_give_up_at_any_batch_lose_nothing(url: str, sql: Sql) -> None:
    seed = chosen_seed()
    dice = random.Random(seed)
    sql.execute(BOOKS)
    replica = Replica("books")
    with writers(url, 3, seed):
        for _ in range(25):
            reading = connector_to(url).open(Read(table="books", cursor=replica.cursor))
            for batch in reading:
                if dice.random() < 0.4:
                    replica.pending = []
                    break
                replica.take(batch)
            reading.close()  # type: ignore[attr-defined]
    replica.read(connector_to(url))

    assert replica.rows == table_now(url, "books"), f"seed {seed}"


def test_a_snapshot_that_was_broken_off_is_taken_anew_and_exact(url: str, sql: Sql) -> None:
    sql.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    sql.execute("INSERT INTO t SELECT n, 'first' FROM generate_series(1, 100000) n")
    reading = connector_to(url).open(Read(table="t"))
    assert next(reading).cursor is None
    reading.close()  # type: ignore[attr-defined]
    sql.execute("UPDATE t SET v = 'second' WHERE id % 2 = 0")
    sql.execute("DELETE FROM t WHERE id % 3 = 0")

    replica = Replica("t")
    came = replica.read(connector_to(url))
    sql.execute("UPDATE t SET v = 'third' WHERE id = 1")
    later = replica.read(connector_to(url))

    assert len(came) == len({row["id"] for row in came}) == 66_667
    assert [(row["id"], row["v"]) for row in later] == [(1, "third")]
    assert replica.rows == table_now(url, "t")


def test_a_server_that_crashes_in_the_middle_is_read_on_later(
    logical_server: PostgresServer, url: str, database: str
) -> None:
    with connected(url) as sql:
        sql.execute("CREATE TABLE t (id int PRIMARY KEY, v text, w text)")
        sql.execute("INSERT INTO t SELECT n, 'first', repeat('w', 500) FROM generate_series(1, 60000) n")
    replica = Replica("t")
    reading = connector_to(url).open(Read(table="t"))
    next(reading)
    logical_server.restart("immediate")
    with pytest.raises(TransientFailure):
        list(reading)
    replica.read(connector_to(url))
    with connected(url) as sql:
        sql.execute("UPDATE t SET v = 'second'")
        sql.execute("DELETE FROM t WHERE id > 10")
    reading = connector_to(url).open(Read(table="t", cursor=replica.cursor))
    next(reading)
    logical_server.restart("immediate")
    with pytest.raises(TransientFailure):
        list(reading)

    replica.read(connector_to(url))

    assert replica.rows == table_now(url, "t")


def test_a_large_value_is_fetched_only_when_its_transaction_can_be_seen(url: str, sql: Sql) -> None:
    make_pages(sql, 1)
    replica = begun(connector_to(url), "pages")
    waits: list[float] = []

    def write() -> None:
        with psycopg.connect(url) as other:
            other.execute("UPDATE pages SET body = repeat('b', 20000)")
            other.execute("UPDATE pages SET title = 'new'")
            other.commit()  # it is in the log, and waits for a standby that never comes

    writer = threading.Thread(target=write)
    with setting(sql, "synchronous_standby_names", "nobody"):
        writer.start()
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        assert is_soon(lambda: sql.execute(waiting.encode()).fetchone() == (1,))
        connector = connector_to(url)

        def wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 5:
                sql.execute("ALTER SYSTEM RESET synchronous_standby_names")
                sql.execute("SELECT pg_reload_conf()")
                writer.join()

        object.__setattr__(connector.context, "wait", wait)
        replica.read(connector)

    assert len(waits) >= 5
    assert replica.rows == table_now(url, "pages")
    assert replica.rows[1,]["body"] == "b" * 20_000


def test_a_log_that_was_thrown_away_is_told_as_a_loss(url: str, sql: Sql, database: str) -> None:
    sql.execute("CREATE TABLE t (id int PRIMARY KEY)")
    replica = begun(connector_to(url), "t")
    with setting(sql, "max_slot_wal_keep_size", "1MB"):
        for _ in range(4):
            sql.execute("CREATE TABLE noise AS SELECT repeat('x', 900) FROM generate_series(1, 20000)")
            sql.execute("DROP TABLE noise")
            sql.execute("SELECT pg_switch_wal()")
        sql.execute("CHECKPOINT")
        with pytest.raises(PermanentFailure) as caught:
            replica.read(connector_to(url))
        said = connector_to(url).check()

    assert str(caught.value) == (
        f"the server has thrown away the changes that slot `hakiri_{database}_t` stood for"
    )
    assert f"slot `hakiri_{database}_t` has lost its changes" in said
    sql.execute("INSERT INTO t VALUES (1)")
    anew = begun(connector_to(url), "t")
    sql.execute("INSERT INTO t VALUES (2)")
    assert [row["id"] for row in anew.read(connector_to(url))] == [2]


def test_a_slow_reader_of_a_large_backlog_holds_little_of_it(url: str, sql: Sql) -> None:
    sql.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    replica = begun(connector_to(url), "t")
    for _ in range(4):
        sql.execute(
            "INSERT INTO t SELECT n, repeat('x', 1000) FROM generate_series("
            "(SELECT coalesce(max(id), 0) + 1 FROM t), (SELECT coalesce(max(id), 0) + 25000 FROM t)) n"
        )

    largest, count = 0, 0
    batch: Batch
    for batch in connector_to(url).open(Read(table="t", cursor=replica.cursor)):
        largest = max(largest, batch.rows.nbytes)
        count += batch.rows.num_rows

    assert count == 100_000
    assert largest < 20 * 1024**2
