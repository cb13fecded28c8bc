"""Tests of cursors: whatever happens between two batches, a later read goes on after the first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from hakiri.core.canonical import canonical_json
from hakiri.sources.contract import Batch, Read, Table
from hakiri.sources.errors import ReadFailed
from hakiri.sources.testing.reading import (
    end_state,
    held_cursor,
    incremental_reads,
    read_all,
    read_anew,
    refuse_difference,
    rows_of,
    stored,
    tables_of,
)
from hakiri.sources.testing.subject import Subject, needed, visit

# A read is broken off after so many of its batches; more would only take longer.
MOST_BREAKS = 12


class CursorContract:
    """Reads that go on where another one ended."""

    def test_cursors_are_plain_json(self, source: Subject) -> None:
        cursors = [batch.cursor for *_, batches in _whole_reads(source) for batch in batches]
        for cursor in cursors:
            if cursor is not None:
                assert isinstance(cursor, Mapping)
                assert json.loads(canonical_json(cursor)) == cursor, "the cursor changes when it is stored"

    def test_a_read_goes_on_after_every_batch(self, source: Subject) -> None:
        for table, read, batches in _whole_reads(source):
            whole = end_state(table, rows_of(batches))
            for taken in _breaks(len(batches)):
                cursor, standing = held_cursor(batches[:taken])
                rest = rows_of(read_anew(source, replace(read, cursor=stored(cursor))))
                # Without a key, rows after the cursor are given up: whoever goes on reads them again.
                before = rows_of(batches[: taken if table.primary_key else standing])
                refuse_difference(
                    f"`{table.name}`, broken off after batch {taken} of {len(batches)}, cursor {cursor}",
                    whole,
                    end_state(table, [*before, *rest]),
                )

    def test_the_last_cursor_is_not_the_start(self, source: Subject) -> None:
        for table, read, batches in _whole_reads(source):
            cursor, _ = held_cursor(batches)
            count = len(rows_of(batches))
            # An empty cursor says that the next read is a whole one again.
            if not cursor or count < 2:
                continue
            again = rows_of(read_anew(source, replace(read, cursor=stored(cursor))))
            assert len(again) < count, f"`{table.name}` is read as a whole again from its last cursor"

    def test_what_is_new_is_read_from_the_last_cursor(self, source: Subject) -> None:
        grow = needed(source.grow, "way to add rows")
        for table, read, batches in list(_whole_reads(source)):
            cursor, standing = held_cursor(batches)
            added = grow(table.name)
            assert added > 0

            fresh = rows_of(read_anew(source, replace(read, cursor=stored(cursor))))

            before = rows_of(batches[: len(batches) if table.primary_key else standing])
            after = end_state(table, rows_of(read_anew(source, read)))
            # What was added for one of the reads is there for the next ones too.
            assert len(fresh) >= added
            refuse_difference(f"`{table.name}` after it grew", after, end_state(table, [*before, *fresh]))

    def test_a_read_that_fails_in_the_middle_goes_on_after_its_cursor(self, source: Subject) -> None:
        breakages = needed(source.breakages, "way to break the source")
        for broken in breakages.values():
            for table, read, batches in _whole_reads(source):
                if len(batches) < 2:
                    continue
                whole = end_state(table, rows_of(batches))
                got: list[Batch] = []
                with visit(source) as here:
                    reading = here.connector.open(read)
                    got.append(next(reading))
                    with broken(), suppress(ReadFailed):  # whoever had read ahead may also just end
                        got.extend(reading)  # what came before the failure stays in it
                cursor, standing = held_cursor(got)
                rest = rows_of(read_anew(source, replace(read, cursor=stored(cursor))))
                before = rows_of(got[: len(got) if table.primary_key else standing])
                refuse_difference(
                    f"`{table.name}` after a failure", whole, end_state(table, [*before, *rest])
                )

    def test_rows_without_a_key_never_come_after_the_last_cursor(self, source: Subject) -> None:
        for table, read, batches in _whole_reads(source):
            cursor, standing = held_cursor(batches)
            if cursor is not None and not table.primary_key:
                late = rows_of(batches[standing:])
                assert late == [], f"`{table.name}` ({read.incremental}): the next read gives rows again"


def _whole_reads(source: Subject) -> Iterator[tuple[Table, Read, list[Batch]]]:
    """Every table from its start, in each way that it can be read incrementally."""
    with visit(source) as here:
        for table in tables_of(here.connector, source):
            for read in incremental_reads(source, table, here.connector):
                yield table, read, read_all(here.connector, read)


def _breaks(batches: int) -> list[int]:
    """After how many batches the read is broken off: all numbers, or some from the first to the last."""
    if batches <= MOST_BREAKS:
        return list(range(1, batches + 1))
    return sorted({1 + number * (batches - 1) // (MOST_BREAKS - 1) for number in range(MOST_BREAKS)})
