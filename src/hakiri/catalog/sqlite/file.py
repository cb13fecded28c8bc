"""The SQLite file itself: making it, and its version."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

from hakiri.catalog.errors import CatalogForeign, CatalogUnreachable
from hakiri.catalog.sql.migrations import Migration, missing_after
from hakiri.catalog.sqlite.database import SqliteDatabase
from hakiri.catalog.sqlite.looking import connected_to_look, read_as_one
from hakiri.catalog.sqlite.words import as_text, in_our_words

_LOCK_SECONDS = 60.0
APPLICATION_ID = int.from_bytes(b"HKRI")  # in the file's header, so that `file` and we know whose it is


class SqliteFile:
    """Where the tables of a catalog are, or will be."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.location = f"sqlite:///{path}"

    def database(self, *, is_look: bool = False) -> SqliteDatabase:
        return SqliteDatabase(self.path, is_look=is_look)

    def version(self) -> int:
        if not self.path.exists():
            return 0
        if self.path.is_dir():
            raise CatalogUnreachable(self.location, "a folder is in its place")
        with in_our_words(self.path), closing(connected_to_look(self.path)) as look, read_as_one(look):
            return _version(look, self.location)

    def apply(self, migrations: tuple[Migration, ...], now: datetime) -> tuple[int, ...]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CatalogUnreachable(self.location, f"its folder cannot be made: {error.strerror}") from error
        with in_our_words(self.path), closing(self._connect("rwc")) as connection:
            # Kept in the file: whoever opens it later is in WAL mode too.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            try:
                missing = missing_after(_version(connection, self.location), migrations)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                for migration in missing:
                    for statement in _statements(migration.script):
                        connection.execute(statement)
                    connection.execute(
                        "INSERT INTO schema_version (id, applied_at) VALUES (?, ?)",
                        (migration.number, as_text(now)),
                    )
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
        return tuple(migration.number for migration in missing)

    def _connect(self, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=_LOCK_SECONDS,
            isolation_level=None,
        )


def _version(connection: sqlite3.Connection, location: str) -> int:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if not tables:
        return 0
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    if owner != APPLICATION_ID:
        raise CatalogForeign(location)
    (version,) = connection.execute("SELECT coalesce(max(id), 0) FROM schema_version").fetchone()
    return int(version)


def _statements(script: str) -> Iterator[str]:
    """The statements of a script one by one; `executescript` would end the transaction first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
