"""Postgres through psycopg: row locks, retries, and commits whose answer was lost."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import cache

import psycopg
from psycopg import sql

from hakiri.catalog.errors import CatalogClosed, CatalogError, CommitUnknown
from hakiri.catalog.postgres.connections import Connection, Connections
from hakiri.catalog.postgres.words import first_line, is_in_the_way, is_lost
from hakiri.catalog.sql.database import Result, Row, Transaction, storable
from hakiri.catalog.sql.statements import statements_for
from hakiri.core.backoff import Backoff
from hakiri.core.ids import fresh_nonce

WAITS = Backoff(first_seconds=0.01, longest_seconds=1.0, budget_seconds=30)
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_READS = ("SELECT", "SHOW")
# One write in so many tidies up the receipts of an hour ago and before.
_TIDY_EVERY = 256


class PostgresTransaction:
    """Statements on one connection."""

    def __init__(self, connection: Connection, schema: str) -> None:
        self._connection = connection
        self._schema = schema
        self._statements = _statements_in(schema)
        self.has_written = False

    def run(self, name: str, **values: object) -> int:
        return self._execute(name, values).rowcount

    def one(self, name: str, **values: object) -> Row | None:
        return self._execute(name, values).fetchone()

    def all(self, name: str, **values: object) -> list[Row]:
        return list(self._execute(name, values).fetchall())

    def fill(self, table: str, columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> int:
        copy = sql.SQL("COPY {} ({}) FROM STDIN").format(
            sql.Identifier(self._schema, table), sql.SQL(", ").join(map(sql.Identifier, columns))
        )
        self.has_written = True
        with self._connection.cursor() as cursor:
            with cursor.copy(copy) as target:
                for row in rows:
                    target.write_row(
                        [storable(column, value) for column, value in zip(columns, row, strict=True)]
                    )
            return cursor.rowcount

    def _execute(self, name: str, values: Mapping[str, object]) -> psycopg.Cursor[dict[str, object]]:
        bound = {key: storable(key, value) for key, value in values.items()}
        cursor = self._connection.execute(self._statements[name], bound)
        if not (cursor.statusmessage or "").startswith(_READS):
            self.has_written |= cursor.rowcount > 0
        return cursor


class PostgresDatabase:
    """One schema of one database, for any number of threads."""

    # Machines whose time is kept by NTP are within milliseconds of each other.
    clocks_apart = timedelta(seconds=5)

    def __init__(self, conninfo: str, schema: str, location: str, *, waits: Backoff = WAITS) -> None:
        self.location = location
        self._schema = schema
        self._waits = waits
        self._connections = Connections(conninfo, location, os.getpid(), lock_seconds=waits.budget_seconds)
        self._writes = 0

    def one(self, name: str, **values: object) -> Row | None:
        return self._trying(lambda connection: self._transaction(connection).one(name, **values))

    def all(self, name: str, **values: object) -> list[Row]:
        return self._trying(lambda connection: self._transaction(connection).all(name, **values))

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        def in_one_moment(connection: Connection) -> Result:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                return work(self._transaction(connection))
            finally:
                _roll_back(connection)

        return self._trying(in_one_moment)

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        self._tidy()  # before, as an error after it would hide that the write was kept
        receipt = _Receipt(self._schema, self._transaction)
        return self._trying(lambda connection: receipt.write(connection, work), receipt)

    def close(self) -> None:
        self._connections.close(os.getpid())

    def _transaction(self, connection: Connection) -> PostgresTransaction:
        return PostgresTransaction(connection, self._schema)

    def _trying(self, task: Callable[[Connection], Result], receipt: _Receipt | None = None) -> Result:
        """Do the task on a connection; again when the connection broke or others were in the way."""
        if self._connections.is_closed:
            raise CatalogClosed(self.location)
        waits = self._waits.waits()
        pause = threading.Event()
        while True:
            try:
                with self._connections.one(os.getpid()) as connection:
                    return task(connection)
            except psycopg.Error as error:
                if is_lost(error):
                    self._connections.forget()
                wait = next(waits, None) if is_lost(error) or is_in_the_way(error) else None
                if wait is None:
                    raise self._gave_up(error, receipt) from error
            pause.wait(wait)

    def _gave_up(self, error: psycopg.Error, receipt: _Receipt | None) -> CatalogError:
        if receipt is not None and receipt.is_in_doubt:
            return CommitUnknown(self.location, first_line(error))
        return self._connections.explained(error)

    def _tidy(self) -> None:
        self._writes += 1
        if self._writes % _TIDY_EVERY == 0:
            self._trying(lambda connection: self._transaction(connection).run("tidy_receipts"))


class _Receipt:
    """What settles a commit whose answer was lost: a row that was written with it, or not.

    The row is the first that the transaction writes. If the commit went through, trying again finds it there
    and does nothing; if the commit is still on its way, the second try waits for it at this very row.
    """

    def __init__(self, schema: str, transaction: Callable[[Connection], PostgresTransaction]) -> None:
        self._transaction = transaction
        self._begin = sql.SQL("BEGIN ISOLATION LEVEL READ COMMITTED; INSERT INTO {} (id) VALUES ({})").format(
            sql.Identifier(schema, "receipt"), sql.Literal(fresh_nonce())
        )
        self._sent: list[object] = []

    @property
    def is_in_doubt(self) -> bool:
        """Whether a commit was sent and nobody knows what became of it."""
        return bool(self._sent)

    def write(self, connection: Connection, work: Callable[[Transaction], Result]) -> Result:
        try:
            connection.execute(self._begin)
        except psycopg.errors.UniqueViolation:
            _roll_back(connection)
            return self._sent[-1]  # type: ignore[return-value]
        # Writing the receipt a second time shows that the first commit was lost together with its receipt.
        self._sent.clear()
        tx = self._transaction(connection)
        try:
            result = work(tx)
        except BaseException:
            _roll_back(connection)
            raise
        if not tx.has_written:
            _roll_back(connection)
            return result
        self._sent.append(result)
        try:
            connection.execute("COMMIT")
        except psycopg.Error as error:
            if not is_lost(error):  # an answer: it was not kept
                self._sent.clear()
            raise
        return result


def _roll_back(connection: Connection) -> None:
    """End a transaction that is not to be kept; a broken connection has ended it already."""
    if not connection.closed:
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:  # one that was cut off for being idle is no operational one
            connection.close()


@cache
def _statements_in(schema: str) -> Mapping[str, str]:
    """The statements with the schema's own tables, and parameters as psycopg writes them."""
    prefix = sql.Identifier(schema).as_string().replace("%", "%%") + "."
    return {
        name: _PARAMETER.sub(r"%(\1)s", re.sub(r"\bmain\.", lambda _: prefix, text))
        for name, text in statements_for("postgres").items()
    }
