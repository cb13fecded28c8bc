"""SQLite through the standard library: WAL, durable commits, one writer at a time."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from hakiri.catalog.errors import BackendTooOld, CatalogClosed, CatalogDamaged, OpenedBeforeFork
from hakiri.catalog.sql.database import Result, Row, Transaction, storable
from hakiri.catalog.sql.statements import statements_for
from hakiri.catalog.sqlite.gate import WriteGate
from hakiri.catalog.sqlite.looking import (
    connected,
    connected_to_look,
    is_current,
    is_read_only,
    read_as_one,
)
from hakiri.catalog.sqlite.words import as_text, in_our_words, is_locked
from hakiri.core.backoff import Backoff

OLDEST_SQLITE = (3, 38, 0)  # JSON functions are always there from this one on
WRITER_WAITS = Backoff(first_seconds=0.0005, longest_seconds=0.02, budget_seconds=60)
READER_SECONDS = 5.0  # readers are only locked out for the moment in which the last writer closes the file


class SqliteTransaction:
    """Statements on one connection."""

    def __init__(self, connection: sqlite3.Connection, statements: Mapping[str, str]) -> None:
        self._connection = connection
        self._statements = statements

    def run(self, name: str, **values: object) -> int:
        return self._connection.execute(self._statements[name], _bound(values)).rowcount

    def one(self, name: str, **values: object) -> Row | None:
        rows = self.all(name, **values)
        return rows[0] if rows else None

    def all(self, name: str, **values: object) -> list[Row]:
        return self._connection.execute(self._statements[name], _bound(values)).fetchall()

    def fill(self, table: str, columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> int:
        # Names of tables and columns come from our own code; values are bound.
        insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
        # Most values need no change, and a call for each would take longer than SQLite does.
        bound = (
            [
                value
                if value is None
                or type(value) is int
                or (type(value) is str and value.isascii() and "\0" not in value)
                else _native(column, value)
                for column, value in zip(columns, row, strict=True)
            ]
            for row in rows
        )
        return self._connection.executemany(insert, bound).rowcount


class SqliteDatabase:
    """One file, any number of threads and processes of one machine, which has one clock."""

    clocks_apart = timedelta()

    def __init__(self, path: Path, *, waits: Backoff = WRITER_WAITS, is_look: bool = False) -> None:
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            raise BackendTooOld("SQLite", sqlite3.sqlite_version, ".".join(map(str, OLDEST_SQLITE)))
        self.path = path
        self.location = f"sqlite:///{path}"
        self._statements = statements_for("sqlite")
        self._waits = waits
        self._is_look = is_look
        self._pid = os.getpid()
        self._gate = WriteGate(path.with_name(f"{path.name}-lock"), patience_seconds=waits.budget_seconds)
        # Threads queue here instead of at the file: a lock wakes the next at once, SQLite has them poll.
        self._writing = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._pooling = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._is_closed = False
        self._file: tuple[int, int] | None = None

    def one(self, name: str, **values: object) -> Row | None:
        with self._reader() as connection:
            return SqliteTransaction(connection, self._statements).one(name, **values)

    def all(self, name: str, **values: object) -> list[Row]:
        with self._reader() as connection:
            return SqliteTransaction(connection, self._statements).all(name, **values)

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        with self._reader() as connection:
            connection.execute("BEGIN")
            try:
                return work(SqliteTransaction(connection, self._statements))
            finally:
                connection.execute("ROLLBACK")

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        self._check_process()  # first: the lock may be held for ever by a thread that a fork left behind
        with self._writing, in_our_words(self.path), self._gate.passed():
            connection = self._begin_writing()
            try:
                result = work(SqliteTransaction(connection, self._statements))
                connection.execute("COMMIT")
            except BaseException:
                # A full disk may have rolled back already.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return result

    def close(self) -> None:
        if os.getpid() != self._pid:
            return  # the connections are the parent's, and SQLite forbids even to close them here
        with self._writing, self._pooling:
            self._is_closed = True
            for connection in (*self._idle, *filter(None, [self._writer])):
                connection.close()
            self._idle, self._writer = [], None
            self._gate.close()

    def _begin_writing(self) -> sqlite3.Connection:
        """The writer's connection in a transaction that holds the write lock; waits while others hold it."""
        waits = self._waits.waits()
        pause = threading.Event()
        while True:
            try:
                self._check_open()
                connection = self._writer = self._writer or self._taken_up(
                    connected(self.path, timeout_seconds=0)
                )
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                wait = next(waits, None)
                if not is_locked(error) or wait is None:
                    raise
                pause.wait(wait)
            else:
                return connection

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        self._check_process()
        with in_our_words(self.path):
            connection = self._idle_one() or self._connect_to_read()
            try:
                with read_as_one(connection):
                    yield connection
            finally:
                with self._pooling:
                    if self._is_closed:
                        connection.close()
                    else:
                        self._idle.append(connection)

    def _idle_one(self) -> sqlite3.Connection | None:
        with self._pooling:
            self._check_open()
            while self._idle:
                connection = self._idle.pop()
                if is_current(connection):
                    return connection
                connection.close()
        return None

    def _connect_to_read(self) -> sqlite3.Connection:
        # Whoever may not write can only look, whatever they have come for.
        is_look = self._is_look or is_read_only(self.path)
        connect = connected_to_look if is_look else connected
        return self._taken_up(connect(self.path, timeout_seconds=READER_SECONDS))

    def _taken_up(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        connection.row_factory = sqlite3.Row
        self._file = self._file or self._identity()
        # In WAL mode the default syncs at checkpoints only, and a commit could be lost with the power.
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise OpenedBeforeFork(self.location)

    def _check_open(self) -> None:
        if self._is_closed:
            raise CatalogClosed(self.location)
        # What is written to a file that has lost its name would be gone with the last who has it open.
        if self._file is not None and self._file != self._identity():
            raise CatalogDamaged(self.location, "its file was removed or replaced while it was open")

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino


def _bound(values: Mapping[str, object]) -> dict[str, object]:
    return {name: _native(name, value) for name, value in values.items()}


def _native(name: str, value: object) -> object:
    return as_text(value) if isinstance(value, datetime) else storable(name, value)
