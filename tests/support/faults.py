"""A database that fails on order: at a statement of a write, just before its COMMIT, or just after it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from typing import TypeVar

from tests.support.grounds import catalog_on

from hakiri.catalog.contract import Catalog
from hakiri.catalog.sql.database import Database, Row, Transaction

Result = TypeVar("Result")

BEFORE_COMMIT = "before COMMIT"
AFTER_COMMIT = "after COMMIT"


class Crash(BaseException):
    """The end of a program, in a test that goes on. Nothing but the test catches it."""


def crash() -> None:
    raise Crash


def kill_this_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def freeze_this_process() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


class FaultyDatabase:
    """Passes everything on to a database, and takes an action, once, at one point of a write.

    The points of a write are its statements, each before it is sent, then `BEFORE_COMMIT`, when all of them
    are done, and `AFTER_COMMIT`, when the answer is there and nobody has seen it. They are numbered from 0 on
    and called by the statements' names. `points` are those that the last write has come to; `tries` counts
    how often one was begun, also anew.
    """

    def __init__(self, database: Database) -> None:
        self.location = database.location
        self.points: list[str] = []
        self.tries = 0
        self._database = database
        self._at: int | None = None
        self._action: Callable[[], object] = crash

    def fail_at(self, point: int, action: Callable[[], object] = crash) -> None:
        """Take the action the next time that a write comes to the point."""
        self._at, self._action = point, action

    def one(self, name: str, **values: object) -> Row | None:
        return self._database.one(name, **values)

    def all(self, name: str, **values: object) -> list[Row]:
        return self._database.all(name, **values)

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        return self._database.read(work)

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        def counted(tx: Transaction) -> Result:
            self.tries += 1
            self.points.clear()  # the database may call this again
            result = work(FaultyTransaction(tx, self.come_to))
            self.come_to(BEFORE_COMMIT)
            return result

        result = self._database.write(counted)
        self.come_to(AFTER_COMMIT)
        return result

    def close(self) -> None:
        self._database.close()

    def come_to(self, point: str) -> None:
        self.points.append(point)
        if len(self.points) - 1 == self._at:
            self._at = None
            self._action()


class FaultyTransaction:
    """Names the points of a transaction as it comes to them."""

    def __init__(self, tx: Transaction, come_to: Callable[[str], None]) -> None:
        self._tx = tx
        self._come_to = come_to

    def run(self, name: str, **values: object) -> int:
        self._come_to(name)
        return self._tx.run(name, **values)

    def one(self, name: str, **values: object) -> Row | None:
        self._come_to(name)
        return self._tx.one(name, **values)

    def all(self, name: str, **values: object) -> list[Row]:
        self._come_to(name)
        return self._tx.all(name, **values)

    def fill(self, table: str, columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> int:
        self._come_to(f"fill {table}")
        return self._tx.fill(table, columns, rows)


def points_of(database: Database, operation: Callable[[Catalog], object]) -> tuple[str, ...]:
    """The points of an operation that writes once. It is tried out and rolled back: nothing changes."""
    dry = DryDatabase(database)
    try:
        operation(catalog_on(dry))
    except Crash:
        return (*dry.points, AFTER_COMMIT)
    raise AssertionError("the operation wrote nothing")


class DryDatabase(FaultyDatabase):
    """Ends every write before its COMMIT."""

    def come_to(self, point: str) -> None:
        super().come_to(point)
        if point == BEFORE_COMMIT:
            raise Crash
