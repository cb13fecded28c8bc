"""Tests of the rows that a read gives."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow as pa
import pytest

from hakiri.sources.contract import EXTRA_COLUMN, Read, Table
from hakiri.sources.testing.reading import (
    end_state,
    is_feed,
    key_of,
    read_all,
    read_anew,
    refuse_difference,
    rows_of,
    tables_of,
)
from hakiri.sources.testing.subject import Subject, visit

ADDED_COLUMN = "hakiri_never_given"


class RowContract:
    """Whole tables, read from the start."""

    def test_the_source_is_large_enough_to_show_something(self, source: Subject) -> None:
        with visit(source) as here:
            batches = [len(read_all(here.connector, Read(table=name))) for name in source.rows]

        assert max(batches) > 1, "no table comes in several batches: give it more rows, or smaller pages"

    def test_a_read_from_the_start_gives_all_rows(self, source: Subject) -> None:
        with visit(source) as here:
            for table in tables_of(here.connector, source):
                rows = rows_of(read_all(here.connector, Read(table=table.name)))
                count = end_state(table, rows).total() if is_feed(table) else len(rows)
                assert count == source.rows[table.name], f"rows of `{table.name}`"

    def test_a_connector_reads_without_being_asked_for_its_tables_before(self, source: Subject) -> None:
        with visit(source) as here:
            tables = tables_of(here.connector, source)
            expected = {table.name: read_all(here.connector, Read(table=table.name)) for table in tables}
        for table in tables:
            alone = rows_of(read_anew(source, Read(table=table.name)))
            whole = rows_of(expected[table.name])
            refuse_difference(
                f"`{table.name}` read at once", end_state(table, whole), end_state(table, alone)
            )

    def test_every_batch_has_the_schema_that_was_discovered(self, source: Subject) -> None:
        with visit(source) as here:
            for table in tables_of(here.connector, source):
                for batch in read_all(here.connector, Read(table=table.name)):
                    assert batch.rows.schema.equals(table.schema), f"schema of `{table.name}`"
                    batch.rows.validate(full=True)

    def test_an_open_table_comes_in_the_form_that_is_asked_for(self, source: Subject) -> None:
        with visit(source) as here:
            open_tables = [table for table in tables_of(here.connector, source) if table.is_open]
            if not open_tables:
                pytest.skip("no table of the source is open")
            for table in open_tables:
                _check_wanted_form(source, table)

    def test_keys_are_there_and_each_stands_for_one_row(self, source: Subject) -> None:
        with visit(source) as here:
            for table in tables_of(here.connector, source):
                rows = rows_of(read_all(here.connector, Read(table=table.name)))
                nulls = [name for name in table.primary_key if any(row[name] is None for row in rows)]
                assert not nulls, f"key of `{table.name}` without a value: {', '.join(nulls)}"
                if table.primary_key and not is_feed(table):
                    keys = Counter(key_of(table, row) for row in rows)
                    twice = [key for key, count in keys.items() if count > 1]
                    assert not twice, f"keys of `{table.name}` that stand for several rows: {twice[:3]}"

    def test_an_empty_table_ends_at_once(self, source: Subject) -> None:
        empty = [name for name, count in source.rows.items() if count == 0]
        if not empty:
            pytest.skip("no table of the source is empty")
        with visit(source) as here:
            for name in empty:
                batches = read_all(here.connector, Read(table=name))
                assert rows_of(batches) == []
                assert len(batches) <= 1, f"`{name}` has no rows, and comes in {len(batches)} batches"

    def test_reading_twice_gives_the_same(self, source: Subject) -> None:
        with visit(source) as here:
            for table in tables_of(here.connector, source):
                first = rows_of(read_all(here.connector, Read(table=table.name)))
                again = rows_of(read_all(here.connector, Read(table=table.name)))
                refuse_difference(
                    f"`{table.name}` read twice", end_state(table, first), end_state(table, again)
                )

    def test_no_batch_is_larger_than_was_said(self, source: Subject) -> None:
        with visit(source) as here:
            for name in source.rows:
                for batch in read_all(here.connector, Read(table=name)):
                    assert batch.rows.num_rows <= source.most_rows, f"rows in a batch of `{name}`"
                    assert batch.rows.nbytes <= source.most_bytes, f"bytes in a batch of `{name}`"

    def test_a_limit_ends_the_read_early(self, source: Subject) -> None:
        with visit(source) as here:
            for name, count in source.rows.items():
                for limit in sorted({1, max(1, count // 2), count + 1}):
                    batches = read_all(here.connector, Read(table=name, limit=limit))
                    sizes = [batch.rows.num_rows for batch in batches if batch.rows.num_rows]
                    assert sum(sizes) >= min(limit, count), f"`{name}` with a limit of {limit}"
                    assert sum(sizes[:-1]) < limit, f"`{name}` goes on after the {limit} rows that are wanted"


def _check_wanted_form(source: Subject, table: Table) -> None:
    """Ask for one column less, and for one that no row has: nothing is lost, and nothing is made up."""
    kept = {*table.primary_key, *table.cursor_fields, EXTRA_COLUMN}
    whole = rows_of(read_anew(source, Read(table=table.name)))
    spare = next(
        (
            name
            for name in table.schema.names
            if name not in kept and any(row[name] is not None for row in whole)
        ),
        None,
    )
    fields = [field for field in table.schema if field.name not in (spare, EXTRA_COLUMN)]
    wanted = pa.schema([*fields, pa.field(ADDED_COLUMN, pa.string()), table.schema.field(EXTRA_COLUMN)])

    batches = read_anew(source, Read(table=table.name, schema=wanted))

    assert all(batch.rows.schema.equals(wanted) for batch in batches), f"form of `{table.name}`"
    rows = rows_of(batches)
    assert len(rows) == len(whole)
    assert not any(row[ADDED_COLUMN] for row in rows)
    extras = [json.loads(row[EXTRA_COLUMN]) for row in rows if row[EXTRA_COLUMN] is not None]
    assert all(isinstance(extra, dict) for extra in extras), f"`{EXTRA_COLUMN}` is a JSON object"
    if spare is not None:
        lost = sum(row[spare] is not None for row in whole) - sum(spare in extra for extra in extras)
        assert lost == 0, f"{lost} values of `{spare}` are lost, since `{EXTRA_COLUMN}` lacks them"
