"""Connections to Postgres through ADBC, at the height of statements.

The driver's DB-API is not used: every connection of it first reads all types of the database over another
one, which takes longer than a small read.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from urllib.parse import parse_qs, urlencode, urlsplit

import adbc_driver_postgresql
import pyarrow as pa
from adbc_driver_manager import AdbcConnection, AdbcDatabase, AdbcStatement, Error

# Only with the first does Ctrl-C end a query, and only the second says with which SQLSTATE a read ended.
from adbc_driver_manager._lib import _blocking_call
from adbc_driver_manager._reader import AdbcRecordBatchReader

from hakiri.core.secrets import masker
from hakiri.sources.contract import Context
from hakiri.sources.sql.config import SqlConfig
from hakiri.sources.sql.postgres_errors import connect_failure, read_failure
from hakiri.sources.sql.postgres_probe import WANTS_CREDENTIALS, WELCOME, answer_of, server_of

# A server that is gone without a word is noticed after half a minute, not after the system's two hours.
_OPTIONS = {
    "application_name": "hakiri",
    "connect_timeout": "10",
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}


class Wire:
    """The way to one database. Holds no connection between two uses."""

    def __init__(self, config: SqlConfig, context: Context) -> None:
        self._config = config
        self._context = context
        self._opening = threading.Lock()
        self._driver: AdbcDatabase | None = None

    @contextmanager
    def connection(self) -> Iterator[AdbcConnection]:
        """A connection with a transaction that has just begun."""
        with closing(self._connected(with_options(self._config.url.fill_url(self._context.secrets)))) as made:
            made.set_autocommit(False)
            yield made

    def close(self) -> None:
        with self._opening:
            self._driver = None  # it ends with the last connection that came of it

    def order(self, connection: AdbcConnection, statement: str) -> None:
        """Have something done that gives no rows. Raises the driver's error."""
        with closing(AdbcStatement(connection)) as prepared, self._context.budget.turn():
            prepared.set_sql_query(statement)
            prepared.execute_update()

    def batches(self, connection: AdbcConnection, query: str, batch_bytes: int) -> Generator[pa.RecordBatch]:
        try:
            with closing(AdbcStatement(connection)) as statement:
                statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(batch_bytes)})
                statement.set_sql_query(query)
                with self._context.budget.turn():
                    stream, _ = _blocking_call(statement.execute_query, (), {}, statement.cancel)
                reader = AdbcRecordBatchReader._import_from_c(stream.address)  # noqa: SLF001 - as above
                with closing(reader):
                    try:
                        yield from reader
                    except GeneratorExit:
                        statement.cancel()  # nobody wants the rest; closing alone would wait for it
                        raise
        except Error as error:
            raise read_failure(error, masker(self._context.secrets.values())) from error

    def _connected(self, url: str, *, is_second_try: bool = False) -> AdbcConnection:
        try:
            driver = self._opened(url)
            with self._context.budget.turn():
                return AdbcConnection(driver)
        except Error as error:
            with self._context.budget.turn():
                answer = answer_of(server_of(url))
            if answer in (WELCOME, WANTS_CREDENTIALS) and not is_second_try:
                # The server is there and has said nothing against us: perhaps the network broke just then.
                return self._connected(url, is_second_try=True)
            # Not its cause: that may repeat the URL.
            raise connect_failure(error, answer, masker(self._context.secrets.values())) from None

    def _opened(self, url: str) -> AdbcDatabase:
        with self._opening:
            if self._driver is None:
                with self._context.budget.turn():
                    self._driver = adbc_driver_postgresql.connect(url)
            return self._driver


def with_options(url: str) -> str:
    """The URL with what we want of a connection, where it does not say otherwise."""
    known = parse_qs(urlsplit(url).query, keep_blank_values=True)
    missing = urlencode({key: value for key, value in _OPTIONS.items() if key not in known})
    return f"{url}{'&' if '?' in url else '?'}{missing}"
