"""Values are brought into the table's types without loss, or named as those that cannot be."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.random_rows import types, values

from hakiri.store.errors import UnfitColumns
from hakiri.store.fitting import fitted

UTC_MOMENT = pa.timestamp("us", "UTC")
MOMENT = pa.timestamp("us")
JUST_AFTER = datetime.fromisoformat("1970-01-01T00:00:00.000001")


def fit(column: pa.Array, target: pa.DataType) -> tuple[list[Any], list[int]]:
    """The values in their new type, and the numbers of the bad rows."""
    found = fitted(column, target, "x")
    assert found.column.type.equals(target)
    return found.column.to_pylist(), [] if found.bad is None else found.bad.nonzero()[0].tolist()


@pytest.mark.parametrize(
    ("column", "target", "values"),
    [
        (pa.array([7, None], pa.int32()), pa.int64(), [7, None]),
        (pa.array([7], pa.uint64()), pa.int16(), [7]),
        (pa.array([7], pa.int64()), pa.float64(), [7.0]),
        (pa.array([7], pa.int64()), pa.decimal128(5, 2), [Decimal("7.00")]),
        (pa.array([7, None], pa.int64()), pa.string(), ["7", None]),
        (pa.array([7], pa.int8()), pa.binary(), [b"7"]),
        (pa.array([0.5], pa.float32()), pa.float64(), [0.5]),
        (pa.array([0.5, float("nan")], pa.float64()), pa.string(), ["0.5", "nan"]),
        (pa.array([0.1, None], pa.float32()), pa.string(), ["0.1", None]),
        (pa.array([7.0, None]), pa.int32(), [7, None]),
        (pa.array([Decimal("1.50")]), pa.decimal128(20, 4), [Decimal("1.5000")]),
        (pa.array([Decimal("1.50")]), pa.float64(), [1.5]),
        (
            pa.array([Decimal("0.0000000001")], pa.decimal128(38, 10)),
            pa.string(),
            ["0.0000000001"],
        ),
        (pa.array([True, None]), pa.string(), ["true", None]),
        (pa.array([date(2026, 5, 11)]), MOMENT, [datetime.fromisoformat("2026-05-11")]),
        (pa.array([10**9], pa.timestamp("ns")), MOMENT, [datetime.fromisoformat("1970-01-01T00:00:01")]),
        (pa.array([0], UTC_MOMENT), pa.string(), ["1970-01-01 00:00:00.000000Z"]),
        (pa.array(["a"], pa.large_string()), pa.string(), ["a"]),
        (pa.array(["ä"]), pa.binary(), ["ä".encode()]),
        (pa.array(["a", "b"]).dictionary_encode(), pa.string(), ["a", "b"]),
        (pa.nulls(2), pa.list_(pa.int8()), [None, None]),
        (pa.array([[1], None], pa.large_list(pa.int8())), pa.list_(pa.int64()), [[1], None]),
        (pa.array([{"a": 1}, None]), pa.string(), ['{"a":1}', None]),
        (
            pa.array([{"a": 1}, None], pa.struct([("a", pa.int32())])),
            pa.struct([("b", pa.string()), ("a", pa.int64())]),
            [{"b": None, "a": 1}, None],
        ),
        (
            pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int8())),
            pa.map_(pa.string(), pa.float64()),
            [[("k", 1.0)], None, []],
        ),
    ],
)
def test_what_loses_nothing_is_cast(column: pa.Array, target: pa.DataType, values: list[Any]) -> None:
    assert fit(column, target) == (values, [])


@pytest.mark.parametrize(
    ("column", "target", "values", "bad"),
    [
        (pa.array([1, 2**40, None, 3]), pa.int32(), [1, None, None, 3], [1]),
        (pa.array([1.5, 2.0]), pa.int64(), [None, 2], [0]),
        (pa.array([float("nan"), float("inf"), 1.0]), pa.int64(), [None, None, 1], [0, 1]),
        (pa.array([2**53 + 1, 1]), pa.float64(), [None, 1.0], [0]),
        (pa.array([0.1, 0.5, None]), pa.float32(), [None, 0.5, None], [0]),
        (pa.array([0.125, 0.5]), pa.decimal128(5, 2), [None, Decimal("0.50")], [0]),
        (pa.array([12345, 1]), pa.decimal128(5, 2), [None, Decimal("1.00")], [0]),
        (pa.array([Decimal("0.1")]), pa.float32(), [0.10000000149011612], []),
        (pa.array([Decimal("1.55"), Decimal("1.50")]), pa.decimal128(5, 1), [None, Decimal("1.5")], [0]),
        (pa.array(["7", None, "x"]), pa.int64(), [None, None, None], [0, 2]),
        (pa.array([b"a"]), pa.string(), [None], [0]),
        (pa.array([True, None]), pa.int64(), [None, None], [0]),
        (pa.array([1], MOMENT), UTC_MOMENT, [None], [0]),
        (
            pa.array([1500, 1000], pa.timestamp("ns")),
            MOMENT,
            [None, datetime.fromisoformat("1970-01-01T00:00:00.000001")],
            [0],
        ),
        (pa.array([{"a": 1}]), pa.int64(), [None], [0]),
        (pa.array([1, None]), pa.struct([("a", pa.int64())]), [None, None], [0]),
        (pa.array([[1], [2**40, 2], None, []]), pa.list_(pa.int32()), [[1], [None, 2], None, []], [1]),
        (
            pa.array([{"a": 1}, {"a": 2**40}, None]),
            pa.struct([("a", pa.int32())]),
            [{"a": 1}, {"a": None}, None],
            [1],
        ),
        (
            pa.array([[(1, "x")], [(2**40, "y"), (2, "z")], None], pa.map_(pa.int64(), pa.string())),
            pa.map_(pa.int32(), pa.string()),
            [[(1, "x")], None, None],
            [1],
        ),
    ],
)
def test_what_would_lose_something_is_named(
    column: pa.Array, target: pa.DataType, values: list[Any], bad: list[int]
) -> None:
    assert fit(column, target) == (values, bad)


def test_slices_are_looked_at_as_slices() -> None:
    lists = pa.array([[2**40], [1], None, [2**40, 3]])[1:]
    maps = pa.array([[("a", 2**40)], [("b", 2**40)], [("c", 1)]], pa.map_(pa.string(), pa.int64()))[1:]
    structs = pa.array([{"a": 2**40}, {"a": 1}])[1:]

    assert fit(lists, pa.list_(pa.int32())) == ([[1], None, [None, 3]], [2])
    assert fit(maps, pa.map_(pa.string(), pa.int32())) == ([[("b", None)], [("c", 1)]], [0])
    assert fit(structs, pa.struct([("a", pa.int32())])) == ([{"a": 1}], [])


def test_a_field_that_the_table_does_not_have_is_refused_by_its_path() -> None:
    column = pa.array([[{"a": 1, "b": 2}]])

    with pytest.raises(UnfitColumns, match=r"^column `x\[\]\.b` is not in the table's schema$"):
        fitted(column, pa.list_(pa.struct([("a", pa.int64())])), "x")


def test_every_bad_row_of_many_is_found() -> None:
    numbers = [2**40 if number % 97 == 0 else number for number in range(5000)]

    _, bad = fit(pa.array(numbers), pa.int32())

    assert bad == list(range(0, 5000, 97))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_is_right_already_stays_as_it_is(data: st.DataObject) -> None:
    kind = data.draw(types())
    column = pa.array(data.draw(st.lists(values(kind), max_size=3)), kind)

    found = fitted(column, kind, "x")

    assert found.bad is None
    assert found.column is column
