"""Tests of hints, windows, partitions, extents and snapshots: a table in pieces, one by one and at once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain
from typing import Any, TypeVar

import pytest

from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Duration, Rate
from hakiri.sources.contract import Bound, Connector, Hint, Read, Table, Window
from hakiri.sources.testing.reading import (
    CUTTING_KINDS,
    Row,
    cutting_column,
    end_state,
    read_all,
    read_anew,
    refuse_difference,
    rows_of,
    tables_of,
)
from hakiri.sources.testing.subject import Subject, needed, visit

READERS = 4

_Result = TypeVar("_Result")
_Work = TypeVar("_Work")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A window, with its ends also as values of the column."""

    window: Window
    since: Any
    until: Any

    def holds(self, value: Any) -> bool:
        if value is None:
            return self.window.has_nulls
        return (self.since is None or self.since <= value) and (self.until is None or value < self.until)


class PieceContract:
    """What a connector says of how its tables may be cut, and whether it keeps to it."""

    def test_hints_can_be_followed(self, source: Subject) -> None:
        with visit(source) as here, visit(source) as there:
            for table in tables_of(here.connector, source):
                hint = here.connector.backfill_hint(table.name)
                _check_hint(table, hint)
                assert there.connector.backfill_hint(table.name) == hint, "two connectors hint differently"

    def test_partitions_have_the_keys_of_the_hint(self, source: Subject) -> None:
        with visit(source) as here:
            for table in tables_of(here.connector, source):
                keys = set(here.connector.backfill_hint(table.name).partition_keys)
                parts = [dict(part) for part in here.connector.partitions(table.name)]
                assert parts or keys, f"`{table.name}` is in no partition at all"
                assert all(part.keys() == keys for part in parts), f"`{table.name}`: keys of its partitions"
                assert all(isinstance(value, str) for part in parts for value in part.values())
                assert len({repr(sorted(part.items())) for part in parts}) == len(parts)

    def test_every_row_lies_in_exactly_one_partition(self, source: Subject) -> None:
        with visit(source) as here:
            cut = [
                table
                for table in tables_of(here.connector, source)
                if here.connector.backfill_hint(table.name).partition_keys
            ]
            if not cut:
                pytest.skip("no table of the source has partitions")
            for table in cut:
                reads = [
                    Read(table=table.name, partition=part) for part in here.connector.partitions(table.name)
                ]
                pieces = [row for read in reads for row in rows_of(read_all(here.connector, read))]
                whole = rows_of(read_all(here.connector, Read(table=table.name)))
                refuse_difference(f"partitions of `{table.name}`", _counted(whole), _counted(pieces))

    def test_every_row_lies_in_exactly_one_window(self, source: Subject) -> None:
        with visit(source) as here:
            for table, column in _cut_tables(here.connector, source):
                whole = rows_of(read_all(here.connector, Read(table=table.name)))
                pieces: list[Row] = []
                for piece in _slices(column, whole):
                    for part in here.connector.partitions(table.name):
                        read = Read(table=table.name, window=piece.window, partition=part)
                        rows = rows_of(read_all(here.connector, read))
                        _check_inside(table, column, piece, rows)
                        pieces += rows
                refuse_difference(f"windows of `{table.name}`", _counted(whole), _counted(pieces))

    def test_windows_may_be_read_at_once(self, source: Subject) -> None:
        with visit(source) as here:
            reads: list[Read] = []
            expected: Counter[str] = Counter()
            for table, column in _cut_tables(here.connector, source):
                whole = rows_of(read_all(here.connector, Read(table=table.name)))
                expected += _counted(whole)
                reads += [
                    Read(table=table.name, window=piece.window, partition=part)
                    for piece in _slices(column, whole)
                    for part in here.connector.partitions(table.name)
                ]

        found = at_once(lambda read: rows_of(read_anew(source, read)), reads)

        refuse_difference("windows that were read at once", expected, _counted([*chain(*found)]))

    def test_an_extent_is_of_the_kind_that_windows_take(self, source: Subject) -> None:
        with visit(source) as here:
            for table, column in _cut_tables(here.connector, source):
                extent = here.connector.extent(table.name, column)
                values = [row[column] for row in rows_of(read_all(here.connector, Read(table=table.name)))]
                kinds = {type(bound_of(value)) for value in values if value is not None}
                for end in (extent.lowest, extent.highest):
                    assert end is None or not kinds or type(end) in kinds, f"extent of `{column}`: `{end!r}`"
                assert extent.rows is None or extent.rows >= 0
                if extent.has_nulls is False:
                    assert None not in values, f"`{table.name}` has rows without `{column}`"

    def test_a_source_that_is_held_still_does_not_change_for_its_readers(self, source: Subject) -> None:
        grow = needed(source.grow, "way to add rows")
        with visit(source) as here, here.connector.still() as snapshot:
            if snapshot is None:
                pytest.skip("the connector cannot hold its source still")
            for table in tables_of(here.connector, source):
                read = Read(table=table.name, snapshot=snapshot)
                before = end_state(table, rows_of(read_anew(source, read)))
                grow(table.name)
                after = end_state(table, rows_of(read_anew(source, read)))
                refuse_difference(f"`{table.name}` while it is held still", before, after)


def bound_of(value: Any) -> Bound:
    """The value of a cursor column as windows carry it."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    assert isinstance(value, int | str), f"a cursor column cannot hold {type(value).__name__}"
    return value


def at_once(work: Callable[[_Work], _Result], items: Sequence[_Work]) -> list[_Result]:
    """What `work` returns for each; several are under way at any time, and the first begin together."""
    gate = threading.Barrier(min(READERS, len(items)))

    def begin(number: int) -> _Result:
        if number < gate.parties:
            gate.wait()
        return work(items[number])

    with ThreadPoolExecutor(READERS) as pool:
        return list(pool.map(begin, range(len(items))))


def _check_hint(table: Table, hint: Hint) -> None:
    words = f"hint of `{table.name}`"
    assert isinstance(hint.cursor_kind, CursorKind), words
    assert hint.cursor_field is None or hint.cursor_field in table.schema.names, f"{words}: no such column"
    assert hint.natural_window is None or isinstance(hint.natural_window, Duration), words
    assert hint.rate_budget is None or isinstance(hint.rate_budget, Rate), words
    assert len(set(hint.partition_keys)) == len(hint.partition_keys), words
    is_cut = hint.cursor_kind in CUTTING_KINDS
    if is_cut:
        assert hint.cursor_field or table.cursor_fields, f"{words}: `{hint.cursor_kind}` by which column?"
    else:
        # Tokens and positions are walked in order; windows would have them read in parallel.
        assert hint.natural_window is None, f"{words}: `{hint.cursor_kind}` cannot be cut into windows"
    if hint.cursor_kind is CursorKind.PARTITIONED_MONOTONIC:
        assert hint.partition_keys, f"{words}: partitioned by what?"


def _cut_tables(connector: Connector, source: Subject) -> list[tuple[Table, str]]:
    """The tables that may be read by windows, each with its column."""
    tables = tables_of(connector, source)
    cut = [(table, column) for table in tables if (column := cutting_column(connector, table))]
    if not cut:
        pytest.skip("no table of the source can be cut into windows")
    return cut


def _slices(column: str, rows: Sequence[Row]) -> Iterator[Slice]:
    """Windows from one end to the other: cut at the edges too, so that some are empty or hold one value."""
    values = sorted({row[column] for row in rows if row[column] is not None})
    last = len(values) - 1
    cuts = [values[place] for place in sorted({0, last // 3, 2 * last // 3, last})] if values else []
    for since, until in zip([None, *cuts], [*cuts, None], strict=True):
        window = Window(
            field=column,
            since=None if since is None else bound_of(since),
            until=None if until is None else bound_of(until),
            has_nulls=since is None,
        )
        yield Slice(window=window, since=since, until=until)


def _check_inside(table: Table, column: str, piece: Slice, rows: Sequence[Row]) -> None:
    if any(isinstance(end, str) for end in (piece.since, piece.until)):
        return  # databases order texts in their own way; that each comes once is all that matters
    outside = [row[column] for row in rows if not piece.holds(row[column])]
    assert not outside, f"`{table.name}`: {outside[:3]} are outside of {piece.window}"


def _counted(rows: Sequence[Row]) -> Counter[str]:
    return Counter(repr(row) for row in rows)
