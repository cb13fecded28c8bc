"""The changes of a table from one place of the log to another, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from hakiri.core.backoff import Backoff
from hakiri.sources.cdc.pgoutput import UNCHANGED, Begin, Commit, Value, Values, parse_message
from hakiri.sources.cdc.positions import Position
from hakiri.sources.cdc.rows import Assembler, Rows
from hakiri.sources.cdc.server import Session, query
from hakiri.sources.cdc.stream import Event, SentUpTo
from hakiri.sources.cdc.tables import Column, SourceTable
from hakiri.sources.cdc.texts import text_array, typed_column
from hakiri.sources.contract import OP_COLUMN, Batch
from hakiri.sources.errors import PermanentFailure, SchemaIncompatible, TransientFailure
from hakiri.sources.sql.relations import quoted

MOST_ROWS = 8_192
MOST_BYTES = 8 * 1024**2
# Rows whose large values have to be fetched; each value may be large.
MOST_UNKNOWN = 200
_XIDS = 1 << 32
_NONE = Rows()
# A commit becomes visible some moments after it stands in the log, or when a synchronous standby has it too.
_UNTIL_VISIBLE = Backoff(first_seconds=0.02, longest_seconds=2.0, budget_seconds=60.0)


def replay(
    events: Iterator[Event],
    *,
    until: int,
    session: Session,
    table: SourceTable,
    columns: Sequence[Column],
    position: Position,
) -> Iterator[Batch]:
    """The changes of transactions that were committed before `until`, and a cursor at or after it.

    A cursor stands between two transactions, never inside one: the batches of a transaction that is larger
    than a batch have none, but for the last.
    """
    assembler = Assembler(table, columns)

    def batch(rows: Rows, lsn: int | None) -> Batch:
        _fetch_unknown(rows, session, table, columns)
        return Batch(
            rows=_record_batch(rows, table, columns), cursor=None if lsn is None else position.at(lsn)
        )

    read_up_to = position.lsn
    for event in events:
        if isinstance(event, SentUpTo):
            # Inside a transaction it is of the time before it.
            if assembler.is_between_transactions:
                read_up_to = max(read_up_to, event.lsn)
        else:
            try:
                message = parse_message(event)
            except ValueError as error:
                raise PermanentFailure(f"Postgres sends what this connector cannot read: {error}") from error
            if isinstance(message, Begin) and message.commit_lsn >= until:
                read_up_to = max(read_up_to, message.commit_lsn)
                break
            assembler.take(message, len(event))
            if isinstance(message, Commit):
                read_up_to = message.end_lsn
        if read_up_to >= until and assembler.is_between_transactions:
            break
        if assembler.whole and _is_full(assembler.whole, assembler.begun):
            yield batch(assembler.whole, read_up_to)
            assembler.whole = Rows()
        if _is_full(assembler.begun, _NONE):
            yield batch(assembler.begun, None)
            assembler.begun = Rows()
    yield batch(assembler.whole, read_up_to)


def is_visible(xid: int, snapshot: str) -> bool:
    """Whether a snapshot, as `xmin:xmax:running,…`, shows what a committed transaction did.

    The log counts transactions with 32 bits, snapshots with 64: the nearest number is meant.
    """
    _, xmax_text, running_text = snapshot.split(":")
    xmax = int(xmax_text)
    running = {int(text) for text in running_text.split(",") if text}
    whole = xmax - xmax % _XIDS + xid
    if whole - xmax > _XIDS // 2:
        whole -= _XIDS
    elif xmax - whole > _XIDS // 2:
        whole += _XIDS
    return whole < xmax and whole not in running


def _is_full(rows: Rows, more: Rows) -> bool:
    """Whether both together are enough for a batch."""
    return (
        len(rows.ops) + len(more.ops) >= MOST_ROWS
        or rows.size_bytes + more.size_bytes >= MOST_BYTES
        or len(rows.unknown) + len(more.unknown) >= MOST_UNKNOWN
    )


def _fetch_unknown(rows: Rows, session: Session, table: SourceTable, columns: Sequence[Column]) -> None:
    """Take rows with a large value that was not sent from the table, as they are now.

    Such a row is at least as new as the change. If it has changed since then, that change comes later in the
    log; if it is gone, so does its delete, and the update is left out.
    """
    if not rows.unknown:
        return
    _wait_until_visible(rows.xids, session)
    key = [place for place, column in enumerate(columns) if column.name in table.key]
    keys = [_key(rows.values[place], key) for place in rows.unknown]
    found = {_key(values, key): values for values in _rows_by_key(session, table, columns, key, keys)}
    gone = set()
    for place, wanted in zip(rows.unknown, keys, strict=True):
        if wanted in found:
            rows.values[place] = found[wanted]
        else:
            gone.add(place)
    rows.ops = [op for place, op in enumerate(rows.ops) if place not in gone]
    rows.values = [values for place, values in enumerate(rows.values) if place not in gone]


def _wait_until_visible(xids: set[int], session: Session) -> None:
    for seconds in _UNTIL_VISIBLE.waits():
        (row,) = session.rows(query("snapshot"))
        if all(is_visible(xid, row["snapshot"]) for xid in xids):
            return
        session.context.wait(seconds)
    raise TransientFailure("a transaction is committed in the log, but still waits for a synchronous standby")


def _key(values: Values, key: Sequence[int]) -> tuple[Value, ...]:
    return tuple(values[place] for place in key)


def _rows_by_key(
    session: Session,
    table: SourceTable,
    columns: Sequence[Column],
    key: Sequence[int],
    keys: Sequence[tuple[Value, ...]],
) -> list[Values]:
    chosen = ", ".join(f"t.{quoted(column.name)}" for column in columns)
    names = [quoted(columns[place].name) for place in key]
    wanted = ", ".join(
        f"k{number}::{columns[place].type_text} AS {name}"
        for number, (place, name) in enumerate(zip(key, names, strict=True))
    )
    given = ", ".join(f"${number + 1}::text[]" for number in range(len(key)))
    parts = ", ".join(f"k{number}" for number in range(len(key)))
    texts = [[_text(each[number]) for each in set(keys)] for number in range(len(key))]
    found = session.raw(
        f"SELECT {chosen} FROM ONLY {table.quoted} t "  # noqa: S608 - names are quoted, values are bound
        f"JOIN (SELECT {wanted} FROM unnest({given}) AS u({parts})) k USING ({', '.join(names)})",
        texts,
    )
    return [list(row) for row in found]


def _text(value: Value) -> str:
    if not isinstance(value, bytes):
        raise PermanentFailure("a change names its row by a key without a value")
    return value.decode()


def _record_batch(rows: Rows, table: SourceTable, columns: Sequence[Column]) -> pa.RecordBatch:
    by_column = zip(*rows.values, strict=True) if rows.values else iter([()] * len(columns))
    arrays = []
    for column, values in zip(columns, by_column, strict=True):
        assert UNCHANGED not in values  # noqa: S101 - they were fetched
        try:
            texts = text_array(values)
        except pa.ArrowInvalid:
            raise SchemaIncompatible(
                f"column `{column.name}` of table `{table.name}` holds a text that is no UTF-8",
                hint="convert the database from SQL_ASCII to UTF8",
            ) from None  # the cause would show the value
        arrays.append(typed_column(texts, column.kind, table=table.name, column=column.name))
    names = [*(column.name for column in columns), OP_COLUMN]
    return pa.RecordBatch.from_arrays([*arrays, pa.array(rows.ops, pa.string())], names)
