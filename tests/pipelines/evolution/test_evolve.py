"""Every row of the rules about columns, decided by one function."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from tests.pipelines.evolution.evolving import columns, evolved, told
from tests.pipelines.evolution.shapes import (
    DATE,
    DOUBLE,
    FLOAT,
    INT8,
    INT32,
    INT64,
    MOMENT,
    TEXT,
    shape,
    was_called,
)

from hakiri.pipelines.evolution import (
    ChangeKind,
    ContractMode,
    TableShape,
)
from hakiri.pipelines.evolution.forms import list_of
from hakiri.pipelines.evolution.shapes import NO_SHAPE

ORDERS = shape("id", id=INT64, amount=INT64, note=TEXT)


# The table of the rules -------------------------------------------------------------------------------------


@pytest.mark.spec("HP-065")
def test_a_new_table_is_what_comes_in() -> None:
    incoming = shape("id", id=pa.uint32(), note=pa.large_string(), at=pa.timestamp("ns", tz="Europe/Berlin"))

    made = evolved(None, incoming)

    assert made.shape == shape("id", id=INT64, note=TEXT, at=MOMENT)
    assert told(made.changes) == ["create: table created with 3 columns (the table is new)"]
    assert (made.change_kind, made.is_refused) == ("create", False)


@pytest.mark.spec("HP-066")
def test_a_new_column_is_appended_wherever_it_stands_at_the_source() -> None:
    incoming = shape("id", first=DATE, id=INT64, amount=INT64, note=TEXT, last=TEXT)

    made = evolved(ORDERS, incoming)

    assert made.shape == shape("id", id=INT64, amount=INT64, note=TEXT, first=DATE, last=TEXT)
    assert told(made.changes) == [
        "add_column: column `first` added as date (it is appended, and rows from before have NULL there)",
        "add_column: column `last` added as string (it is appended, and rows from before have NULL there)",
    ]


@pytest.mark.spec("HP-067")
def test_a_column_that_is_gone_at_the_source_stays_and_that_is_said_once() -> None:
    incoming = shape("id", id=INT64, note=TEXT)

    first = evolved(ORDERS, incoming)
    again = evolved(first.shape, incoming)
    back = evolved(first.shape, ORDERS)

    assert columns(first) == {"id": INT64, "amount": INT64, "note": TEXT}
    assert told(first.changes) == [
        "drop_column: column `amount` dropped at the source (it stays, and new rows have NULL there)"
    ]
    assert (again.changes, again.shape) == ((), first.shape)
    assert (back.changes, back.shape) == ((), first.shape)


@pytest.mark.spec("HP-068")
def test_a_wider_type_is_taken() -> None:
    stored = shape("id", id=INT32, price=FLOAT, day=DATE)

    made = evolved(stored, shape("id", id=INT64, price=DOUBLE, day=MOMENT))

    assert made.shape == shape("id", id=INT64, price=DOUBLE, day=MOMENT)
    assert made.change_kind == "widen_type"
    assert told(made.changes)[0] == (
        "widen_type: column `id` changed from int32 to int64 "
        "(every int32 has its place in int64, and files stay as they are)"
    )


@pytest.mark.spec("HP-069")
def test_a_narrower_type_is_refused_with_the_two_ways_out() -> None:
    incoming = shape("id", id=INT64, amount=INT32, note=TEXT, more=TEXT)

    made = evolved(ORDERS, incoming)
    error = made.error("orders", "shop")

    assert (made.shape, made.changes, made.change_kind) == (ORDERS, (), "")
    assert [change.kind for change in made.refused] == [ChangeKind.NARROW_TYPE]
    assert (type(error).__name__, error.code, error.retryable) == (
        "SchemaIncompatible",
        "pipelines.schema_incompatible",
        False,
    )
    assert str(error) == (
        "table `orders` cannot take what pipeline `shop` brings now: column `amount` changed from int64 to "
        "int32 (int32 holds fewer values than int64)"
    )
    assert error.hint == "cast it in a transform, or run `hakiri schema accept --pipeline shop`"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_another_kind_of_type_is_refused() -> None:
    made = evolved(ORDERS, shape("id", id=INT64, amount=TEXT, note=list_of(pa.binary())))

    assert told(made.refused) == [
        "change_type: column `amount` changed from int64 to string (only string holds the values of both)",
        "change_type: column `note` changed from string to list<binary> (no type holds the values of both)",
    ]
    assert [change.is_acceptable for change in made.refused] == [True, False]
    assert made.shape == ORDERS


@pytest.mark.spec("HP-071")
def test_a_declared_rename_keeps_the_data_under_the_new_name() -> None:
    incoming = shape("order_id", order_id=was_called("id", INT64), amount=INT64, note=TEXT)

    made = evolved(ORDERS, incoming)

    assert made.shape.schema.names == ["order_id", "amount", "note"]
    assert made.shape.schema.field("order_id").metadata == {b"hakiri.was": b'["id"]'}
    assert made.shape.primary_key == ("order_id",)
    assert told(made.changes) == [
        (
            "rename: column `id` renamed to `order_id` "
            "(it was declared, and rows from before are under the new name too)"
        )
    ]
    assert evolved(made.shape, incoming).changes == ()


@pytest.mark.spec("HP-072")
def test_a_rename_that_nobody_declared_is_a_column_gone_and_a_new_one() -> None:
    made = evolved(ORDERS, shape("id", id=INT64, amount=INT64, remark=TEXT))

    assert made.shape.schema.names == ["id", "amount", "note", "remark"]
    assert made.change_kind == "add_column+drop_column"


@pytest.mark.spec("HP-073")
@pytest.mark.parametrize(
    ("key", "way_out"),
    [
        ("id amount", "--primary-key id,amount"),
        ("amount", "--primary-key amount"),
        ("", "--no-primary-key"),
    ],
)
def test_another_primary_key_needs_a_migration(key: str, way_out: str) -> None:
    incoming = TableShape(schema=ORDERS.schema, primary_key=tuple(key.split()))

    made = evolved(ORDERS, incoming)
    error = made.error("orders", "shop")

    assert made.shape == ORDERS
    assert str(error) == (
        "table `orders` cannot take what pipeline `shop` brings now: primary key changed from id to "
        f"{', '.join(key.split()) or 'none'} (rows are told apart by it, so it changes only by a migration)"
    )
    assert error.hint == f"run `hakiri schema migrate --pipeline shop --table orders {way_out}`"


def test_the_order_of_a_key_is_no_change_of_it() -> None:
    stored = shape("a b", a=INT64, b=INT64)

    made = evolved(stored, shape("b a", a=INT64, b=INT64))

    assert (made.shape, made.changes, made.refused) == (stored, (), ())


@pytest.mark.parametrize("stored", [None, ORDERS], ids=["new table", "stored table"])
def test_a_key_of_columns_that_do_not_come_in_is_refused(stored: TableShape | None) -> None:
    made = evolved(stored, shape("id", amount=INT64, note=TEXT))

    assert made.shape == (stored or NO_SHAPE)
    assert "there is no column id" in str(made.error("orders", "shop"))
    assert made.error("orders", "shop").hint == "name columns that come in as its `primary_key`"


# Nested types -----------------------------------------------------------------------------------------------


def test_what_happens_inside_of_a_type_follows_the_same_rules() -> None:
    before = pa.struct([("zip", INT32), ("city", TEXT)])
    after = pa.struct([("street", TEXT), ("zip", INT64)])
    stored = shape(home=before, tags=list_of(INT32), sizes=pa.map_(TEXT, FLOAT))

    made = evolved(stored, shape(home=after, tags=list_of(INT64), sizes=pa.map_(TEXT, DOUBLE)))

    assert columns(made) == {
        "home": pa.struct([("zip", INT64), ("city", TEXT), ("street", TEXT)]),
        "tags": list_of(INT64),
        "sizes": pa.map_(TEXT, DOUBLE),
    }
    assert [(change.kind.value, change.column) for change in made.changes] == [
        ("widen_type", "home.zip"),
        ("drop_column", "home.city"),
        ("add_column", "home.street"),
        ("widen_type", "tags[]"),
        ("widen_type", "sizes[value]"),
    ]


def test_a_refusal_names_the_place_inside_of_the_type() -> None:
    deep = list_of(pa.struct([("price", pa.map_(INT64, INT64))]))
    narrow = list_of(pa.struct([("price", pa.map_(INT32, TEXT))]))

    made = evolved(shape(lines=deep), shape(lines=narrow))

    assert [(change.kind.value, change.column) for change in made.refused] == [
        ("narrow_type", "lines[].price[key]"),
        ("change_type", "lines[].price[value]"),
    ]


def test_a_name_that_looks_like_a_path_stands_in_quotes() -> None:
    made = evolved(
        shape(**{"user.login": INT32, "a": pa.struct([("b", INT32)])}),
        shape(**{"user.login": INT64, "a": pa.struct([("b", INT64)])}),
    )

    assert [change.column for change in made.changes] == ['"user.login"', "a.b"]


# Tables whose columns were learnt from a sample -------------------------------------------------------------


@pytest.mark.spec("HP-065")
def test_a_sample_says_what_may_come_and_not_what_must() -> None:
    stored = shape("id", id=INT64, price=DOUBLE, text=TEXT, gone=TEXT, _extra=TEXT)
    sample = shape("id", id=INT32, price=INT64, text=pa.struct([("a", INT8)]), _extra=TEXT)

    made = evolved(stored, sample, is_open=True)

    assert (made.shape, made.changes, made.refused) == (stored, (), ())


@pytest.mark.spec("HP-065")
def test_batches_of_differing_types_meet_in_one_that_holds_both() -> None:
    stored = shape(size=INT32, price=pa.decimal128(10, 4), _extra=TEXT)

    made = evolved(stored, shape(size=FLOAT, price=INT64, _extra=TEXT), is_open=True)

    assert columns(made) == {"size": DOUBLE, "price": pa.decimal128(23, 4), "_extra": TEXT}
    assert evolved(made.shape, stored, is_open=True).changes == ()


def test_a_sample_of_another_kind_is_refused() -> None:
    made = evolved(shape(size=INT64, _extra=TEXT), shape(size=TEXT, _extra=TEXT), is_open=True)

    assert [change.kind for change in made.refused] == [ChangeKind.CHANGE_TYPE]


def test_what_found_no_place_stays_the_last_column() -> None:
    made = evolved(shape(a=INT64, _extra=TEXT), shape(a=INT64, b=INT64, _extra=TEXT), is_open=True)

    assert made.shape.schema.names == ["a", "b", "_extra"]


# Whole numbers and doubles ----------------------------------------------------------------------------------


@pytest.mark.spec("HP-068")
def test_whole_numbers_become_doubles_if_every_stored_one_is_a_double() -> None:
    stored, incoming = shape(price=INT64), shape(price=DOUBLE)

    made = evolved(stored, incoming, exact=("price",))

    assert (columns(made), made.change_kind) == ({"price": DOUBLE}, "widen_type")


def test_whole_numbers_that_may_be_no_doubles_are_refused() -> None:
    made = evolved(shape(price=INT64), shape(price=DOUBLE), exact=("other",))

    assert told(made.refused) == [
        (
            "change_type: column `price` changed from int64 to double "
            "(a double does not hold every whole number beyond 2 to the power of 53)"
        )
    ]


# Contracts --------------------------------------------------------------------------------------------------


def test_a_frozen_table_refuses_all_that_would_change_it() -> None:
    stored = shape(a=INT32, b=TEXT, c=TEXT)

    made = evolved(stored, shape(a=INT64, bb=was_called("b", TEXT), d=TEXT), "freeze")

    assert [(change.kind.value, change.column) for change in made.refused] == [
        ("rename", "bb"),
        ("widen_type", "a"),
        ("add_column", "d"),
    ]
    assert {change.rule for change in made.refused} == {"the contract of the table is `freeze`"}
    assert made.error("t", "p").hint == "cast it in a transform, or run `hakiri schema accept --pipeline p`"


@pytest.mark.parametrize("mode", list(ContractMode))
def test_no_contract_refuses_a_new_table_or_a_column_that_is_gone(mode: str) -> None:
    made = evolved(None, ORDERS, mode)
    gone = evolved(made.shape, shape("id", id=INT64), mode)

    assert (made.change_kind, gone.change_kind) == ("create", "drop_column")


def test_a_discarding_table_leaves_out_what_is_new() -> None:
    stored = shape(a=pa.struct([("x", INT64)]))

    made = evolved(stored, shape(a=pa.struct([("x", INT64), ("y", TEXT)]), b=TEXT), "discard")

    assert (made.shape, made.changes, made.refused) == (stored, (), ())
    assert told(made.ignored) == [
        "add_column: column `a.y` added as string (it is not stored: the contract of the table is `discard`)",
        "add_column: column `b` added as string (it is not stored: the contract of the table is `discard`)",
    ]


def test_a_discarding_table_refuses_other_types_and_names() -> None:
    made = evolved(shape(a=INT32, b=TEXT), shape(a=INT64, c=was_called("b", TEXT)), "discard")

    assert [change.kind.value for change in made.refused] == ["rename", "widen_type"]


# Notes ------------------------------------------------------------------------------------------------------


def test_notes_of_others_are_not_kept() -> None:
    noted = pa.schema(
        [pa.field("a", INT64, nullable=False, metadata={"PARQUET:field_id": "1"})], metadata={"pandas": "{}"}
    )

    made = evolved(None, TableShape(schema=noted))

    assert made.shape == shape(a=INT64)


def test_a_type_that_was_accepted_is_no_change() -> None:
    accepted = pa.field("amount", INT64, metadata={"hakiri.accepts": '["int32"]'})
    stored = shape("id", id=INT64, amount=accepted, note=TEXT)

    made = evolved(stored, shape("id", id=INT64, amount=INT32, note=TEXT))
    other = evolved(stored, shape("id", id=INT64, amount=INT8, note=TEXT))

    assert (made.shape, made.changes, made.refused) == (stored, (), ())
    assert other.is_refused


def test_all_that_is_refused_is_told_at_once() -> None:
    made = evolved(ORDERS, shape("note", id=INT32, amount=TEXT, note=TEXT, Note=TEXT))
    error = made.error("orders", "shop")

    assert len(error.reasons) == 4
    assert error.hint == (
        "give it another name or type in a transform; "
        "cast it in a transform, or run `hakiri schema accept --pipeline shop`; "
        "run `hakiri schema migrate --pipeline shop --table orders --primary-key note`"
    )
