"""A pool of connections to Postgres.

Small enough to be ours: whoever asks for a connection sees why there is none, and can try again or say so. A
pool that connects in the background does not tell.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row

from hakiri.catalog.errors import BackendTooOld, CatalogDenied, CatalogError, OpenedBeforeFork
from hakiri.catalog.postgres.words import first_line, translated

Connection = psycopg.Connection[dict[str, Any]]

MOST_CONNECTIONS = 16
LOCK_SECONDS = 30.0
OLDEST_POSTGRES = 13_00_00
# A server that is gone without a word is noticed after half a minute, not after the system's two hours.
_SETTINGS: dict[str, Any] = {
    "application_name": "hakiri",
    "connect_timeout": 5,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_PING = {"connect_timeout": 2}
# A client that vanished or was stopped in the middle loses its locks long before those who wait for them give
# up, but not for a moment's pause on a busy machine.
_IDLE_SHARE = 1 / 3
_LEAST_IDLE_SECONDS = 1.0
# Some servers run with asynchronous commits: one that the next crash takes back is none.
_SESSION = """
SELECT set_config('lock_timeout', %(lock)s, false),
       set_config('idle_in_transaction_session_timeout', %(idle)s, false),
       CASE current_setting('synchronous_commit')
       WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END
"""


class NotConnected(psycopg.OperationalError):
    """No connection could be made."""


class Connections:
    """At most `most` connections at a time, kept while they are good.

    Whoever waits for a lock for longer than `lock_seconds` gets an error. Whoever does nothing in a
    transaction for a third of that is cut off by the server, and has written nothing.
    """

    def __init__(
        self,
        conninfo: str,
        location: str,
        pid: int,
        *,
        most: int = MOST_CONNECTIONS,
        lock_seconds: float = LOCK_SECONDS,
    ) -> None:
        self._settings = _SETTINGS | psycopg.conninfo.conninfo_to_dict(conninfo)
        self._location = location
        self._pid = pid
        idle_seconds = max(_LEAST_IDLE_SECONDS, lock_seconds * _IDLE_SHARE)
        self._timeouts = {"lock": _milliseconds(lock_seconds), "idle": _milliseconds(idle_seconds)}
        self._free = threading.BoundedSemaphore(most)
        self._pooling = threading.Lock()
        self._idle: list[Connection] = []
        self.is_closed = False

    @contextmanager
    def one(self, pid: int) -> Iterator[Connection]:
        """A connection for one use; it is thrown away if it breaks, or if anything is left open on it."""
        if pid != self._pid:
            raise OpenedBeforeFork(self._location)
        with self._free:
            with self._pooling:
                connection = self._idle.pop() if self._idle else None
            connection = connection or self._connect()
            try:
                yield connection
            finally:
                self._take_back(connection)

    def forget(self) -> None:
        """Throw away the idle ones: if one was cut off, so were the others."""
        with self._pooling:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self, pid: int) -> None:
        """Keep no connection any more. Those in use are thrown away after it."""
        if pid != self._pid:
            return  # they are the parent's, and a word of farewell would end them for it
        with self._pooling:
            self.is_closed = True
        self.forget()

    def explained(self, error: psycopg.Error) -> CatalogError:
        """The error of the catalog for one that trying again did not help."""
        if isinstance(error, NotConnected) and self._is_answered():
            return CatalogDenied(self._location, first_line(error))
        return translated(error, self._location)

    def _is_answered(self) -> bool:
        """Whether the server is there: all that libpq tells of a connection that was not made, but text."""
        conninfo = psycopg.conninfo.make_conninfo(**self._settings | _PING)
        return psycopg.pq.PGconn.ping(conninfo.encode()) == psycopg.pq.Ping.OK

    def _take_back(self, connection: Connection) -> None:
        if connection.closed or connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.close()
            return
        with self._pooling:
            if not self.is_closed:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> Connection:
        try:
            connection = psycopg.connect(
                psycopg.conninfo.make_conninfo(**self._settings), autocommit=True, row_factory=dict_row
            )
        except psycopg.OperationalError as error:
            raise NotConnected(str(error)) from error
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: Connection) -> None:
        if connection.info.server_version < OLDEST_POSTGRES:
            major = connection.info.server_version // 10_000
            raise BackendTooOld("Postgres", str(major), str(OLDEST_POSTGRES // 10_000))
        connection.execute(_SESSION, self._timeouts)


def _milliseconds(seconds: float) -> str:
    return f"{max(1, round(seconds * 1000))}ms"  # none at all would mean: without end
