"""The Postgres of the tests: real, durable, and gone when the tests are."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import psycopg
import pytest
from tests.support.postgres import (
    Mode,
    PostgresFailed,
    PostgresServer,
    copy_install,
    is_soon,
    newest_install,
    running_processes,
)

pytestmark = pytest.mark.proof

ROOT = Path(__file__).resolve().parents[2]
ENDED_BY_SIGKILL = """
import time
from tests.support.postgres import PostgresServer
server = PostgresServer.start()
print(server.pid, server.folder, flush=True)
time.sleep(600)
"""
ENDED_WITHOUT_STOP = """
import os, sys
from tests.support.postgres import PostgresServer
server = PostgresServer.start()
if os.fork() == 0:
    sys.exit()  # with all that a process does at its end
os.wait()
print(server.pid, server.folder, flush=True)
server.create_database()
"""


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A server that tests may end, so that nothing of it reaches the tests of others."""
    with PostgresServer.start() as server:
        yield server


@pytest.fixture
def database(own_server: PostgresServer) -> Iterator[str]:
    """The name of a database with one table, `t (n)`, that holds the row 1."""
    if own_server.pid is None:
        own_server.start_again()  # the test before this one failed half-way
    name = own_server.create_database()
    with psycopg.connect(own_server.url(name)) as connection:
        connection.execute("CREATE TABLE t (n int PRIMARY KEY)")
        connection.execute("INSERT INTO t VALUES (1)")
    yield name
    own_server.drop_database(name)


def rows(url: str) -> list[int]:
    with psycopg.connect(url) as connection:
        return [n for (n,) in connection.execute("SELECT n FROM t ORDER BY n")]


def setting(url: str, name: str) -> str:
    with psycopg.connect(url) as connection:
        [value] = connection.execute("SELECT current_setting(%s)", [name]).fetchone() or [""]
        return str(value)


def test_the_server_is_the_newest_of_the_wheel(postgres_server: PostgresServer) -> None:
    programs = newest_install().parent.glob("pginstall*/bin/postgres")

    told = [subprocess.check_output([program, "--version"], text=True).split()[-1] for program in programs]

    assert setting(postgres_server.url(), "server_version") == max(
        told, key=lambda v: [*map(int, v.split("."))]
    )


@pytest.mark.parametrize("over", ["socket", "tcp"])
def test_the_server_answers_and_commits_to_the_disk(
    postgres_server: PostgresServer, over: Literal["socket", "tcp"]
) -> None:
    url = postgres_server.url(over=over)

    told = {name: setting(url, name) for name in ("fsync", "max_connections", "server_encoding")}

    assert told == {"fsync": "on", "max_connections": "300", "server_encoding": "UTF8"}


def test_fresh_databases_know_nothing_of_each_other(own_server: PostgresServer, database: str) -> None:
    other = own_server.create_database()

    with psycopg.connect(own_server.url(other)) as connection:
        seen = connection.execute("SELECT to_regclass('t')").fetchone()
    own_server.drop_database(other)

    assert seen == (None,)
    assert rows(own_server.url(database)) == [1]


def test_a_database_is_dropped_under_whoever_uses_it(own_server: PostgresServer) -> None:
    name = own_server.create_database()
    with psycopg.connect(own_server.url(name), autocommit=True) as connection:
        own_server.drop_database(name)

        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(own_server.url(name))


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_ends_connections_and_keeps_addresses_and_rows(
    own_server: PostgresServer, database: str, mode: Mode
) -> None:
    urls = [own_server.url(database, over="socket"), own_server.url(database, over="tcp")]
    first = own_server.pid
    with psycopg.connect(urls[0], autocommit=True) as connection:
        own_server.restart(mode)

        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")

    assert own_server.pid != first
    assert [rows(url) for url in urls] == [[1], [1]]


def test_a_killed_server_recovers_what_was_committed_and_nothing_else(
    own_server: PostgresServer, database: str
) -> None:
    url = own_server.url(database)
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO t VALUES (2)")
        connection.commit()
        connection.execute("INSERT INTO t VALUES (3)")
        backend = connection.info.backend_pid
        own_server.kill()

        assert own_server.pid is None
        assert backend not in running_processes()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url)
        connection.close()
    own_server.start_again()

    assert rows(url) == [1, 2]


def test_a_kill_ends_also_what_does_not_listen(own_server: PostgresServer, database: str) -> None:
    url = own_server.url(database)
    with psycopg.connect(url, options="-c statement_timeout=60s") as connection:
        backend = connection.info.backend_pid
        connection.pgconn.send_query(b"DO $$ BEGIN LOOP END LOOP; END $$")
        connection.pgconn.flush()
        with psycopg.connect(url, autocommit=True) as other:
            busy = "SELECT FROM pg_stat_activity WHERE pid = %s AND state = 'active'"
            assert is_soon(lambda: other.execute(busy, [backend]).fetchone() is not None)

        own_server.kill()
        is_left = backend in running_processes()
        connection.close()
    own_server.start_again()

    assert not is_left


def test_a_server_killed_twice_in_a_row_recovers(own_server: PostgresServer, database: str) -> None:
    for _ in range(2):
        own_server.kill()
        own_server.kill()
        own_server.start_again()

    assert rows(own_server.url(database)) == [1]


def test_a_server_outlives_the_thread_that_restarted_it(own_server: PostgresServer, database: str) -> None:
    thread = threading.Thread(target=own_server.restart, name="short")
    thread.start()
    thread.join()
    restarted = own_server.pid

    # On Linux the kernel tells the children of a thread when it ends; here they would have heard.
    assert rows(own_server.url(database)) == [1]
    assert own_server.pid == restarted


def test_a_server_that_cannot_start_tells_the_end_of_its_log(own_server: PostgresServer) -> None:
    control = own_server.folder / "data" / "global" / "pg_control"
    aside = control.rename(control.with_name("aside"))
    own_server.kill()

    with pytest.raises(PostgresFailed) as failed:
        own_server.start_again()
    aside.rename(control)
    own_server.start_again()

    first, second, *_ = str(failed.value).splitlines()
    assert first == f"Postgres did not start in {own_server.folder}"
    assert second == "postgres: could not find the database system"
    assert own_server.pid is not None


def test_a_running_server_is_not_started_twice(own_server: PostgresServer) -> None:
    with pytest.raises(PostgresFailed, match="is running"):
        own_server.start_again()


def test_programs_in_a_folder_of_the_users_own_are_reached(tmp_path: Path) -> None:
    private = copy_install(newest_install(), tmp_path / "private")
    (tmp_path / "private").chmod(0o700)

    with PostgresServer.start(private) as server:
        version = setting(server.url(), "server_version_num")
        folder = server.folder
    server.stop()

    assert int(version) >= 180000
    assert not folder.exists()
    assert server.pid is None


def test_the_server_does_not_outlive_tests_that_are_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ENDED_BY_SIGKILL], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as tests:
        assert tests.stdout is not None
        pid, folder = tests.stdout.readline().split()
        children = {child for child, parent in running_processes().items() if parent == int(pid)}
        tests.send_signal(signal.SIGKILL)
    ended = is_soon(lambda: running_processes().keys().isdisjoint({int(pid), *children}))
    shutil.rmtree(folder)

    assert children
    assert ended


def test_the_server_ends_with_its_process_and_not_with_a_fork_of_it() -> None:
    done = subprocess.run(
        # Newer Pythons warn of a fork beside threads, which is what is tried here.
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", ENDED_WITHOUT_STOP],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    pid, folder = done.stdout.split()

    assert (done.returncode, done.stderr) == (0, "")
    assert int(pid) not in running_processes()
    assert not Path(folder).exists()
