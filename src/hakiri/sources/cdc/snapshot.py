"""The table as it was at one place of the log: what a table begins with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import LiteralString, cast

import pyarrow as pa
import pyarrow.csv as pacsv

from hakiri.sources.cdc.server import Session
from hakiri.sources.cdc.tables import Column, SourceTable, literal, quoted
from hakiri.sources.cdc.texts import typed_column
from hakiri.sources.contract import OP_COLUMN
from hakiri.sources.errors import SchemaIncompatible

MOST_ROWS = 32_768
MOST_BYTES = 8 * 1024**2
UPSERT = "upsert"


def enter_snapshot(session: Session, snapshot: str, table: SourceTable) -> None:
    """Have the session see the database as the snapshot does, and let nobody change the table's form."""
    session.order(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
        f"SET TRANSACTION SNAPSHOT {literal(snapshot)}; "
        f"LOCK TABLE ONLY {table.quoted} IN ACCESS SHARE MODE"
    )


def table_rows(
    session: Session, table: SourceTable, columns: Sequence[Column], *, limit: int | None = None
) -> Iterator[pa.RecordBatch]:
    """All rows that the session sees, or the first few; at least one batch, if only an empty one."""
    chosen = ", ".join(quoted(column.name) for column in columns)
    end = "" if limit is None else f" LIMIT {limit:d}"
    # Quotes tell an empty text from no value.
    order = f"COPY (SELECT {chosen} FROM ONLY {table.quoted}{end}) TO STDOUT (FORMAT csv, FORCE_QUOTE *)"
    lines: list[bytes] = []
    held = 0
    is_empty = True
    with session.connection.cursor() as cursor:
        copying = cursor.copy(cast("LiteralString", order))
        with session.call():
            copy = copying.__enter__()
        with session.answers():
            for line in copy:
                lines.append(bytes(line))
                held += len(line)
                if len(lines) >= MOST_ROWS or held >= MOST_BYTES:
                    yield _batch(lines, table, columns)
                    lines, held, is_empty = [], 0, False
            copying.__exit__(None, None, None)
    if lines or is_empty:
        yield _batch(lines, table, columns)
