"""JSON Schemas as taps write them, as columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hakiri.sources.json_rows import settle, type_text
from hakiri.sources.singer.schemas import columns_of

NULL = {"type": "null"}


def type_of(schema: Any, **document: Any) -> str:
    columns = columns_of({"type": "object", "properties": {"x": schema}, **document})
    return type_text(columns.field("x").type)


@pytest.mark.spec("HP-150")
@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer"}, "bigint"),
        ({"type": ["null", "integer"]}, "bigint"),
        ({"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}, "bigint"),
        ({"type": "integer", "minimum": 0, "maximum": 2**64 - 1}, "decimal(20,0)"),
        ({"type": "integer", "maximum": 2**64}, "decimal(38,0)"),
        ({"type": ["null", "number"]}, "double"),
        ({"type": "number", "multipleOf": 0.01}, "decimal(38,2)"),
        ({"type": "number", "multipleOf": 1e-05}, "decimal(38,5)"),
        ({"type": "number", "multipleOf": 1}, "decimal(38,0)"),
        ({"type": "number", "multipleOf": 100}, "decimal(38,0)"),
        ({"type": "number", "multipleOf": 0}, "double"),
        ({"type": "number", "multipleOf": True}, "double"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "date-time"}, "timestamp"),
        ({"type": ["string", "null"], "format": "date"}, "date"),
        ({"type": "string", "format": "time"}, "string"),
        ({"type": "string", "format": "uuid"}, "string"),
        ({"type": "string", "format": "singer.decimal"}, "decimal(38,18)"),
        ({"type": "number", "format": "singer.decimal"}, "decimal(38,18)"),
        ({"type": "string", "format": "x-singer.decimal", "precision": 12, "scale": 4}, "decimal(12,4)"),
        ({"type": "string", "format": "singer.decimal", "multipleOf": 0.001}, "decimal(38,3)"),
        ({"type": "string", "format": "singer.decimal", "precision": "many"}, "decimal(38,18)"),
        ({"type": "object"}, "string"),
        ({"type": "object", "properties": {}}, "string"),
        ({"type": "object", "additionalProperties": True}, "string"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "map<string,bigint>"),
        ({"type": "object", "patternProperties": {".*": {"type": "integer"}}}, "string"),
        ({"properties": {"a": {"type": "integer"}}}, "struct<a:bigint>"),
        ({"type": ["object", "null"], "properties": {"a": {}, "b": True}}, "struct<a:string,b:string>"),
        ({"type": ["object", "string"], "properties": {"a": {}}}, "string"),
        ({"type": "array", "items": {"type": ["null", "number"]}}, "array<double>"),
        ({"type": "array", "items": {}}, "array<string>"),
        ({"type": "array", "items": [{"type": "integer"}, {"type": "integer"}]}, "array<bigint>"),
        ({"type": "array", "items": [{"type": "integer"}, {"type": "string"}]}, "array<string>"),
        ({"type": "array"}, "array<string>"),
        ({"type": ["array", "string"], "items": {"type": "integer"}}, "string"),
        ({"type": ["integer", "number"]}, "double"),
        ({"type": ["integer", "string", "null"]}, "string"),
        ({"type": "null"}, "string"),
        ({"type": "money"}, "string"),
        ({"enum": ["a", "b"]}, "string"),
        ({}, "string"),
        (True, "string"),
        (None, "string"),
    ],
)
def test_every_form_has_its_type(schema: Any, expected: str) -> None:
    assert type_of(schema) == expected


@pytest.mark.parametrize(
    ("low", "high", "is_exclusive", "expected"),
    [
        (-100_000_000, 100_000_000, True, "decimal(10,2)"),
        (-100_000_000, 100_000_000, False, "decimal(11,2)"),
        (-99_999_999.99, 99_999_999.99, False, "decimal(10,2)"),
        (0, 5, False, "decimal(3,2)"),
        (-1e62, 1e62, True, "decimal(38,2)"),
        (None, 1000, True, "decimal(38,2)"),
    ],
)
def test_bounds_tell_how_many_digits_a_decimal_has(
    low: Any, high: Any, is_exclusive: bool, expected: str
) -> None:
    older = {
        "minimum": low,
        "maximum": high,
        "exclusiveMinimum": is_exclusive,
        "exclusiveMaximum": is_exclusive,
    }
    newer = {"exclusiveMinimum": low, "exclusiveMaximum": high}

    assert type_of({"type": "number", "multipleOf": 0.01, **older}) == expected
    if is_exclusive:
        assert type_of({"type": "number", "multipleOf": 0.01, **newer}) == expected


def test_a_decimal_that_nothing_can_hold_keeps_digits_on_both_sides_of_the_point() -> None:
    wide = {"type": "number", "multipleOf": 1e-38, "minimum": -1e62, "maximum": 1e62}

    assert type_of(wide) == "decimal(38,18)"


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"anyOf": [NULL, {"type": "integer"}]}, "bigint"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}, NULL]}, "double"),
        ({"anyOf": [{"type": "string", "format": "date-time"}, {"type": ["string", "null"]}]}, "string"),
        ({"anyOf": [{"type": "string", "format": "date-time"}, NULL]}, "timestamp"),
        ({"anyOf": [{"type": "object", "properties": {"a": {"type": "integer"}}}, NULL]}, "struct<a:bigint>"),
        (
            {
                "oneOf": [
                    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}},
                    {"type": "object", "properties": {"a": {"type": "number"}, "c": {"type": "boolean"}}},
                ]
            },
            "struct<a:double,b:string,c:boolean>",
        ),
        ({"anyOf": [{"type": "object", "properties": {"a": {}}}, {"type": "string"}]}, "string"),
        (
            {"type": "object", "properties": {"a": {"type": "integer"}}, "anyOf": [{"required": ["a"]}]},
            "struct<a:bigint>",
        ),
        (
            {"allOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": {}}}]},
            "struct<a:bigint,b:string>",
        ),
        ({"anyOf": [{"type": "array", "items": {"type": "integer"}}, NULL]}, "array<bigint>"),
        ({"anyOf": "odd"}, "string"),
    ],
)
def test_a_choice_is_what_its_parts_have_in_common(schema: Any, expected: str) -> None:
    assert type_of(schema) == expected


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("#/definitions/money", "decimal(38,2)"),
        ("#/$defs/a~1b%20c", "bigint"),
        ("#/definitions/both", "decimal(38,2)"),
        ("#/definitions/nothing", "string"),
        ("https://example.com/schema.json", "string"),
        ("#/definitions/loop", "string"),
    ],
)
def test_references_are_followed_inside_the_document(reference: str, expected: str) -> None:
    definitions = {
        "money": {"type": "number", "multipleOf": 0.01},
        "both": {"anyOf": [NULL, {"$ref": "#/definitions/money"}]},
        "loop": {"$ref": "#/definitions/loop"},
    }

    found = type_of({"$ref": reference}, definitions=definitions, **{"$defs": {"a/b c": {"type": "integer"}}})

    assert found == expected


def test_a_schema_that_holds_itself_ends_in_json_text() -> None:
    node = {
        "type": "object",
        "properties": {"left": {"$ref": "#/definitions/node"}, "right": {"$ref": "#/definitions/node"}},
    }

    found = type_of({"$ref": "#/definitions/node"}, definitions={"node": node})

    assert found == "struct<left:string,right:string>"


def test_what_is_nested_too_deeply_ends_in_json_text() -> None:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(200):
        schema = {"type": "object", "properties": {"a": schema}}

    assert type_of(schema).count("struct<") == 32


def test_names_that_spark_takes_for_one_are_one_column() -> None:
    inner = {"type": "object", "properties": {"B": {"type": "integer"}, "b": {}}}
    columns = columns_of({"properties": {"Id": {"type": "integer"}, "id": {}, "x": inner}})

    assert columns == pa.schema({"Id": pa.int64(), "x": pa.struct({"B": pa.int64()})})


def test_a_property_of_the_name_of_the_extra_column_has_none() -> None:
    assert columns_of({"properties": {"_extra": {"type": "string"}, "a": {}}}).names == ["a"]


def test_only_wanted_properties_are_columns_and_the_order_is_that_of_the_schema() -> None:
    schema = {"properties": {name: {"type": "string"} for name in ("c", "a", "b")}}

    assert columns_of(schema, ["b", "c", "unknown"]).names == ["c", "b"]


@pytest.mark.parametrize("schema", [None, True, {}, {"type": "object"}, {"properties": []}, "text"])
def test_a_schema_that_says_nothing_has_no_columns(schema: Any) -> None:
    assert columns_of(schema).names == []


KEYWORDS = st.sampled_from(
    [
        *(
            "type",
            "properties",
            "items",
            "anyOf",
            "oneOf",
            "allOf",
            "$ref",
            "format",
            "multipleOf",
            "minimum",
        ),
        *(
            "maximum",
            "exclusiveMaximum",
            "additionalProperties",
            "precision",
            "scale",
            "definitions",
            "_extra",
        ),
        "a",
    ]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        ["integer", "number", "string", "object", "array", "null", "boolean", "date-time", "date"]
    )
    | st.sampled_from(["singer.decimal", "#", "#/properties/a", "#/definitions/a", "#/properties/a/items"])
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4),
    max_leaves=30,
)


@settings(deadline=None)
@given(properties=st.dictionaries(KEYWORDS, SCHEMAS, max_size=4), document=st.dictionaries(KEYWORDS, SCHEMAS))
def test_whatever_a_schema_says_its_columns_hold_any_row(
    properties: dict[str, Any], document: dict[str, Any]
) -> None:
    columns = columns_of({**document, "properties": properties})

    row = {name: [{"b": 1}] for name in properties}
    settled = settle([row, {}], columns, with_extra=True)
    assert settled.num_rows == 2
    assert settled.schema.names == [*columns.names, "_extra"]
