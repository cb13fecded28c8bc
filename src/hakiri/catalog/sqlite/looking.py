"""Connections to the SQLite file: one to work with, and those that leave no trace of a look."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from hakiri.catalog.errors import CatalogChanged, CatalogNotFolded

_LOOK_SECONDS = 60.0
# What is in one of these is not in the file yet. Without power or rights, either may have been left behind.
_JOURNALS = ("-wal", "-journal")


class FileAlone(sqlite3.Connection):
    """Reads a file as it lies there, without locks, because nothing can be made beside it.

    Others may have the right to write it all the same; `seen` is what the system said of it before.
    """

    path: Path
    seen: tuple[int, ...] | None


_Kind = TypeVar("_Kind", bound=sqlite3.Connection)


def connected(path: Path, *, timeout_seconds: float, how: str = "mode=rw") -> sqlite3.Connection:
    """A connection to a file that is there."""
    return _opened(path, sqlite3.Connection, timeout_seconds=timeout_seconds, how=how)


def connected_to_look(path: Path, *, timeout_seconds: float = _LOOK_SECONDS) -> sqlite3.Connection:
    """A connection for reading after which every file is as it was, whoever works with them or has crashed.

    Whoever closes a file last folds its journal into it. Where there is one, this connection must not: it is
    read-only, with the index of the journal too. Where there is none, none is left behind; and where none can
    be made, the file alone is read. Raises CatalogNotFolded if that would not show all that was committed.
    """
    has_journal = all(path.with_name(f"{path.name}{end}").exists() for end in ("-wal", "-shm"))
    if has_journal:
        connection = connected(path, timeout_seconds=timeout_seconds, how="mode=ro&readonly_shm=1")
        try:
            connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
        except sqlite3.OperationalError:
            connection.close()  # somebody folded the journal away in this moment
        else:
            return connection
    if not is_read_only(path):
        return connected(path, timeout_seconds=timeout_seconds)
    return _connected_to_file_alone(path, timeout_seconds)


def is_read_only(path: Path) -> bool:
    """Whether there is a file that this user, or the disk, does not let be worked with."""
    return path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def is_current(connection: sqlite3.Connection) -> bool:
    """Whether what the connection reads next is all that was committed."""
    if not isinstance(connection, FileAlone):
        return True
    return _facts(connection.path) == connection.seen and _unfolded(connection.path) is None


@contextmanager
def read_as_one(connection: sqlite3.Connection) -> Iterator[None]:
    """Read in the block. Raises CatalogChanged if what was read may be of several moments."""
    try:
        yield
    except Exception as error:
        _refuse_changed(connection, error)
        raise
    _refuse_changed(connection, None)


def _refuse_changed(connection: sqlite3.Connection, error: Exception | None) -> None:
    if isinstance(connection, FileAlone) and _facts(connection.path) != connection.seen:
        raise CatalogChanged(f"sqlite:///{connection.path}") from error


def _connected_to_file_alone(path: Path, timeout_seconds: float) -> FileAlone:
    # In this order: whoever folds a journal in meanwhile changes what was seen of the file.
    seen = _facts(path)
    journal = _unfolded(path)
    if journal is not None:
        raise CatalogNotFolded(f"sqlite:///{path}", journal.name)
    connection = _opened(path, FileAlone, timeout_seconds=timeout_seconds, how="mode=ro&immutable=1")
    connection.path, connection.seen = path, seen
    return connection


def _facts(path: Path) -> tuple[int, ...] | None:
    """What changes whenever somebody writes the file; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _unfolded(path: Path) -> Path | None:
    """A journal with something that may not be in the file yet."""
    journals = (path.with_name(f"{path.name}{end}") for end in _JOURNALS)
    return next((journal for journal in journals if _bytes_in(journal)), None)


def _bytes_in(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _opened(path: Path, kind: type[_Kind], *, timeout_seconds: float, how: str) -> _Kind:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}",
        uri=True,
        timeout=timeout_seconds,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        factory=kind,
    )
