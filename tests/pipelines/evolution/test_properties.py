"""What holds for every table and everything that may come in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pipelines.evolution.casting import carried, is_same
from tests.pipelines.evolution.shapes import NAMES, NUMBERS, TYPES, extremes, pairs, shape, shapes

from hakiri.pipelines.evolution import (
    ChangeKind,
    ContractMode,
    TableShape,
    accept,
    changes_between,
    evolve,
    reconciled,
)
from hakiri.pipelines.evolution.forms import list_of

MODES = st.sampled_from(list(ContractMode))
Both: TypeAlias = tuple[TableShape, TableShape]


def thorough(check: Callable[..., None]) -> Any:
    return settings(max_examples=60, deadline=None)(check)


@given(stored=shapes(), mode=MODES, is_open=st.booleans())
@thorough
def test_where_nothing_differs_nothing_changes(stored: TableShape, mode: ContractMode, is_open: bool) -> None:
    made = evolve(stored, stored, mode=mode, is_open=is_open)

    assert (made.shape, made.changes, made.refused, made.ignored) == (stored, (), (), ())


@given(both=pairs(), mode=MODES, is_open=st.booleans())
@thorough
def test_what_came_in_once_changes_nothing_the_second_time(
    both: Both, mode: ContractMode, is_open: bool
) -> None:
    stored, incoming = both
    made = evolve(stored, incoming, mode=mode, is_open=is_open)
    again = evolve(made.shape, incoming, mode=mode, is_open=is_open)

    assert (again.shape, again.changes, again.refused) == (made.shape, (), made.refused)


@given(both=pairs(), mode=MODES, is_open=st.booleans())
@thorough
def test_a_refusal_changes_nothing_and_says_why(both: Both, mode: ContractMode, is_open: bool) -> None:
    stored, incoming = both
    made = evolve(stored, incoming, mode=mode, is_open=is_open)

    if made.is_refused:
        assert (made.shape, made.changes, made.change_kind) == (stored, (), "")
        assert made.error("t", "p").hint
        assert all(change.rule for change in made.refused)


@given(both=pairs(), is_open=st.booleans())
@thorough
def test_no_stored_column_is_lost_or_moved(both: Both, is_open: bool) -> None:
    stored, incoming = both
    made = evolve(stored, incoming, mode=ContractMode.EVOLVE, is_open=is_open)

    assert made.shape.schema.names[: len(stored.schema)] == stored.schema.names


@given(both=pairs())
@thorough
def test_the_table_holds_every_value_of_both(both: Both) -> None:
    stored, incoming = both
    made = evolve(stored, incoming, mode=ContractMode.EVOLVE, is_open=False)

    for one in (stored,) if made.is_refused else (stored, incoming):
        assert_held(one, made.shape)


@given(both=pairs())
@thorough
def test_what_an_operator_accepts_loses_no_stored_value(both: Both) -> None:
    stored, incoming = both
    made = accept(stored, incoming)

    assert made.shape.schema.names == stored.schema.names
    assert_held(stored, made.shape)


@given(both=pairs(), mode=MODES, is_open=st.booleans())
@thorough
def test_what_can_be_accepted_is_not_refused_again(both: Both, mode: ContractMode, is_open: bool) -> None:
    stored, incoming = both
    taken = accept(stored, incoming, mode=mode, is_open=is_open)
    made = evolve(taken.shape, incoming, mode=mode, is_open=is_open)

    assert made.refused == taken.refused
    for change in made.refused:
        assert change.kind is ChangeKind.CHANGE_KEY or not change.is_acceptable
    if not made.is_refused:
        assert_held(incoming if mode is not ContractMode.DISCARD and not is_open else stored, made.shape)


@given(
    stored=shapes(),
    first=st.dictionaries(NAMES.map("x{}".format), TYPES, max_size=3),
    second=st.dictionaries(NAMES.map("y{}".format), TYPES, max_size=3),
)
@thorough
def test_the_order_of_additions_does_not_matter(
    stored: TableShape, first: dict[str, pa.DataType], second: dict[str, pa.DataType]
) -> None:
    one_way = _after(_after(stored, first), second)
    other_way = _after(_after(stored, second), first)

    assert by_name(one_way) == by_name(other_way) == by_name(_after(stored, first | second))


@given(kinds=st.lists(st.sampled_from(NUMBERS), min_size=3, max_size=3))
@thorough
def test_the_order_of_samples_does_not_matter_where_each_is_taken(kinds: list[pa.DataType]) -> None:
    def after(*samples: pa.DataType) -> TableShape | None:
        found = shape(a=list_of(kinds[0]))
        for sample in samples:
            made = evolve(found, shape(a=list_of(sample)), mode=ContractMode.EVOLVE, is_open=True)
            if made.is_refused:
                return None
            found = made.shape
        return found

    ways = {after(*kinds[1:]), after(*reversed(kinds[1:]))} - {None}

    assert len(ways) <= 1


@given(both=pairs(), is_open=st.booleans())
@thorough
def test_the_history_shows_what_was_decided(both: Both, is_open: bool) -> None:
    stored, incoming = both
    made = evolve(stored, incoming, mode=ContractMode.EVOLVE, is_open=is_open)
    taken = accept(stored, incoming, is_open=is_open)

    assert set(changes_between(stored, made.shape)) == set(made.changes)
    assert {change.column for change in changes_between(stored, taken.shape)} == {
        change.column for change in taken.changes
    }
    assert (
        changes_between(None, stored)
        == evolve(None, stored, mode=ContractMode.FREEZE, is_open=is_open).changes
    )


@given(both=pairs())
@thorough
def test_two_histories_become_one_that_holds_both(both: Both) -> None:
    ours, theirs = both[0], with_key_of(*both)
    one, other = reconciled(ours, theirs), reconciled(theirs, ours)

    assert isinstance(one, TableShape) == isinstance(other, TableShape)
    if isinstance(one, TableShape) and isinstance(other, TableShape):
        assert by_name(one) == by_name(other)
        assert_held(ours, one)
        assert_held(theirs, one)
        assert reconciled(one, theirs) == one
        assert reconciled(one, other) == one


@pytest.mark.parametrize("wide", [pa.int64(), list_of(pa.int64())], ids=str)
def test_the_check_of_held_values_sees_a_loss(wide: pa.DataType) -> None:
    narrow = pa.int32() if wide == pa.int64() else list_of(pa.int32())

    with pytest.raises(pa.ArrowInvalid):
        assert_held(shape(a=wide), shape(a=narrow))


def _after(stored: TableShape, columns: dict[str, pa.DataType]) -> TableShape:
    incoming = pa.schema([*stored.schema, *columns.items()])
    coming = TableShape(schema=incoming, primary_key=stored.primary_key)
    return evolve(stored, coming, mode=ContractMode.EVOLVE, is_open=True).shape


def with_key_of(stored: TableShape, other: TableShape) -> TableShape:
    return TableShape(schema=other.schema, primary_key=stored.primary_key)


def by_name(found: TableShape) -> dict[str, pa.DataType]:
    return {field.name: _sorted(field.type) for field in found.schema}


def assert_held(some: TableShape, table: TableShape) -> None:
    """Every value of the columns has its place in the table: carried there and back it is the same."""
    for field in some.schema:
        values = pa.array(extremes(field.type), field.type)
        there = carried(values, table.schema.field(field.name).type)
        assert is_same(there, values)


def _sorted(kind: pa.DataType) -> pa.DataType:
    """The type with the fields of structs in alphabetical order, since they are in that of their coming."""
    if pa.types.is_struct(kind):
        return pa.struct(
            [(field.name, _sorted(field.type)) for field in sorted(kind, key=lambda each: each.name)]
        )
    if pa.types.is_list(kind):
        return list_of(_sorted(kind.value_type))
    return pa.map_(kind.key_type, _sorted(kind.item_type)) if pa.types.is_map(kind) else kind
