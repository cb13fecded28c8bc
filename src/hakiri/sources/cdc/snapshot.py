"""The table as it was at one place of the log: what a table begins with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pyarrow as pa
import pyarrow.csv as pacsv

from hakiri.sources.cdc.server import Session
from hakiri.sources.cdc.tables import Column, SourceTable
from hakiri.sources.cdc.texts import typed_column
from hakiri.sources.contract import OP_COLUMN
from hakiri.sources.errors import SchemaIncompatible
from hakiri.sources.sql.relations import quoted, text_literal

MOST_ROWS = 32_768
MOST_BYTES = 8 * 1024**2
UPSERT = "upsert"


def enter_snapshot(session: Session, snapshot: str, table: SourceTable) -> None:
    """Have the session see the database as the snapshot does, and let nobody change the table's form."""
    session.order(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
        f"SET TRANSACTION SNAPSHOT {text_literal(snapshot)}; "
        f"LOCK TABLE ONLY {table.quoted} IN ACCESS SHARE MODE"
    )


def table_rows(
    session: Session, table: SourceTable, columns: Sequence[Column], *, limit: int | None = None
) -> Iterator[pa.RecordBatch]:
    """All rows that the session sees, or the first few; at least one batch, if only an empty one."""
    chosen = ", ".join(quoted(column.name) for column in columns)
    end = "" if limit is None else f" LIMIT {limit:d}"
    # Quotes tell an empty text from no value.
    rows = f"SELECT {chosen} FROM ONLY {table.quoted}{end}"  # noqa: S608 - names are quoted
    order = f"COPY ({rows}) TO STDOUT (FORMAT csv, FORCE_QUOTE *)"
    lines: list[bytes] = []
    held = 0
    is_empty = True
    with session.answers(), ExitStack() as stack:
        with session.call():
            cursor = stack.enter_context(session.connection.cursor())
            copy = stack.enter_context(cursor.copy(order))
        for line in copy:
            lines.append(bytes(line))
            held += len(line)
            if len(lines) >= MOST_ROWS or held >= MOST_BYTES:
                yield _batch(lines, table, columns)
                lines, held, is_empty = [], 0, False
    if lines or is_empty:
        yield _batch(lines, table, columns)


def _batch(lines: Sequence[bytes], table: SourceTable, columns: Sequence[Column]) -> pa.RecordBatch:
    texts = _texts(b"".join(lines), [column.name for column in columns])
    arrays = [
        typed_column(texts.column(place).combine_chunks(), column.kind, table=table.name, column=column.name)
        for place, column in enumerate(columns)
    ]
    ops = pa.repeat(pa.scalar(UPSERT, pa.string()), texts.num_rows)
    return pa.RecordBatch.from_arrays([*arrays, ops], [*(column.name for column in columns), OP_COLUMN])


def _texts(lines: bytes, names: Sequence[str]) -> pa.Table:
    """Whole lines of CSV as columns of texts."""
    if not lines:
        return pa.schema([(name, pa.string()) for name in names]).empty_table()
    try:
        return pacsv.read_csv(
            pa.py_buffer(lines),
            read_options=pacsv.ReadOptions(
                column_names=list(names), use_threads=False, block_size=len(lines) + 1
            ),
            parse_options=pacsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=pacsv.ConvertOptions(
                column_types={name: pa.string() for name in names},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        raise SchemaIncompatible(
            "the database holds texts that are no UTF-8", hint="convert the database from SQL_ASCII to UTF8"
        ) from None  # the cause would show the value
