"""SQLite, through ADBC."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import adbc_driver_sqlite.dbapi as adbc
import pyarrow as pa
from adbc_driver_manager import Error

from hakiri.sources.contract import Context, Extent
from hakiri.sources.errors import PermanentFailure, ReadFailed, TransientFailure
from hakiri.sources.sql.config import SqlConfig
from hakiri.sources.sql.database_files import foreign_file, refuse_no_file
from hakiri.sources.sql.databases import BATCH_BYTES
from hakiri.sources.sql.reading import looked_up_extent
from hakiri.sources.sql.relations import Column, Relation, quoted, text_literal
from hakiri.sources.sql.selects import Select
from hakiri.sources.sql.sqlite_types import column_of, first_value

_FEWEST_ROWS, _MOST_ROWS, _ROWS_OF_A_VIEW = 256, 65_536, 8_192
_BUSY_MILLISECONDS = 5_000
_ASK = """
import sqlite3, sys
try:
    for _ in sqlite3.connect(sys.argv[1], uri=True, timeout=0).execute(sys.argv[2]):
        pass
    print(sqlite3.SQLITE_OK)
except sqlite3.Error as error:
    print(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF)
"""
# Primary result codes that another try may not meet; if all was well this time, it was one of them.
_PASSING = frozenset(
    {
        sqlite3.SQLITE_OK,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_SCHEMA,
    }
)


class SqliteDatabase:
    """One file. It is opened for reading alone, and never made."""

    def __init__(self, config: SqlConfig, context: Context) -> None:
        self._config = config
        self._context = context
        self._file = config.file(context.root)

    @contextmanager
    def session(self, snapshot: str | None = None) -> Iterator[SqliteSession]:
        refuse_no_file(self._file, self._config.shown_file)
        uri = f"file:{quote(str(self._file))}?mode=ro"
        try:
            with self._context.budget.turn():
                # A transaction: all questions of a session see one state, also while others write.
                connection = adbc.connect(uri, autocommit=False)
        except Error as error:
            raise self._failure(error, "SELECT 1") from error
        try:
            with connection.cursor() as cursor:
                # Others open the file too, and whoever is first mends its log; that takes a moment.
                cursor.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
            yield SqliteSession(connection, self)
        finally:
            connection.close()

    @contextmanager
    def still(self) -> Iterator[str | None]:
        """SQLite has no state that another connection could be told to see."""
        yield None

    def close(self) -> None:
        """Nothing is kept."""

    def rows(self, connection: adbc.Connection, query: str) -> list[dict[str, Any]]:
        return [row for batch in self.batches(connection, query, _MOST_ROWS) for row in batch.to_pylist()]

    def batches(self, connection: adbc.Connection, query: str, rows: int) -> Generator[pa.RecordBatch]:
        try:
            with connection.cursor() as cursor:
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(rows)})
                with self._context.budget.turn():
                    cursor.execute(query)
                yield from cursor.fetch_record_batch()
        except (Error, OSError, pa.ArrowException) as error:
            raise self._failure(error, query) from error

    @property
    def config(self) -> SqlConfig:
        return self._config

    @property
    def bytes(self) -> int:
        return self._file.stat().st_size

    def _failure(self, error: Exception, query: str) -> ReadFailed:
        """What went wrong, by SQLite's result code."""
        shown, words = self._config.shown_file, str(error).strip().partition("\n")[0]
        with self._context.budget.turn():
            code = result_code(self._file, query)
        if code == sqlite3.SQLITE_NOTADB:
            return foreign_file(shown, "SQLite")
        if code in _PASSING:
            return TransientFailure(
                f"`{shown}` cannot be read now: {words} (SQLite {code})",
                hint="see that nobody holds the file locked, and run it again",
            )
        return PermanentFailure(
            f"`{shown}` cannot be read: {words} (SQLite {code})",
            hint="check the rights of the file; `PRAGMA integrity_check` says whether it is damaged",
        )


def result_code(file: Path, query: str) -> int:
    """With which result code of SQLite a query ends.

    The driver keeps the code to itself, so Python's own SQLite is asked the same. It is another library on
    the same file, and would give up the locks of all others in its process: so it gets one of its own.
    """
    asked = subprocess.run(
        [sys.executable, "-I", "-c", _ASK, f"file:{quote(str(file))}?mode=ro", query],
        capture_output=True,
        text=True,
        check=False,
    )
    return int(asked.stdout or sqlite3.SQLITE_ERROR)


class SqliteSession:
    """One connection with one transaction."""

    # SQLite takes any bytes for text.
    is_text_checked = False

    def __init__(self, connection: adbc.Connection, database: SqliteDatabase) -> None:
        self._connection = connection
        self._database = database

    def about(self) -> str:
        (row,) = self._rows(
            "SELECT sqlite_version() AS version, (SELECT count(*) FROM sqlite_schema "
            "WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\') AS tables"
        )
        shown = self._database.config.shown_file
        return f"SQLite {row['version']}, file `{shown}`, {row['tables']} tables and views"

    def relations(self, names: Collection[str] | None) -> Sequence[Relation]:
        listed = "" if names is None else f"AND t.name IN ({', '.join(map(text_literal, names))})"
        tables = self._rows(
            "SELECT t.name AS name, t.type AS type, t.wr AS is_without_rowid "  # noqa: S608 - quoted
            "FROM pragma_table_list AS t "
            "WHERE t.schema = 'main' AND t.type IN ('table', 'view', 'virtual') "
            f"AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' {listed} ORDER BY t.name"
        )
        counts = self._counts()
        if names is not None:
            return [self._relation(table, counts) for table in tables]
        described = (self._described(table, counts) for table in tables)
        return [relation for relation in described if relation is not None]

    def extent(self, relation: Relation, column: Column) -> Extent:
        return looked_up_extent(self, relation, column)

    def batches(self, select: Select) -> Generator[pa.RecordBatch]:
        is_first = True
        query, rows = _with_first_row(select), self._batch_rows(select)
        with closing(self._database.batches(self._connection, query, rows)) as batches:
            for batch in batches:
                yield batch.slice(1) if is_first else batch
                is_first = False

    def _batch_rows(self, select: Select) -> int:
        """How many rows make a batch, if the whole file were this one table."""
        rows = select.relation.estimated_rows
        if rows is None:
            return _ROWS_OF_A_VIEW
        return min(max(BATCH_BYTES * rows // max(self._database.bytes, 1), _FEWEST_ROWS), _MOST_ROWS)

    def _counts(self) -> dict[str, int]:
        """Rows by table, as ANALYZE last counted them."""
        if not self._rows("SELECT 1 AS one FROM sqlite_schema WHERE name = 'sqlite_stat1'"):
            return {}
        rows = self._rows("SELECT tbl AS name, stat AS stat FROM sqlite_stat1 WHERE stat IS NOT NULL")
        return {row["name"]: int(row["stat"].split()[0]) for row in rows}

    def _described(self, table: dict[str, Any], counts: dict[str, int]) -> Relation | None:
        """A table of the file; None for a view of which a part is gone, which only its name brings up."""
        try:
            return self._relation(table, counts)
        except PermanentFailure:
            if table["type"] == "view":
                return None
            raise

    def _relation(self, table: dict[str, Any], counts: dict[str, int]) -> Relation:
        name = table["name"]
        columns = self._rows(
            'SELECT x.name AS name, x.type AS type, x."notnull" AS is_required, x.pk AS pk, '
            "EXISTS (SELECT 1 FROM pragma_index_list(:t) AS i, pragma_index_info(i.name) AS c "
            "WHERE c.seqno = 0 AND c.name = x.name AND i.partial = 0) AS is_indexed "
            "FROM pragma_table_xinfo(:t) AS x WHERE x.hidden <> 1 ORDER BY x.cid".replace(
                ":t", text_literal(name)
            )
        )
        keys = {row["pk"]: row["name"] for row in columns if row["pk"]}
        # A lone INTEGER PRIMARY KEY is the row's number: never NULL, and always in order.
        row_id = (
            next((row["name"] for row in columns if row["pk"] and row["type"].upper() == "INTEGER"), None)
            if len(keys) == 1 and table["type"] == "table"
            else None
        )
        as_text = self._database.config.columns_as_text((name,))
        relation = Relation(
            name=name,
            target=quoted(name),
            columns=tuple(
                column_of(
                    row["name"],
                    row["type"],
                    is_nullable=not (row["is_required"] or row["name"] == row_id),
                    is_indexed=bool(row["is_indexed"]) or row["name"] == row_id,
                    is_text=row["name"] in as_text,
                )
                for row in columns
            ),
            primary_key=tuple(keys[position] for position in sorted(keys)),
            estimated_rows=self._estimate(table, counts),
        )
        for column in as_text:
            relation.column(column)
        return relation

    def _estimate(self, table: dict[str, Any], counts: dict[str, int]) -> int | None:
        if table["name"] in counts:
            return counts[table["name"]]
        if table["type"] != "table" or table["is_without_rowid"]:
            return None
        highest = f"SELECT coalesce(max(rowid), 0) AS rows FROM {quoted(table['name'])}"  # noqa: S608 - quoted
        rows: int = self._rows(highest)[0]["rows"]
        return max(rows, 0)

    def _rows(self, query: str) -> list[dict[str, Any]]:
        return self._database.rows(self._connection, query)


def _with_first_row(select: Select) -> str:
    """The rows after one that tells the driver the type of each column.

    An order inside a compound is only kept where it has a limit of its own.
    """
    samples = [first_value(column) for column in select.columns]
    first = ", ".join(samples + ["''"] * (len(select.expressions) - len(samples)))
    if select.order is None and select.limit is None:
        return f"SELECT {first} UNION ALL {select.sql}"
    limit = "" if select.limit is not None else " LIMIT -1"
    return f"SELECT {first} UNION ALL SELECT * FROM ({select.sql}{limit})"  # noqa: S608 - all of it is quoted
