"""Reading a source to its end, and comparing what two reads gave."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import pytest

from hakiri.core.canonical import canonical_json
from hakiri.core.cursors import CursorKind
from hakiri.sources.contract import OP_COLUMN, Batch, Connector, Cursor, Read, Table
from hakiri.sources.testing.subject import Subject, visit

MOST_EMPTY_BATCHES = 100
MOST_SHOWN = 3
CUTTING_KINDS = (CursorKind.MONOTONIC, CursorKind.PARTITIONED_MONOTONIC)

Row: TypeAlias = dict[str, Any]


def tables_of(connector: Connector, source: Subject) -> list[Table]:
    """The tables that the subject names, as the connector describes them."""
    return list(connector.discover(list(source.rows)))


def read_all(connector: Connector, read: Read) -> list[Batch]:
    """Every batch; fails when the read goes on for ever without giving anything."""
    batches: list[Batch] = []
    empty = 0
    for batch in connector.open(read):
        batches.append(batch)
        empty = 0 if batch.rows.num_rows else empty + 1
        if empty > MOST_EMPTY_BATCHES:
            pytest.fail(f"the read of `{read.table}` gives one empty batch after the other and does not end")
    return batches


def read_anew(source: Subject, read: Read) -> list[Batch]:
    """Every batch, read by a connector that knows nothing of any read before."""
    with visit(source) as here:
        return read_all(here.connector, read)


def rows_of(batches: Iterable[Batch]) -> list[Row]:
    return [row for batch in batches for row in batch.rows.to_pylist()]


def held_cursor(batches: Sequence[Batch]) -> tuple[Cursor | None, int]:
    """The cursor that holds after these batches, and how many of them it stands after."""
    for number in range(len(batches), 0, -1):
        cursor = batches[number - 1].cursor
        if cursor is not None:
            return cursor, number
    return None, 0


def stored(cursor: Cursor | None) -> Cursor | None:
    """The cursor as the catalog gives it back: once through its text."""
    kept: Cursor | None = json.loads(canonical_json(cursor))
    return kept


def incremental_reads(source: Subject, table: Table, connector: Connector) -> Iterator[Read]:
    """The table from its start: as it is, and by the column that a manifest would name."""
    yield Read(table=table.name)
    named = source.incremental.get(table.name) or cutting_column(connector, table)
    if named is not None:
        yield Read(table=table.name, incremental=named)


def cutting_column(connector: Connector, table: Table) -> str | None:
    """The column by which windows cut the table, if its kind of cursor allows them."""
    hint = connector.backfill_hint(table.name)
    if hint.cursor_kind not in CUTTING_KINDS:
        return None
    return hint.cursor_field or next(iter(table.cursor_fields), None)


def is_feed(table: Table) -> bool:
    """Whether rows are changes, so that one key may come more than once."""
    return OP_COLUMN in table.schema.names


def key_of(table: Table, row: Row) -> str:
    return repr([row[name] for name in table.primary_key])


def end_state(table: Table, rows: Iterable[Row]) -> Counter[str]:
    """What the table is once all rows were taken in: by key the newest one wins, without a key all count."""
    if not table.primary_key:
        return Counter(repr(row) for row in rows)
    newest: dict[str, Row] = {}
    for row in rows:
        newest[key_of(table, row)] = row
    return Counter(repr(row) for row in newest.values() if row.get(OP_COLUMN) != "delete")


def refuse_difference(words: str, expected: Counter[str], actual: Counter[str]) -> None:
    """Fail with some of the rows that are missing or too many."""
    missing, surplus = expected - actual, actual - expected
    told = [
        f"{name} ({rows.total()}): {', '.join(list(rows)[:MOST_SHOWN])}"
        for name, rows in (("missing", missing), ("too many", surplus))
        if rows
    ]
    assert not told, f"{words}: {'; '.join(told)}"
