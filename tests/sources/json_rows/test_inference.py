from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from hakiri.sources.json_rows import (
    MixedTypes,
    SchemaSketch,
    declared_schema,
    infer_schema,
    settle,
    type_text,
)


def inferred(*values: object, mixed: MixedTypes = "widen") -> str:
    """The type of a field that has these values in records one after the other."""
    return type_text(infer_schema([{"field": value} for value in values], mixed=mixed).field("field").type)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([True, None], "boolean"),
        ([1, -(2**63)], "bigint"),
        ([1.5, None, 2.0], "double"),
        (["2026-01-31T00:00:00Z", "12"], "string"),
        ([{"b": 1, "a": {"c": "x"}}], "struct<b:bigint,a:struct<c:string>>"),
        ([{"b": 1}, {"a": 1, "b": None}], "struct<b:bigint,a:bigint>"),
        ([[1, 2], [], [None]], "array<bigint>"),
        ([[{"a": 1}, {"b": True}]], "array<struct<a:bigint,b:boolean>>"),
    ],
)
def test_structure_is_kept(values: list[Any], expected: str) -> None:
    assert inferred(*values) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([None, None], "string"),
        ([{}], "string"),
        ([{}, None, {"a": None}], "struct<a:string>"),
        ([[]], "array<string>"),
        ([[None]], "array<string>"),
        ([[{}]], "array<string>"),
        ([[[]]], "array<array<string>>"),
        ([2**63], "string"),
        ([2**63, 1], "string"),
        ([Decimal(10**30), -1], "string"),
        ([Decimal("1e400")], "string"),
        ([Decimal("1e400"), 1.5], "string"),
    ],
)
def test_what_a_sample_leaves_open_is_closed_by_rule(values: list[Any], expected: str) -> None:
    assert inferred(*values) == expected


@pytest.mark.parametrize(
    ("values", "widened", "as_string", "quarantined"),
    [
        ([1, 1.5], "double", "string", "bigint"),
        ([1.5, 1], "double", "string", "double"),
        ([2**53, 0.5], "double", "string", "bigint"),
        ([2**53 + 1, 0.5], "string", "string", "bigint"),
        ([0.5, -(2**53) - 1], "string", "string", "double"),
        ([1, "a"], "string", "string", "bigint"),
        ([True, 1], "string", "string", "boolean"),
        ([{"a": 1}, [1]], "string", "string", "struct<a:bigint>"),
        ([[1], {"a": 1}], "string", "string", "array<bigint>"),
        ([None, "a", {"a": 1}], "string", "string", "string"),
        ([{}, {"a": 1}], "struct<a:bigint>", "struct<a:bigint>", "struct<a:bigint>"),
        ([[1, "a"]], "array<string>", "array<string>", "array<bigint>"),
        ([{"a": 1}, {"a": 0.5}], "struct<a:double>", "struct<a:string>", "struct<a:bigint>"),
        ([1, 2**60], "bigint", "bigint", "bigint"),
        ([2**60, 2**63], "string", "string", "bigint"),
    ],
)
def test_mixed_types_are_settled_by_rule(
    values: list[Any], widened: str, as_string: str, quarantined: str
) -> None:
    assert inferred(*values, mixed="widen") == widened
    assert inferred(*values, mixed="string") == as_string
    assert inferred(*values, mixed="quarantine") == quarantined


def test_names_keep_their_spelling_and_their_first_order() -> None:
    schema = infer_schema([{"b": 1, "A": 1}, {"a.b": 1, "a": 1, "b": 2}, {"": 1}])

    assert schema.names == ["b", "A", "a.b", "a", ""]


def test_declared_columns_have_their_type_and_stand_last_if_unseen() -> None:
    declared = declared_schema({"later": "date", "at": "timestamp"})

    schema = infer_schema([{"at": "2026-01-31", "id": 1}], declared=declared)

    assert [(field.name, type_text(field.type)) for field in schema] == [
        ("at", "timestamp"),
        ("id", "bigint"),
        ("later", "date"),
    ]


def test_a_field_called_extra_gets_no_column_and_is_kept_in_the_real_one() -> None:
    records = [{"id": 1, "_extra": {"a": 1}}]
    schema = infer_schema(records)

    batch = settle(records, schema, with_extra=True)

    assert schema.names == ["id"]
    assert batch.to_pylist() == [{"id": 1, "_extra": '{"_extra":{"a":1}}'}]


def test_no_records_have_no_columns() -> None:
    assert infer_schema([]) == SchemaSketch().schema() == pa.schema([])


def test_what_is_nested_too_deeply_for_a_column_is_text() -> None:
    records = [nested(200)]

    schema = infer_schema(records)

    assert type_text(schema.field("a").type) == "struct<a:" * 31 + "string" + ">" * 31
    assert settle(records, schema, with_extra=True)["_extra"].null_count == 1
