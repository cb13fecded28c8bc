from __future__ import annotations

import json
import pickle
from typing import Any

import pyarrow as pa
import pytest

from hakiri.sources.json_rows import RowsDoNotFit, UnsupportedType, declared_schema, settle, sift

ORDERS = declared_schema(
    {
        "id": "bigint",
        "price": "decimal(10,2)",
        "user": "struct<login:string,born:date>",
        "items": "array<struct<sku:string,count:int>>",
        "notes": "map<string,bigint>",
    }
)


def extra_of(record: dict[str, Any]) -> str | None:
    (text,) = settle([record], ORDERS, with_extra=True)["_extra"].to_pylist()
    return text


def test_rows_stand_in_order_with_extra_as_their_last_column() -> None:
    records = [{"id": 2, "price": "12.50"}, {"price": None, "id": 1}, {}]

    batch = settle(records, ORDERS, with_extra=True)

    assert batch.schema == ORDERS.append(pa.field("_extra", pa.string()))
    assert batch["id"].to_pylist() == [2, 1, None]
    assert batch["_extra"].null_count == 3


@pytest.mark.parametrize(
    ("record", "extra"),
    [
        ({"id": "x"}, '{"id":"x"}'),
        ({"id": 1.0}, '{"id":1.0}'),
        ({"new": {"a": [1, None]}}, '{"new":{"a":[1,null]}}'),
        ({"new": None}, '{"new":null}'),
        ({"a.b": 1, "c[0]": 2, "d\\": 3}, '{"a\\\\.b":1,"c\\\\[0]":2,"d\\\\\\\\":3}'),
        ({"user": "nobody"}, '{"user":"nobody"}'),
        ({"user": {"login": "a", "born": 1970, "x.y": 1}}, '{"user.x\\\\.y":1,"user.born":1970}'),
        ({"items": [{}, {"count": 1}, {"count": "2"}]}, '{"items[2].count":"2"}'),
        ({"items": [{}, 5, None, {"sku": "a", "new": 1}]}, '{"items[1]":5,"items[3].new":1}'),
        ({"notes": {"a": 1, "b.c": "x"}}, '{"notes.b\\\\.c":"x"}'),
        ({"": 1}, '{"":1}'),
        ({"id": 1, "user": {}, "items": [], "notes": {}}, None),
    ],
)
def test_misfits_are_kept_under_their_paths(record: dict[str, Any], extra: str | None) -> None:
    assert extra_of(record) == extra


def test_what_stands_beside_a_misfit_stays_where_it_is() -> None:
    record = {
        "id": 1,
        "user": {"login": "a", "born": 5},
        "items": [{"sku": "b"}, 5],
        "notes": {"a": 1, "b": "x"},
    }

    (row,) = settle([record], ORDERS, with_extra=True).to_pylist()

    assert row == {
        "id": 1,
        "price": None,
        "user": {"login": "a", "born": None},
        "items": [{"sku": "b", "count": None}, None],
        "notes": [("a", 1), ("b", None)],
        "_extra": '{"user.born":5,"items[1]":5,"notes.b":"x"}',
    }


def test_misfits_are_told_by_row_where_there_is_no_extra() -> None:
    records = [
        {"id": 1},
        {"id": "x" * 100, "user": {"born": 1970}},
        {"items": [{"count": 2**40}], "a.b": True},
        {"price": "free", "id": 1.5},
        {"id": False},
    ]

    with pytest.raises(RowsDoNotFit) as refused:
        settle(records, ORDERS, with_extra=False)

    assert str(refused.value) == (
        "7 values do not fit the columns: "
        f'`id` of record 2 is `"{"x" * 38}…`, `bigint` was expected; '
        "`user.born` of record 2 is `1970`, `date` was expected; "
        "`a\\.b` of record 3 is `true`, there is no such column; "
        "`items[0].count` of record 3 is `1099511627776`, `int` was expected; "
        "`id` of record 4 is `1.5`, `bigint` was expected, and 2 more"
    )
    assert refused.value.hint == "declare the columns otherwise, or keep the column `_extra`"
    assert vars(pickle.loads(pickle.dumps(refused.value))) == vars(refused.value)


def test_records_with_a_value_of_another_type_are_set_aside_and_unknown_fields_are_kept() -> None:
    schema = pa.schema([("id", pa.int64()), ("items", pa.list_(pa.struct([("n", pa.int32())])))])
    records: list[dict[str, Any]] = [
        {"id": 1, "new": True},
        {"id": "x" * 50, "new": 2},
        {"id": 3, "items": [{"n": 1}, {"n": {"m": 1.5}}]},
        {"id": 4, "items": [{"n": 1, "more": 1}]},
    ]

    rows, rejects = sift(records, schema, with_extra=True)

    assert rows.equals(settle([records[0], records[3]], schema, with_extra=True))
    assert [reject.reason for reject in rejects] == [
        f"`id` has `{'x' * 39}…`, which is no int64",
        '`items[1].n` has `{"m":1.5}`, which is no int32',
    ]
    assert [json.loads(reject.row) for reject in rejects] == [records[1], records[2]]


def test_records_that_fit_are_what_settling_gives() -> None:
    records = [{"id": 1, "new": 1}, {"id": 2}]

    rows, rejects = sift(records, ORDERS, with_extra=True)

    assert (rows, rejects) == (settle(records, ORDERS, with_extra=True), ())


def test_one_misfit_is_told_in_the_singular() -> None:
    with pytest.raises(RowsDoNotFit) as refused:
        settle([{"id": "x"}], ORDERS, with_extra=False)

    assert str(refused.value) == (
        '1 value does not fit the columns: `id` of record 1 is `"x"`, `bigint` was expected'
    )


def test_a_schema_that_already_has_extra_gets_no_second_one() -> None:
    schema = pa.schema([("_extra", pa.string()), ("id", pa.int64())])

    batch = settle([{"id": 1, "new": 2}], schema, with_extra=True)

    assert batch.to_pylist() == [{"id": 1, "_extra": '{"new":2}'}]


def test_every_column_may_be_null_whatever_the_schema_says() -> None:
    inner = pa.field("a", pa.int64(), nullable=False, metadata={"note": "kept"})
    schema = pa.schema(
        [
            pa.field("s", pa.struct([inner]), nullable=False),
            pa.field("l", pa.list_(pa.field("element", pa.int64(), nullable=False)), nullable=False),
        ],
        metadata={"table": "kept"},
    )

    batch = settle([{}, {"s": {}, "l": [None]}], schema, with_extra=False)

    batch.validate(full=True)
    assert batch.to_pylist() == [{"s": None, "l": None}, {"s": {"a": None}, "l": [None]}]
    assert batch.schema.field("s").nullable
    assert batch.schema.field("s").type.field("a").nullable
    assert batch.schema.field("l").type.value_field.name == "element"
    assert batch.schema.metadata == {b"table": b"kept"}


def test_records_without_columns_are_still_counted() -> None:
    assert settle([{}, {}], pa.schema([]), with_extra=False).num_rows == 2
    assert settle([], ORDERS, with_extra=True).num_rows == 0


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (pa.null(), "null"),
        (pa.struct([]), "struct<>"),
        (pa.list_(pa.null()), "null"),
        (pa.timestamp("us"), "timestamp[us]"),
        (pa.map_(pa.int64(), pa.int64()), "map<int64, int64>"),
        (pa.struct([("a", pa.float32())]), "float"),
    ],
)
def test_a_column_that_json_cannot_fill_is_refused_by_name(kind: pa.DataType, text: str) -> None:
    with pytest.raises(UnsupportedType) as refused:
        settle([], pa.schema([("odd", kind)]), with_extra=True)

    assert str(refused.value) == f"column `odd` has the type `{text}`, which JSON records cannot be read into"
