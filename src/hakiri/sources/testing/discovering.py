"""Tests of `discover()` and of what a connector says about itself."""

from __future__ import annotations

import pytest

from hakiri.sources.config import SourceConfig
from hakiri.sources.contract import EXTRA_COLUMN, Read, Table
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.testing.reading import read_all, tables_of
from hakiri.sources.testing.subject import Subject, visit

UNKNOWN = "hakiri_no_such_table"


class DiscoverContract:
    """What is known of a source before any row is read."""

    def test_tables_are_known_with_their_columns_before_anything_is_read(self, source: Subject) -> None:
        with visit(source) as here:
            found = here.connector.discover()

        names = [table.name for table in found]
        assert len(names) == len(set(names)), "a table is listed twice"
        assert source.rows.keys() <= set(names)
        for table in found:
            columns = [name.casefold() for name in table.schema.names]
            assert columns, f"`{table.name}` has no columns"
            assert len(columns) == len(set(columns)), f"`{table.name}` has two columns of one name"
            assert set(table.primary_key) <= set(table.schema.names), f"`{table.name}`: key without a column"
            assert set(table.cursor_fields) <= set(table.schema.names), f"`{table.name}`: unknown cursor"
            assert table.estimated_rows is None or table.estimated_rows >= 0

    def test_tables_that_are_looked_at_twice_are_the_same(self, source: Subject) -> None:
        with visit(source) as here, visit(source) as there:
            first, again = here.connector.discover(), here.connector.discover()
            elsewhere = there.connector.discover()

        assert [*map(_facts, first)] == [*map(_facts, again)] == [*map(_facts, elsewhere)]

    def test_only_the_tables_that_are_asked_for_are_looked_at(self, source: Subject) -> None:
        with visit(source) as here:
            whole = {table.name: table for table in here.connector.discover()}
            turns_for_all = here.budget.turns
        for name in source.rows:
            with visit(source) as here:
                found = here.connector.discover([name])
                assert [*map(_facts, found)] == [_facts(whole[name])]
                assert here.budget.turns <= turns_for_all, f"`{name}` alone takes more calls than all tables"

    def test_a_table_that_is_not_there_is_refused_for_good(self, source: Subject) -> None:
        known = next(iter(source.rows))
        with visit(source) as here:
            with pytest.raises(PermanentFailure):
                here.connector.discover([UNKNOWN])
            with pytest.raises(PermanentFailure):
                here.connector.discover([known, UNKNOWN])
            with pytest.raises(PermanentFailure):
                read_all(here.connector, Read(table=UNKNOWN))

    def test_an_open_table_ends_with_a_column_for_the_rest(self, source: Subject) -> None:
        with visit(source) as here:
            for table in tables_of(here.connector, source):
                if table.is_open:
                    assert table.schema.names[-1] == EXTRA_COLUMN
                    assert str(table.schema.field(EXTRA_COLUMN).type) in ("string", "large_string")
                else:
                    assert EXTRA_COLUMN not in table.schema.names, f"`{table.name}` is not said to be open"

    def test_a_check_says_in_one_line_what_was_reached(self, source: Subject) -> None:
        with visit(source) as here:
            said = here.connector.check()

        assert said.strip()
        assert "\n" not in said

    def test_the_connector_says_what_it_is_and_what_it_takes(self, source: Subject) -> None:
        with visit(source) as here:
            kind = type(here.connector)

        assert kind.summary.strip(), "a connector has a `summary` for `hakiri source list`"
        assert "\n" not in kind.summary
        assert issubclass(kind.Config, SourceConfig)
        unsaid = [name for name, known in kind.Config.model_fields.items() if not known.description]
        assert not unsaid, f"keys of the config without a description: {', '.join(unsaid)}"


def _facts(table: Table) -> tuple[object, ...]:
    """What must not change from one look to the next; an estimate may."""
    schema = table.schema.remove_metadata()
    return (table.name, schema, table.primary_key, table.cursor_fields, table.is_open)
