"""The connector `sql`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, ClassVar

from hakiri.core.cursors import CursorKind
from hakiri.core.errors import MissingExtra
from hakiri.core.nearest import nearest
from hakiri.sources.config import SourceConfig
from hakiri.sources.contract import Batch, Connector, Context, Extent, Hint, Read, Table
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.sql.config import SqlConfig
from hakiri.sources.sql.databases import Database, Session
from hakiri.sources.sql.reading import read_batches
from hakiri.sources.sql.relations import Relation, window_field


class SqlConnector(Connector):
    """Reads tables and views of one database. Every question goes over a connection of its own."""

    Config: ClassVar[type[SourceConfig]] = SqlConfig
    summary = "tables and views of Postgres, SQLite and DuckDB"

    def __init__(self, config: Any, context: Context) -> None:
        super().__init__(config, context)
        self._database = _database(config, context)

    def discover(self, only: Collection[str] | None = None) -> Sequence[Table]:
        with self._database.session() as session:
            if only is None:
                return [relation.as_table for relation in session.relations(None)]
            return [relation.as_table for relation in _found(session, list(dict.fromkeys(only)))]

    def open(self, read: Read) -> Iterator[Batch]:
        with self._database.session(read.snapshot) as session:
            (relation,) = _found(session, [read.table])
            yield from read_batches(session, relation, read)

    def backfill_hint(self, table: str) -> Hint:
        with self._database.session() as session:
            (relation,) = _found(session, [table])
        field = window_field(relation)
        if field is None:
            return Hint()
        # Keys tell rows that are new, but not those that have changed.
        return Hint(cursor_kind=CursorKind.MONOTONIC, cursor_field=field, is_cursor=False)

    def extent(self, table: str, column: str) -> Extent:
        with self._database.session() as session:
            (relation,) = _found(session, [table])
            return session.extent(relation, relation.ordered_column(column))

    def has_news(self, read: Read) -> bool | None:
        """Whether a row is behind the cursor or in the window; else only reading everything would tell."""
        if read.cursor is None and read.window is None:
            return None
        if read.cursor is not None and read.incremental is not None and read.incremental not in read.cursor:
            return True  # another column is followed now, so all of it is read again
        return any(batch.rows.num_rows for batch in self.open(replace(read, limit=1)))

    def still(self) -> AbstractContextManager[str | None]:
        return self._database.still()

    def check(self) -> str:
        with self._database.session() as session:
            return session.about()

    def close(self) -> None:
        self._database.close()


def _found(session: Session, names: list[str]) -> list[Relation]:
    """The tables in the order of their names; raises PermanentFailure for one that is not there."""
    found = {relation.name: relation for relation in session.relations(names)}
    for name in names:
        if name not in found:
            meant = nearest(name, [relation.name for relation in session.relations(None)])
            raise PermanentFailure(
                f"the database has no table `{name}`",
                hint=f"did you mean `{meant}`?"
                if meant
                else "write `schema.table` for one of another schema; `hakiri source tables` shows the rest",
            )
    return [found[name] for name in names]


def _database(config: SqlConfig, context: Context) -> Database:
    try:
        return _loaded(config, context)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("adbc_"):
            raise
        raise MissingExtra(f"reading `{config.scheme}`", extra="sql") from error


def _loaded(config: SqlConfig, context: Context) -> Database:
    match config.scheme:
        case "sqlite":
            from hakiri.sources.sql.sqlite import SqliteDatabase

            return SqliteDatabase(config, context)
        case "duckdb":
            from hakiri.sources.sql.duck import DuckDatabase

            return DuckDatabase(config, context)
        case _:
            from hakiri.sources.sql.postgres import PostgresDatabase

            return PostgresDatabase(config, context)
