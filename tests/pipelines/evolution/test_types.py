"""Which types hold the values of which others."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from tests.pipelines.evolution.casting import carried, is_same
from tests.pipelines.evolution.shapes import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    MOMENT,
    TEXT,
    TYPES,
    WALL,
    extremes,
)

from hakiri.pipelines.evolution import common_type, is_widening, stored_type, type_text
from hakiri.pipelines.evolution.forms import NoStoredType, known_part, list_of


def decimal(precision: int, scale: int) -> pa.DataType:
    return pa.decimal128(precision, scale)


@pytest.mark.spec("HP-068")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (INT8, INT16),
        (INT32, INT64),
        (INT16, FLOAT),
        (INT32, DOUBLE),
        (FLOAT, DOUBLE),
        (INT64, decimal(19, 0)),
        (INT32, decimal(12, 2)),
        (decimal(10, 2), decimal(12, 4)),
        (decimal(15, 0), DOUBLE),
        (DATE, WALL),
        (DATE, MOMENT),
        (list_of(INT32), list_of(INT64)),
        (pa.struct([("a", INT32)]), pa.struct([("a", INT64), ("b", TEXT)])),
        (pa.map_(TEXT, INT32), pa.map_(TEXT, DOUBLE)),
    ],
    ids=str,
)
def test_a_type_widens_to_one_that_holds_all_of_its_values(old: pa.DataType, new: pa.DataType) -> None:
    assert is_widening(old, new)
    assert not is_widening(new, old)
    assert common_type(old, new) == common_type(new, old) == new


@pytest.mark.parametrize(
    ("old", "new", "common"),
    [
        (INT64, DOUBLE, TEXT),
        (INT32, FLOAT, DOUBLE),
        (INT64, decimal(10, 2), decimal(21, 2)),
        (decimal(10, 4), decimal(10, 2), decimal(12, 4)),
        (decimal(38, 0), decimal(38, 38), TEXT),
        (decimal(9, 2), DOUBLE, TEXT),
        (decimal(16, 0), DOUBLE, TEXT),
        (INT64, TEXT, TEXT),
        (pa.bool_(), INT8, TEXT),
        (WALL, MOMENT, TEXT),
        (TEXT, BINARY, BINARY),
        (INT32, BINARY, BINARY),
        (list_of(INT32), list_of(TEXT), list_of(TEXT)),
        (INT32, list_of(INT32), TEXT),
        (TEXT, pa.struct([("a", INT32)]), TEXT),
        (BINARY, list_of(INT32), BINARY),
        (pa.struct([("a", INT32)]), pa.struct([("A", INT32)]), TEXT),
        (TEXT, list_of(BINARY), None),
        (pa.map_(TEXT, pa.struct([("a", BINARY)])), list_of(TEXT), None),
        (pa.struct([("a", INT32)]), pa.struct([("b", INT64)]), pa.struct([("a", INT32), ("b", INT64)])),
    ],
    ids=str,
)
def test_what_is_no_widening_may_still_have_a_type_that_holds_both(
    old: pa.DataType, new: pa.DataType, common: pa.DataType | None
) -> None:
    assert not is_widening(old, new) or pa.types.is_struct(old)
    assert common_type(old, new) == common


@given(one=TYPES, other=TYPES)
@settings(max_examples=100, deadline=None)
def test_the_common_type_loses_no_value_of_either(one: pa.DataType, other: pa.DataType) -> None:
    common = common_type(one, other)
    if common is None:
        return
    for kind in (one, other):
        values = pa.array(extremes(kind), kind)
        there = carried(values, common)
        assert is_same(there, values)


@given(one=TYPES, other=TYPES, third=TYPES)
@settings(max_examples=100, deadline=None)
def test_the_order_in_which_types_meet_does_not_matter(
    one: pa.DataType, other: pa.DataType, third: pa.DataType
) -> None:
    def joined(*kinds: pa.DataType) -> Any:
        found = kinds[0]
        for kind in kinds[1:]:
            found = None if found is None else common_type(found, kind)
        return found if found is None else _sorted(found)

    assert joined(one, one) == _sorted(one)
    assert joined(one, other) == joined(other, one)
    assert joined(one, other, third) == joined(third, other, one) == joined(other, third, one)


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (pa.large_string(), TEXT),
        (pa.dictionary(pa.int8(), pa.string()), TEXT),
        (pa.binary(16), BINARY),
        (pa.uuid(), BINARY),
        (pa.uint32(), INT64),
        (pa.uint64(), decimal(20, 0)),
        (pa.float16(), FLOAT),
        (pa.date64(), DATE),
        (pa.timestamp("ns", tz="Europe/Berlin"), MOMENT),
        (pa.timestamp("s"), WALL),
        (pa.decimal32(5, 2), decimal(5, 2)),
        (pa.decimal128(5, -2), decimal(7, 0)),
        (pa.large_list(pa.field("x", pa.uint8(), nullable=False)), list_of(INT16)),
        (pa.list_(INT32, 3), list_of(INT32)),
        (pa.struct([pa.field("a", pa.int8(), nullable=False)]), pa.struct([("a", INT8)])),
        (pa.struct([]), pa.null()),
    ],
    ids=str,
)
def test_every_type_has_one_form_in_the_store(kind: pa.DataType, stored: pa.DataType) -> None:
    assert stored_type(kind) == stored
    assert stored_type(stored) == stored


@pytest.mark.parametrize(
    "kind",
    [
        pa.month_day_nano_interval(),
        pa.decimal256(76, 2),
        pa.dense_union([pa.field("a", INT8)]),
        list_of(pa.decimal256(40, 0)),
    ],
    ids=str,
)
def test_a_type_that_spark_does_not_have_is_refused(kind: pa.DataType) -> None:
    with pytest.raises(NoStoredType):
        stored_type(kind)


def test_parts_of_which_nothing_is_known_are_left_out() -> None:
    kind = pa.struct([("a", pa.null()), ("b", list_of(pa.null())), ("c", pa.struct([("d", INT8)]))])

    assert known_part(kind) == pa.struct([("c", pa.struct([("d", INT8)]))])
    assert known_part(pa.map_(TEXT, pa.null())) is None


def test_types_are_told_in_few_words() -> None:
    kind = pa.struct([("at", MOMENT), ("tags", list_of(TEXT)), ("prices", pa.map_(TEXT, decimal(10, 2)))])

    assert type_text(kind) == (
        "struct<at: timestamp[us, tz=UTC], tags: list<string>, prices: map<string, decimal(10, 2)>>"
    )


def _sorted(kind: pa.DataType) -> pa.DataType:
    """The type with the fields of structs in alphabetical order, since they are in that of their coming."""
    if pa.types.is_struct(kind):
        return pa.struct(
            [(field.name, _sorted(field.type)) for field in sorted(kind, key=lambda each: each.name)]
        )
    if pa.types.is_list(kind):
        return list_of(_sorted(kind.value_type))
    return pa.map_(kind.key_type, _sorted(kind.item_type)) if pa.types.is_map(kind) else kind
