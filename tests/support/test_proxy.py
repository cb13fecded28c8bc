"""Every fault of the proxy, seen by a real client and checked on the real server."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from tests.support.postgres import PostgresServer, is_soon
from tests.support.proxy import FaultyProxy, Messages

HOURS = 3600.0


@pytest.fixture(scope="module")
def database(postgres_server: PostgresServer) -> Iterator[str]:
    name = postgres_server.create_database()
    yield name
    postgres_server.drop_database(name)


@pytest.fixture
def direct_url(postgres_server: PostgresServer, database: str) -> str:
    """To a database with one empty table, `t (n)`, and past the proxy."""
    url = postgres_server.url(database)
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute("CREATE TABLE t (n int)")
    return url


@pytest.fixture
def other_thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as other:
        yield other


@pytest.fixture
def proxy(postgres_server: PostgresServer, other_thread: ThreadPoolExecutor) -> Iterator[FaultyProxy]:
    """It ends before the other thread, which may be waiting for it."""
    with FaultyProxy(target=postgres_server.tcp_address) as proxy:
        yield proxy


@pytest.fixture
def url(postgres_server: PostgresServer, database: str, direct_url: str, proxy: FaultyProxy) -> str:
    """To the same database, through the proxy."""
    return postgres_server.url(database, over=proxy.address)


def rows(url: str) -> list[int]:
    with psycopg.connect(url) as connection:
        return [n for (n,) in connection.execute("SELECT n FROM t ORDER BY n")]


def ask(url: str, question: bytes) -> object:
    with psycopg.connect(url) as connection:
        return connection.execute(question).fetchone()


def insert(url: str, n: int) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO t VALUES (%s)", [n])


def first_message(database: str) -> bytes:
    body = struct.pack("!I", 196608) + b"user\0postgres\0database\0%s\0\0" % database.encode()
    return struct.pack("!I", len(body) + 4) + body


def query(statement: bytes) -> bytes:
    return b"Q" + struct.pack("!I", len(statement) + 5) + statement + b"\0"


def heard_before_the_reset(client: socket.socket) -> bytes:
    """What the server says until the connection is reset; one that ends in good order is a failure."""
    heard = b""
    client.settimeout(10)
    try:
        while chunk := client.recv(4096):
            heard += chunk
    except ConnectionResetError:
        return heard
    pytest.fail(f"the connection ended in good order after {heard!r}")


def test_a_proxy_without_faults_changes_nothing(proxy: FaultyProxy, url: str, direct_url: str) -> None:
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        with cursor.copy("COPY t FROM STDIN") as copy:
            for n in range(20_000):
                copy.write_row([n])
        through = cursor.execute("SELECT n, repeat('x', 100) FROM t").fetchall()
        large = cursor.execute("SELECT %s::text", ["y" * 2_000_000]).fetchone()

    assert through == [(n, "x" * 100) for n in range(20_000)]
    assert large == ("y" * 2_000_000,)
    assert rows(direct_url) == list(range(20_000))
    assert (proxy.connections, proxy.faults_fired) == (1, 0)


def test_a_client_that_would_rather_encrypt_is_told_not_to(url: str) -> None:
    assert rows(url.replace("sslmode=disable", "sslmode=prefer")) == []


def test_a_delay_holds_in_both_directions(proxy: FaultyProxy, url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        proxy.delay(0.1)
        began = time.monotonic()
        connection.execute("SELECT 1")
        seconds = time.monotonic() - began

    assert 0.2 <= seconds < 5
    assert proxy.faults_fired == 0


def test_what_is_delayed_goes_on_at_once_when_healed(
    proxy: FaultyProxy, url: str, other_thread: ThreadPoolExecutor
) -> None:
    proxy.delay(HOURS)
    waiting = other_thread.submit(ask, url, b"SELECT 2")
    with pytest.raises(TimeoutError):
        waiting.result(0.1)

    proxy.heal()

    assert waiting.result(10) == (2,)


def test_dropped_connections_come_back_only_when_healed(proxy: FaultyProxy, url: str) -> None:
    with psycopg.connect(url) as first, psycopg.connect(url) as second:
        proxy.drop_all()

        for connection in (first, second):
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url)
    refused = proxy.connections
    proxy.heal()

    assert rows(url) == []
    assert refused >= 3
    assert proxy.faults_fired == refused


def test_a_connection_is_dropped_while_its_client_waits(
    proxy: FaultyProxy, url: str, direct_url: str, other_thread: ThreadPoolExecutor
) -> None:
    waiting = other_thread.submit(ask, url, b"SELECT pg_sleep(600)")
    is_asked = b"SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
    assert is_soon(lambda: ask(direct_url, is_asked) is not None)

    proxy.drop_all()

    with pytest.raises(psycopg.OperationalError):
        waiting.result(10)
    assert proxy.faults_fired == 1


def test_a_dropped_connection_is_reset_and_not_closed(proxy: FaultyProxy) -> None:
    with socket.create_connection(proxy.address) as client:
        assert is_soon(lambda: proxy.connections == 1)
        proxy.drop_all()

        assert heard_before_the_reset(client) == b""


def test_exactly_the_bytes_before_a_reset_are_passed_on(proxy: FaultyProxy, database: str) -> None:
    proxy.reset_after(bytes_from_server=20)

    with socket.create_connection(proxy.address) as client:
        client.sendall(first_message(database))

        assert len(heard_before_the_reset(client)) == 20


def test_a_connection_is_reset_in_the_middle_of_an_answer(proxy: FaultyProxy, url: str) -> None:
    with psycopg.connect(url) as connection:
        proxy.reset_after(bytes_from_server=50_000)

        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT repeat('x', 100) FROM generate_series(1, 10000)")

    assert proxy.faults_fired == 1
    assert rows(url) == []


def test_a_connection_is_reset_in_the_middle_of_a_request(
    proxy: FaultyProxy, url: str, direct_url: str
) -> None:
    statement = "INSERT INTO t VALUES (1)"
    with psycopg.connect(url, autocommit=True) as connection:
        proxy.reset_after(bytes_from_client=len(statement))  # and the message around it is longer

        with pytest.raises(psycopg.OperationalError):
            connection.execute(statement)

    assert rows(direct_url) == []
    assert proxy.faults_fired == 1


def test_bytes_are_counted_from_the_call_on_and_to_the_last(proxy: FaultyProxy, url: str) -> None:
    begin, commit = (len(word) + 6 for word in ("BEGIN", "COMMIT"))  # kind, length, text, zero
    with psycopg.connect(url, autocommit=True) as connection:
        proxy.reset_after(bytes_from_client=begin + commit + 1)
        connection.execute("BEGIN")
        connection.execute("COMMIT")

        with pytest.raises(psycopg.OperationalError):
            connection.execute("BEGIN")


def test_a_reset_without_an_amount_is_a_mistake(proxy: FaultyProxy) -> None:
    with pytest.raises(ValueError, match="give one of"):
        proxy.reset_after()


def test_a_commit_whose_answer_is_swallowed_is_committed(
    proxy: FaultyProxy, url: str, direct_url: str
) -> None:
    proxy.swallow_answer_of(b"COMMIT")

    with pytest.raises(psycopg.OperationalError):
        insert(url, 1)

    assert rows(direct_url) == [1]
    assert proxy.faults_fired == 1
    insert(url, 2)  # it happens once
    assert rows(direct_url) == [1, 2]


def test_a_notice_of_a_slow_commit_is_not_taken_for_its_answer(
    proxy: FaultyProxy, url: str, direct_url: str
) -> None:
    with psycopg.connect(direct_url) as connection:
        connection.execute("""
            CREATE OR REPLACE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE WARNING 'not yet'; PERFORM pg_sleep(0.3); RETURN NULL; END $$""")
        connection.execute("""
            CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION dawdle()""")
    proxy.swallow_answer_of(b"COMMIT")

    with pytest.raises(psycopg.OperationalError):
        insert(url, 1)

    assert rows(direct_url) == [1]


def test_the_answer_of_a_statement_with_values_is_swallowed(
    proxy: FaultyProxy, url: str, direct_url: str
) -> None:
    proxy.swallow_answer_of(b"INSERT")

    with psycopg.connect(url, autocommit=True) as connection, pytest.raises(psycopg.OperationalError):
        connection.execute("INSERT INTO t VALUES (%s)", [1])

    assert rows(direct_url) == [1]


def test_answers_of_what_was_sent_before_in_one_go_are_not_taken_for_it(
    proxy: FaultyProxy, database: str, direct_url: str
) -> None:
    inserts = [b"INSERT INTO t SELECT %d FROM pg_sleep(0.1)" % n for n in (1, 2, 3)]
    proxy.swallow_answer_of(b"SELECT 2")

    with socket.create_connection(proxy.address) as client:
        client.sendall(first_message(database) + b"".join(map(query, inserts)))
        heard_before_the_reset(client)

    assert rows(direct_url) == [1, 2]
    assert proxy.faults_fired == 1


def test_an_answer_after_rows_were_copied_in_is_swallowed(
    proxy: FaultyProxy, url: str, direct_url: str
) -> None:
    with psycopg.connect(url) as connection:
        with connection.cursor() as cursor, cursor.copy("COPY t FROM STDIN") as copy:
            copy.write_row([1])
        proxy.swallow_answer_of(b"COMMIT")

        with pytest.raises(psycopg.OperationalError):
            connection.commit()

    assert rows(direct_url) == [1]
    assert proxy.faults_fired == 1


def test_a_server_that_ends_instead_of_answering_ends_the_swallowing(
    proxy: FaultyProxy, url: str, direct_url: str
) -> None:
    proxy.swallow_answer_of(b"pg_terminate_backend")

    with psycopg.connect(url) as connection, pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    assert proxy.faults_fired == 1
    assert rows(direct_url) == []


def test_a_commit_that_is_dropped_before_the_server_is_not_committed(
    proxy: FaultyProxy, url: str, direct_url: str
) -> None:
    proxy.drop_before(b"COMMIT", times=2)

    for n in (1, 2):
        with pytest.raises(psycopg.OperationalError):
            insert(url, n)
    insert(url, 3)

    assert rows(direct_url) == [3]
    assert proxy.faults_fired == 2


def test_a_healed_proxy_forgets_what_it_was_told(proxy: FaultyProxy, url: str) -> None:
    proxy.swallow_answer_of(b"COMMIT")
    proxy.drop_before(b"INSERT")
    proxy.reset_after(bytes_from_server=1)
    proxy.reset_after(bytes_from_client=1)
    proxy.heal()

    insert(url, 1)

    assert rows(url) == [1]
    assert proxy.faults_fired == 0


def test_a_server_that_is_away_looks_so_through_the_proxy(database: str) -> None:
    with FaultyProxy(target=("127.0.0.1", 1)) as proxy, pytest.raises(psycopg.OperationalError):
        psycopg.connect(f"postgresql://postgres@127.0.0.1:{proxy.address[1]}/{database}")


def test_messages_are_the_same_however_their_bytes_arrive() -> None:
    encryption = struct.pack("!II", 8, 80877103)
    first = struct.pack("!II", 13, 196608) + b"user\0"
    rest = [b"Q" + struct.pack("!I", 11) + b"COMMIT\0", b"S" + struct.pack("!I", 4)]
    stream = b"".join([encryption, first, *rest])

    for size in range(1, len(stream) + 1):
        messages = Messages("client")
        chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
        cut = [message for chunk in chunks for message in messages.cut(chunk)]

        assert [message.data for message in cut] == [encryption, first, *rest]
        assert [message.kind for message in cut] == [b"", b"", b"Q", b"S"]
        assert not messages.rest
