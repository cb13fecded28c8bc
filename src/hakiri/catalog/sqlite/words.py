"""SQLite's results and values in our words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from hakiri.catalog.errors import (
    CatalogBusy,
    CatalogDamaged,
    CatalogError,
    CatalogFull,
    CatalogReadOnly,
    CatalogRefused,
    CatalogUnreachable,
)
from hakiri.catalog.sqlite.holder import is_stopped, writing_process
from hakiri.catalog.sqlite.looking import is_read_only

_PRIMARY_CODE = 0xFF  # extended result codes have the general one in the lowest byte
_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_NOT_WRITABLE = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH})


@contextmanager
def in_our_words(path: Path) -> Iterator[None]:
    """Raise what SQLite raises inside as an error of the catalog."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(error, path) from error


def is_locked(error: sqlite3.Error) -> bool:
    """Whether someone else holds what was asked for."""
    return _code(error) in _LOCKED


def as_text(at: datetime) -> str:
    """A moment as it is stored: in UTC, always of the same length, so that it sorts as text."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def _translated(error: sqlite3.Error, path: Path) -> CatalogError:
    code = _code(error)
    location = f"sqlite:///{path}"
    if code in _LOCKED:
        holder = writing_process(path)
        return CatalogBusy(location, holder, is_stopped=holder is not None and is_stopped(holder))
    if code == sqlite3.SQLITE_FULL:
        return CatalogFull(location)
    if code in _NOT_WRITABLE or (code == sqlite3.SQLITE_CANTOPEN and is_read_only(path)):
        return CatalogReadOnly(location)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or _misses_a_table(error):
        return CatalogDamaged(location, str(error))
    if code == sqlite3.SQLITE_CONSTRAINT:
        return CatalogRefused(location, str(error))
    return CatalogUnreachable(location, str(error))


def _misses_a_table(error: sqlite3.Error) -> bool:
    """Whether a statement of ours makes no sense in what is there: tables or columns are missing."""
    return isinstance(error, sqlite3.OperationalError) and _code(error) == sqlite3.SQLITE_ERROR


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY_CODE
