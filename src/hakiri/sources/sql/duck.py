"""DuckDB, through its own Arrow reader."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from hakiri.sources.contract import Context, Extent
from hakiri.sources.errors import PermanentFailure, ReadFailed, SchemaIncompatible, TransientFailure
from hakiri.sources.sql.config import SqlConfig
from hakiri.sources.sql.database_files import foreign_file, refuse_no_file
from hakiri.sources.sql.duck_types import column_of
from hakiri.sources.sql.reading import looked_up_extent
from hakiri.sources.sql.relations import Column, Relation, quoted, text_literal
from hakiri.sources.sql.selects import Select

DEFAULT_SCHEMA = "main"
# While a file is open for reading, no other process can open it for writing: that is all there is to know.
HELD = "held"
_MAGIC, _MAGIC_OFFSET = b"DUCK", 8
BATCH_ROWS = 8_192
_TABLES = """
SELECT schema_name AS schema, table_name AS name, coalesce(comment, '') AS description,
       estimated_size AS rows, false AS is_view
  FROM duckdb_tables() WHERE database_name = current_database() AND NOT internal AND {wanted}
UNION ALL
SELECT schema_name, view_name, coalesce(comment, ''), NULL, true
  FROM duckdb_views() WHERE database_name = current_database() AND NOT internal AND {wanted_view}
 ORDER BY 1, 2
"""
_KEYS = """
SELECT constraint_column_names AS names FROM duckdb_constraints()
 WHERE database_name = current_database() AND constraint_type = 'PRIMARY KEY'
   AND schema_name = {schema} AND table_name = {name}
"""
_REQUIRED = """
SELECT column_name AS name FROM duckdb_columns()
 WHERE database_name = current_database() AND NOT is_nullable
   AND schema_name = {schema} AND table_name = {name}
"""
_INDEXES = """
SELECT expressions AS names FROM duckdb_indexes()
 WHERE database_name = current_database() AND schema_name = {schema} AND table_name = {name}
"""


class DuckDatabase:
    """One file. It is opened for reading alone, and never made."""

    def __init__(self, config: SqlConfig, context: Context) -> None:
        self._config = config
        self._context = context
        self._file = config.file(context.root)

    @contextmanager
    def session(self, snapshot: str | None = None) -> Iterator[DuckSession]:
        shown = self._config.shown_file
        refuse_no_file(self._file, shown)
        try:
            with self._context.budget.turn():
                connection = duckdb.connect(
                    str(self._file), read_only=True, config={"autoinstall_known_extensions": "false"}
                )
        except duckdb.Error as error:
            raise self._refusal(error) from error
        try:
            yield DuckSession(connection, self._config, self._context)
        finally:
            connection.close()

    @contextmanager
    def still(self) -> Iterator[str | None]:
        with self.session():
            yield HELD

    def close(self) -> None:
        """Nothing is kept."""

    def _refusal(self, error: duckdb.Error) -> ReadFailed:
        shown = self._config.shown_file
        try:
            with self._file.open("rb") as opened:
                start = opened.read(_MAGIC_OFFSET + len(_MAGIC))
        except OSError as denied:
            return PermanentFailure(
                f"`{shown}` cannot be opened: {denied.strerror}", hint="check the rights of the file"
            )
        if start[_MAGIC_OFFSET:] != _MAGIC:
            return foreign_file(shown, "DuckDB")
        return TransientFailure(
            f"`{shown}` cannot be opened now: {_words(error)}",
            hint="see that no other process has it open for writing, and run it again",
        )


class DuckSession:
    """One connection. Nobody can write to the file while it is open."""

    is_text_checked = True

    def __init__(self, connection: duckdb.DuckDBPyConnection, config: SqlConfig, context: Context) -> None:
        self._connection = connection
        self._config = config
        self._context = context

    def about(self) -> str:
        (row,) = self._rows("SELECT version() AS version, current_database() AS base")
        shown = self._config.shown_file
        return f"DuckDB {row['version'].removeprefix('v')}, file `{shown}`, database `{row['base']}`"

    def relations(self, names: Collection[str] | None) -> Sequence[Relation]:
        own = self._config.db_schema or DEFAULT_SCHEMA
        found = self._tables(own, names)
        if names is None:
            described = (self._described(table["name"], table) for table in found.values())
            return [relation for relation in described if relation is not None]
        places = ((name, _places(name, own)) for name in names)
        return [
            self._relation(name, found[place])
            for name, several in places
            for place in [next((place for place in several if place in found), None)]
            if place is not None
        ]

    def extent(self, relation: Relation, column: Column) -> Extent:
        return looked_up_extent(self, relation, column)

    def batches(self, select: Select) -> Generator[pa.RecordBatch]:
        # A cursor is a connection of its own to the open file, with a result of its own.
        cursor = self._connection.cursor()
        try:
            with self._context.budget.turn():
                reader = cursor.sql(select.sql).to_arrow_reader(BATCH_ROWS)
            yield from reader
        except (duckdb.Error, OSError) as error:
            raise _failure(error, select.relation.name) from error
        finally:
            cursor.close()

    def _tables(self, own: str, names: Collection[str] | None) -> dict[tuple[str, str], dict[str, Any]]:
        if names is None:
            wanted = view = f"schema_name = {text_literal(own)}"
        else:
            places = [place for name in names for place in _places(name, own)]
            listed = ", ".join(f"({text_literal(schema)}, {text_literal(name)})" for schema, name in places)
            wanted, view = (
                f"({column}) IN ({listed})" if places else "false"
                for column in ("schema_name, table_name", "schema_name, view_name")
            )
        rows = self._rows(_TABLES.format(wanted=wanted, wanted_view=view))
        return {(row["schema"], row["name"]): row for row in rows}

    def _described(self, name: str, table: dict[str, Any]) -> Relation | None:
        """A table of the schema; None for a view of which a part is gone, which only its name brings up."""
        try:
            return self._relation(name, table)
        except ReadFailed:
            if table["is_view"]:
                return None
            raise

    def _relation(self, name: str, table: dict[str, Any]) -> Relation:
        target = f"{quoted(table['schema'])}.{quoted(table['name'])}"
        place = {"schema": text_literal(table["schema"]), "name": text_literal(table["name"])}
        keys = [key for row in self._rows(_KEYS.format(**place)) for key in row["names"]]
        required = {row["name"] for row in self._rows(_REQUIRED.format(**place))}
        indexed = {
            row["names"].strip("[]").split(", ")[0].strip("\"'")
            for row in self._rows(_INDEXES.format(**place))
        }
        as_text = self._config.columns_as_text((name, f"{table['schema']}.{table['name']}"))
        relation = Relation(
            name=name,
            target=target,
            columns=tuple(
                column_of(
                    column,
                    kind,
                    is_nullable=column not in required,
                    is_indexed=column in indexed or keys[:1] == [column],
                    is_text=column in as_text,
                )
                for column, kind in self._types(name, target)
            ),
            primary_key=tuple(keys),
            estimated_rows=table["rows"],
            description=table["description"],
        )
        for column in as_text:
            relation.column(column)
        return relation

    def _types(self, name: str, target: str) -> list[tuple[str, Any]]:
        cursor = self._connection.cursor()
        try:
            with self._context.budget.turn():
                described = cursor.sql(f"FROM {target}")
            return list(zip(described.columns, described.types, strict=True))
        except duckdb.Error as error:
            raise _failure(error, name) from error
        finally:
            cursor.close()

    def _rows(self, query: str) -> list[dict[str, Any]]:
        cursor = self._connection.cursor()
        try:
            with self._context.budget.turn():
                found = cursor.sql(query).to_arrow_table()
        except duckdb.Error as error:
            raise _failure(error, "duckdb_tables()") from error
        finally:
            cursor.close()
        rows: list[dict[str, Any]] = found.to_pylist()
        return rows


def _places(name: str, own: str) -> list[tuple[str, str]]:
    """Where a table of this name may be: in the schema that is read, else in the one before the dot."""
    schema, dot, table = name.partition(".")
    return [(own, name), (schema, table)] if dot else [(own, name)]


def _failure(error: Exception, table: str) -> ReadFailed:
    """By the type of the error: DuckDB has no codes, and in the middle of a read not even types."""
    problem = f"DuckDB cannot read `{table}`: {_words(error)}"
    if isinstance(error, duckdb.IOException | duckdb.OutOfMemoryException | duckdb.InterruptException):
        return TransientFailure(problem, hint="run it again")
    if isinstance(error, duckdb.ConversionException | duckdb.OutOfRangeException):
        return SchemaIncompatible(problem, hint="read the column as text with `as_text`")
    return PermanentFailure(problem, hint="try the same in DuckDB itself")


def _words(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].strip()
