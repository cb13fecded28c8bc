"""What an operator lets through, and what becomes of the table."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.pipelines.evolution.evolving import evolved, told
from tests.pipelines.evolution.shapes import DOUBLE, INT8, INT32, INT64, MOMENT, TEXT, WALL, shape, was_called

from hakiri.pipelines.evolution import ContractMode, TableShape, accept, accepted, changes_between
from hakiri.pipelines.evolution.forms import list_of

ACCEPTS = b"hakiri.accepts"


def notes(found: TableShape, column: str) -> dict[bytes, bytes]:
    return dict(found.schema.field(column).metadata or {})


@pytest.mark.spec("HP-070")
def test_a_narrower_type_is_let_in_and_the_column_stays_as_wide() -> None:
    stored, incoming = shape(id=INT64, amount=INT64), shape(id=INT64, amount=INT32)

    taken = accept(stored, incoming)

    assert taken.shape.schema == stored.schema
    assert notes(taken.shape, "amount") == {ACCEPTS: b'["int32"]'}
    assert told(taken.changes) == [
        (
            "narrow_type: column `amount` changed from int64 to int32 "
            "(an operator accepted it, and the column is int64)"
        )
    ]
    assert evolved(taken.shape, incoming).refused == ()
    assert accept(taken.shape, incoming).changes == ()


@pytest.mark.parametrize(
    ("old", "new", "common", "let_in"),
    [
        (INT64, TEXT, TEXT, b'["int64"]'),
        (INT64, list_of(INT64), TEXT, b'["int64","list<int64>"]'),
        (INT64, DOUBLE, TEXT, b'["int64","double"]'),
        (WALL, MOMENT, TEXT, b'["timestamp[us]","timestamp[us, tz=UTC]"]'),
        (pa.decimal128(10, 4), INT64, pa.decimal128(23, 4), b'["decimal(10, 4)","int64"]'),
    ],
    ids=str,
)
def test_another_type_makes_room_for_the_values_of_both(
    old: pa.DataType, new: pa.DataType, common: pa.DataType, let_in: bytes
) -> None:
    taken = accepted(shape(a=old), shape(a=new))

    assert taken.schema.field("a").type == common
    assert notes(taken, "a") == {ACCEPTS: let_in}
    assert not evolved(taken, shape(a=new)).is_refused
    assert not evolved(taken, shape(a=old)).is_refused


def test_whole_numbers_that_are_all_doubles_need_nobody_to_accept_them() -> None:
    taken = accept(shape(a=INT64), shape(a=DOUBLE), exact=("a",))

    assert (taken.changes, taken.refused) == ((), ())


def test_a_note_stands_where_the_type_is() -> None:
    stored = shape(lines=list_of(pa.struct([("price", INT64), ("sku", TEXT)])))
    incoming = shape(lines=list_of(pa.struct([("price", INT32), ("sku", TEXT), ("size", INT8)])))

    taken = accept(stored, incoming)
    made = evolved(taken.shape, incoming)

    assert [change.column for change in taken.changes] == ["lines[].price"]
    inner = taken.shape.schema.field("lines").type.value_type.field("price")
    assert (inner.type, inner.metadata) == (INT64, {ACCEPTS: b'["int32"]'})
    assert made.change_kind == "add_column"


def test_what_a_run_does_by_itself_is_left_to_it() -> None:
    stored = shape(a=INT64, b=INT32, gone=TEXT, old=TEXT)
    incoming = shape(a=INT32, b=INT64, new=TEXT, young=was_called("old", TEXT))

    taken = accept(stored, incoming)

    assert [change.column for change in taken.changes] == ["a"]
    assert taken.shape.schema.names == stored.schema.names
    assert evolved(taken.shape, incoming).change_kind == "add_column+drop_column+widen_type+rename"


def test_only_the_chosen_columns_are_let_through() -> None:
    stored = shape(a=INT64, ab=INT64, s=pa.struct([("x", INT64), ("y", INT64)]))
    incoming = shape(a=INT32, ab=INT32, s=pa.struct([("x", INT32), ("y", INT32)]))

    taken = accept(stored, incoming, columns=["a", "s.y"])
    whole = accept(stored, incoming, columns=["s"])

    assert [change.column for change in taken.changes] == ["a", "s.y"]
    assert [change.column for change in taken.refused] == ["ab", "s.x"]
    assert [change.column for change in whole.changes] == ["s.x", "s.y"]


def test_what_a_frozen_table_refuses_can_be_let_through() -> None:
    stored = shape("id", id=INT32, mail=TEXT)
    incoming = shape("id", id=INT64, email=was_called("mail", TEXT), note=TEXT)

    taken = accept(stored, incoming, mode=ContractMode.FREEZE)

    assert taken.shape.schema == shape(id=INT64, email=TEXT, note=TEXT).schema
    assert [change.kind.value for change in taken.changes] == ["rename", "widen_type", "add_column"]
    assert {change.rule for change in taken.changes} == {"an operator accepted it"}
    assert not evolved(taken.shape, incoming, "freeze").is_refused


def test_a_discarded_column_is_let_in_only_by_its_name() -> None:
    stored, incoming = shape(a=INT64), shape(a=INT32, b=TEXT)

    all_of_it = accept(stored, incoming, mode=ContractMode.DISCARD)
    by_name = accept(stored, incoming, mode=ContractMode.DISCARD, columns=["b"])

    assert all_of_it.shape.schema.names == ["a"]
    assert by_name.shape.schema.names == ["a", "b"]


def test_what_nobody_can_let_through_stays_refused() -> None:
    stored = shape("a", a=INT64, b=TEXT, c=INT64)
    incoming = shape("b", a=INT64, b=list_of(pa.binary()), c=INT32, A=TEXT)

    taken = accept(stored, incoming)

    assert [change.column for change in taken.changes] == ["c"]
    assert [(change.kind.value, change.column) for change in taken.refused] == [
        ("add_column", "A"),
        ("change_type", "b"),
        ("change_key", ""),
    ]
    assert (taken.shape.primary_key, taken.shape.schema) == (stored.primary_key, stored.schema)


def test_a_key_that_is_renamed_is_no_other_key() -> None:
    stored, incoming = shape("a", a=INT64, n=INT64), shape("b", b=was_called("a", INT64), n=INT32)

    taken = accept(stored, incoming)

    assert (taken.refused, taken.shape.primary_key) == ((), ("a",))


def test_the_history_tells_what_was_accepted() -> None:
    stored = shape(a=INT64, b=INT64)
    taken = accept(stored, shape(a=INT32, b=TEXT))

    assert changes_between(stored, taken.shape) == taken.changes
