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

from hakiri.catalog.errors import BackendTooOld, OpenedBeforeFork

Connection = psycopg.Connection[dict[str, Any]]

MOST_CONNECTIONS = 16
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
# A client that vanished or was stopped in the middle lets go of its locks after a minute. And some servers run
# with asynchronous commits: one that the next crash takes back is none.
_SESSION = """
SELECT set_config('lock_timeout', '30s', false),
       set_config('idle_in_transaction_session_timeout', '60s', false),
       CASE current_setting('synchronous_commit')
       WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END
"""


class Connections:
    """At most `most` connections at a time, kept while they are good."""

    def __init__(self, conninfo: str, location: str, pid: int, *, most: int = MOST_CONNECTIONS) -> None:
        self._conninfo = conninfo
        self._location = location
        self._pid = pid
        self._free = threading.BoundedSemaphore(most)
        self._pooling = threading.Lock()
        self._idle: list[Connection] = []

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
                if (
                    connection.closed
                    or connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE
                ):
                    connection.close()
                else:
                    with self._pooling:
                        self._idle.append(connection)

    def forget(self) -> None:
        """Throw away the idle ones: if one was cut off, so were the others."""
        with self._pooling:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _connect(self) -> Connection:
        settings = _SETTINGS | psycopg.conninfo.conninfo_to_dict(self._conninfo)
        connection = psycopg.connect(
            psycopg.conninfo.make_conninfo(**settings), autocommit=True, row_factory=dict_row
        )
        if connection.info.server_version < OLDEST_POSTGRES:
            connection.close()
            major = connection.info.server_version // 10_000
            raise BackendTooOld("Postgres", str(major), str(OLDEST_POSTGRES // 10_000))
        connection.execute(_SESSION)
        return connection
