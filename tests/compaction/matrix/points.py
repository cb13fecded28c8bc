"""Where one worker may be interrupted: before every word to the catalog and every step on the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from hakiri.catalog.sql.database import Database, Row, Transaction
from hakiri.store.files import LocalFiles, Outlet

Result = TypeVar("Result")


class Points:
    """The points that a worker has come to, by name; at one of them it is interrupted, once.

    Nobody is interrupted who holds the lock of publishers: whoever came would have to wait for it.
    """

    def __init__(self, at: int | None = None, interrupt: Callable[[], None] = lambda: None) -> None:
        self.names: list[str] = []
        self._at = at
        self._interrupt = interrupt
        self._is_locked = False

    def come_to(self, name: str) -> None:
        if self._is_locked:
            return
        self.names.append(name)
        if len(self.names) - 1 == self._at:
            self._interrupt()

    @contextmanager
    def locked(self) -> Iterator[None]:
        self._is_locked = True
        try:
            yield
        finally:
            self._is_locked = False


class WatchedDatabase:
    """Passes everything on, and says before each call what is about to be asked or written."""

    def __init__(self, database: Database, points: Points) -> None:
        self.location = database.location
        self.clocks_apart: timedelta = database.clocks_apart
        self._database = database
        self._points = points

    def one(self, name: str, **values: object) -> Row | None:
        self._points.come_to(f"look {name}")
        return self._database.one(name, **values)

    def all(self, name: str, **values: object) -> list[Row]:
        self._points.come_to(f"look {name}")
        return self._database.all(name, **values)

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        self._points.come_to("look")
        return self._database.read(work)

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        self._points.come_to(f"write {work.__qualname__.removesuffix('.<locals>.work')}")
        return self._database.write(work)

    def close(self) -> None:
        self._database.close()


class WatchedFiles(LocalFiles):
    """The disk of this machine, with a point before every step that others can see."""

    def __init__(self, points: Points) -> None:
        self._points = points

    def create(self, path: Path) -> Outlet:
        self._points.come_to(f"create {path.name}")
        return super().create(path)

    def rename(self, source: Path, target: Path) -> None:
        self._points.come_to(f"rename {source.name}")
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self._points.come_to(f"remove {path.name}")
        super().remove(path)

    @contextmanager
    def lock(self, path: Path) -> Iterator[None]:
        self._points.come_to("lock")
        with super().lock(path), self._points.locked():
            yield
