"""`duck.db`: the views of all tables in one file that any DuckDB opens."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hakiri.store.errors import ViewNotMade
from hakiri.store.files import Files, replace
from hakiri.store.layout import StoreLayout
from hakiri.store.names import literal, quoted

if TYPE_CHECKING:
    import duckdb

STORAGE_VERSION = "v1.0.0"  # the oldest that DuckDB still writes: every later one reads it


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewText:
    """Statements that make the views of one table, and the names of views that are to go."""

    table: str
    sql: str
    dropped: tuple[str, ...] = ()


def alter_duck_file(layout: StoreLayout, files: Files, changed: Iterable[ViewText]) -> bool:
    """Put a copy with these views changed in the place of the file; what did not change costs nothing.

    False, and nothing happened, if there is none or it is damaged or of a DuckDB yet to come. Whoever has the
    old one open goes on reading it. Call it, and the one below, under the lock of publishers.
    """
    import duckdb

    data = files.read(layout.duck_db)
    if data is None:
        return False
    with _scratch() as scratch:
        scratch.write_bytes(data)
        try:
            with _opened(scratch) as connection:
                _run(connection, changed)
        except (duckdb.Error, ViewNotMade):
            return False
        _put(layout, files, scratch)
    return True


def make_duck_file(layout: StoreLayout, files: Files, every: Iterable[ViewText]) -> None:
    """Put a new file with exactly these views there. Raises ViewNotMade."""
    with _scratch() as scratch:
        with _opened(scratch) as connection:
            _run(connection, every)
        _put(layout, files, scratch)


def views_not_made(every: Iterable[ViewText]) -> dict[str, ViewNotMade]:
    """What keeps DuckDB from taking views, by table; nothing is written."""
    import duckdb

    with duckdb.connect(config={"threads": 1}) as connection:
        return _run_each(connection, every)


def views_that_differ(data: bytes, texts: Iterable[ViewText]) -> list[str] | None:
    """Which views of such a file are not those that the texts make, by name; None if it cannot be opened.

    Views that cannot be made are left out.
    """
    import duckdb

    with _scratch() as made, _scratch() as given:
        given.write_bytes(data)
        with _opened(made) as connection:
            _run_each(connection, texts)
            # What comes out of a file is worded otherwise than what went in: both are read from one.
            connection.execute("CHECKPOINT store")
            connection.execute("USE memory")
            connection.execute("DETACH store")
            connection.execute(f"ATTACH {literal(str(made))} AS store")
            wanted = _definitions(connection, "store")
            try:
                connection.execute(f"ATTACH {literal(str(given))} AS given (READ_ONLY)")
                there = _definitions(connection, "given")
            except duckdb.Error:
                return None
    return sorted(name for name, sql in wanted.items() if there.get(name) != sql)


def _definitions(connection: duckdb.DuckDBPyConnection, database: str) -> dict[str, str]:
    found = connection.execute(
        "SELECT view_name, sql FROM duckdb_views() WHERE database_name = ? AND NOT internal", [database]
    )
    return dict(found.fetchall())


@contextmanager
def _scratch() -> Iterator[Path]:
    """A file for DuckDB to work on, away from the store, which sees only the finished one."""
    with TemporaryDirectory(prefix="hakiri-views-") as folder:
        yield Path(folder) / "duck.db"


@contextmanager
def _opened(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with _IDLE.borrowed() as connection:
        connection.execute(f"ATTACH {literal(str(path))} AS store (STORAGE_VERSION '{STORAGE_VERSION}')")
        connection.execute("USE store")
        yield connection
        connection.execute("CHECKPOINT store")
        connection.execute("USE memory")
        for name in _attached(connection):
            connection.execute(f"DETACH {quoted(name)}")


def _attached(connection: duckdb.DuckDBPyConnection) -> list[str]:
    found = connection.execute(
        "SELECT database_name FROM duckdb_databases() WHERE NOT internal AND database_name <> 'memory'"
    )
    return [name for (name,) in found.fetchall()]


class _Idle:
    """Instances of DuckDB that nobody works with: to start one takes ten times as long as to write a view."""

    def __init__(self) -> None:
        # By process: those of a parent are not touched in a child that was forked.
        self._idle: dict[int, list[duckdb.DuckDBPyConnection]] = {}
        atexit.register(self._close)

    @contextmanager
    def borrowed(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """One for this block alone. It is used again if the block ends well."""
        import duckdb

        idle = self._idle.setdefault(os.getpid(), [])
        try:
            connection = idle.pop()  # in one step, whatever other threads do
        except IndexError:
            connection = duckdb.connect(config={"threads": 1})
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        idle.append(connection)

    def _close(self) -> None:
        for connection in self._idle.pop(os.getpid(), []):
            connection.close()


_IDLE = _Idle()


def _run(connection: duckdb.DuckDBPyConnection, texts: Iterable[ViewText]) -> None:
    import duckdb

    for text in texts:
        try:
            for name in text.dropped:
                connection.execute(f"DROP VIEW IF EXISTS {quoted(name)}")
            connection.execute(text.sql)
        except duckdb.Error as error:
            raise ViewNotMade(text.table, str(error).partition("\n")[0]) from error


def _run_each(connection: duckdb.DuckDBPyConnection, texts: Iterable[ViewText]) -> dict[str, ViewNotMade]:
    """Make those that can be made; what keeps the others from it, by table."""
    broken = {}
    for text in texts:
        try:
            _run(connection, [text])
        except ViewNotMade as error:
            broken[text.table] = error
    return broken


def _put(layout: StoreLayout, files: Files, made: Path) -> None:
    # Somebody who opened the old one for writing may have left a log, which would not fit the new one.
    files.remove(layout.duck_db.with_name(f"{layout.duck_db.name}.wal"))
    replace(files, layout.duck_db, made.read_bytes())
