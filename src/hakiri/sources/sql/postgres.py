"""Postgres, through ADBC: rows come as a binary COPY and go into Arrow without touching Python."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from itertools import groupby
from typing import Any

import pyarrow as pa
from adbc_driver_manager import AdbcConnection, Error

from hakiri.core.secrets import masker
from hakiri.sources.contract import Context, Extent
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.sql.config import SqlConfig
from hakiri.sources.sql.databases import BATCH_BYTES
from hakiri.sources.sql.postgres_errors import read_failure
from hakiri.sources.sql.postgres_types import VALUE_FORMS, column_of
from hakiri.sources.sql.postgres_wire import Wire
from hakiri.sources.sql.reading import looked_up_extent
from hakiri.sources.sql.relations import Column, Relation, quoted, text_literal
from hakiri.sources.sql.selects import Select

DEFAULT_SCHEMA = "public"
# Below this many rows a table without an index is looked through for the ends of a column.
MOST_ROWS_TO_SCAN = 1_000_000
# For this transaction only, so that a pool between us and the server is left as it was. A state that others
# read is idle for as long as they do.
_SETTINGS = {
    **VALUE_FORMS,
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "idle_in_transaction_session_timeout": "0",
}
_SNAPSHOT_IS_GONE = ("22023", "42704")


class PostgresDatabase:
    """One database of a Postgres server."""

    def __init__(self, config: SqlConfig, context: Context) -> None:
        self._config = config
        self._context = context
        self._wire = Wire(config, context)

    @contextmanager
    def session(self, snapshot: str | None = None) -> Iterator[PostgresSession]:
        with self._wire.connection() as connection:
            session = PostgresSession(
                self._wire, connection, self._config, masker(self._context.secrets.values())
            )
            session.begin(snapshot)
            yield session

    @contextmanager
    def still(self) -> Iterator[str | None]:
        with self.session() as session:
            yield session.exported_snapshot()
            with suppress(Error):  # a connection that is gone holds no state either
                session.end()

    def close(self) -> None:
        self._wire.close()


class PostgresSession:
    """One transaction that only reads, and sees one state from its first question on."""

    is_text_checked = True

    def __init__(
        self, wire: Wire, connection: AdbcConnection, config: SqlConfig, mask: Callable[[str], str]
    ) -> None:
        self._wire = wire
        self._connection = connection
        self._config = config
        self._mask = mask

    def begin(self, snapshot: str | None) -> None:
        try:
            self._wire.order(self._connection, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            if snapshot is not None:
                self._wire.order(self._connection, f"SET TRANSACTION SNAPSHOT {text_literal(snapshot)}")
        except Error as error:
            if snapshot is not None and error.sqlstate in _SNAPSHOT_IS_GONE:
                raise PermanentFailure(
                    f"Postgres does not hold the state `{snapshot}` any more",
                    hint="run it again, so that all reads see a new one",
                ) from error
            raise read_failure(error, self._mask) from error
        settings = ", ".join(
            f"set_config({text_literal(name)}, {text_literal(value)}, true)"
            for name, value in _SETTINGS.items()
        )
        row = self._rows(f"SELECT {settings}, current_setting('server_encoding') AS encoding")[0]
        # A database of this encoding takes any bytes for text.
        self.is_text_checked = row["encoding"] != "SQL_ASCII"

    def exported_snapshot(self) -> str:
        snapshot: str = self._rows("SELECT pg_export_snapshot() AS snapshot")[0]["snapshot"]
        return snapshot

    def end(self) -> None:
        """Give the state back at once; a connection that is closed does so some moments later."""
        self._connection.rollback()

    def about(self) -> str:
        row = self._rows(
            "SELECT current_setting('server_version') AS version, current_database()::text AS base, "
            "current_user::text AS person"
        )[0]
        return f"Postgres {row['version']}, database `{row['base']}`, as `{row['person']}`"

    def relations(self, names: Collection[str] | None) -> Sequence[Relation]:
        own = self._config.db_schema or DEFAULT_SCHEMA
        found = self._relation_rows(own, names)
        if names is None:
            return [self._relation(table, rows) for (_, table), rows in found.items() if rows[0]["may_read"]]
        pairs = ((name, _places(name, own)) for name in names)
        return [
            self._relation(name, _readable(name, found[place]))
            for name, places in pairs
            for place in [next((place for place in places if place in found), None)]
            if place is not None
        ]

    def extent(self, relation: Relation, column: Column) -> Extent:
        rows = relation.estimated_rows
        if column.is_indexed or (rows is not None and rows < MOST_ROWS_TO_SCAN):
            return looked_up_extent(self, relation, column)
        # Every window by such a column would be a scan of the whole table, so its ends are of no use either.
        return Extent(rows=rows, has_nulls=None if column.is_nullable else False)

    def batches(self, select: Select) -> Generator[pa.RecordBatch]:
        return self._wire.batches(self._connection, select.sql, BATCH_BYTES)

    def _relation_rows(
        self, own: str, names: Collection[str] | None
    ) -> dict[tuple[str, str], list[dict[str, Any]]]:
        if names is None:
            wanted = f"n.nspname = {text_literal(own)} AND NOT c.relispartition"
        else:
            places = [place for name in names for place in _places(name, own)]
            listed = ", ".join(f"({text_literal(schema)}, {text_literal(name)})" for schema, name in places)
            wanted = f"(n.nspname, c.relname) IN ({listed})" if places else "false"
        query = files("hakiri.sources.sql").joinpath("postgres.sql").read_text("utf-8")
        rows = self._rows(query.replace("{wanted}", wanted))
        grouped = groupby(rows, key=lambda row: (row["schema"], row["name"]))
        return {place: list(columns) for place, columns in grouped}

    def _relation(self, name: str, rows: list[dict[str, Any]]) -> Relation:
        schema, table = rows[0]["schema"], rows[0]["name"]
        as_text = self._config.columns_as_text((name, f"{schema}.{table}"))
        keys = {row["key_position"]: row["column"] for row in rows if row["key_position"] is not None}
        relation = Relation(
            name=name,
            target=f"{quoted(schema)}.{quoted(table)}",
            columns=tuple(column_of(row, is_text=row["column"] in as_text) for row in rows),
            primary_key=tuple(keys[position] for position in sorted(keys)),
            estimated_rows=rows[0]["estimated_rows"],
            description=rows[0]["description"],
        )
        for column in as_text:
            relation.column(column)
        return relation

    def _rows(self, query: str) -> list[dict[str, Any]]:
        return [
            row
            for batch in self._wire.batches(self._connection, query, BATCH_BYTES)
            for row in batch.to_pylist()
        ]


def _places(name: str, own: str) -> list[tuple[str, str]]:
    """Where a table of this name may be: in the schema that is read, else in the one before the dot."""
    schema, dot, table = name.partition(".")
    return [(own, name), (schema, table)] if dot else [(own, name)]


def _readable(name: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if not rows[0]["may_read"]:
        raise PermanentFailure(
            f"the user in `url` may not read table `{name}`", hint="grant SELECT on it to the user"
        )
    return rows
