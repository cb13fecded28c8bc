"""Schemas as text: the form of Arrow's integration tests, the same for the same schema."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.random_rows import NAMES, types

from hakiri.store.errors import UnfitColumns, UnreadableSchema
from hakiri.store.schemas import fingerprint, former_names, schema_from, schema_text


@st.composite
def schemas(draw: st.DrawFn) -> pa.Schema:
    metadata = st.none() | st.dictionaries(NAMES, NAMES, min_size=1, max_size=2)
    return pa.schema(
        [
            pa.field(name, kind, nullable=kind == pa.null() or draw(st.booleans()), metadata=draw(metadata))
            for name, kind in draw(st.dictionaries(NAMES, types(), max_size=4)).items()
        ]
    )


@settings(max_examples=50, deadline=None)
@given(schema=schemas())
def test_a_schema_comes_back_from_its_text(schema: pa.Schema) -> None:
    text = schema_text(schema)

    assert schema_from(text).equals(schema, check_metadata=True)
    assert schema_text(schema_from(text)) == text


def test_the_text_is_the_json_of_arrows_integration_tests() -> None:
    schema = pa.schema(
        [
            pa.field("id", pa.int32(), nullable=False, metadata={"hakiri.was": '["key"]'}),
            pa.field("at", pa.timestamp("us", "UTC")),
            pa.field("tags", pa.map_(pa.string(), pa.decimal128(10, 2))),
        ]
    )

    assert json.loads(schema_text(schema)) == {
        "fields": [
            {
                "name": "id",
                "nullable": False,
                "type": {"name": "int", "bitWidth": 32, "isSigned": True},
                "children": [],
                "metadata": [{"key": "hakiri.was", "value": '["key"]'}],
            },
            {
                "name": "at",
                "nullable": True,
                "type": {"name": "timestamp", "unit": "MICROSECOND", "timezone": "UTC"},
                "children": [],
            },
            {
                "name": "tags",
                "nullable": True,
                "type": {"name": "map", "keysSorted": False},
                "children": [
                    {
                        "name": "entries",
                        "nullable": False,
                        "type": {"name": "struct"},
                        "children": [
                            {"name": "key", "nullable": False, "type": {"name": "utf8"}, "children": []},
                            {
                                "name": "value",
                                "nullable": True,
                                "type": {"name": "decimal", "precision": 10, "scale": 2, "bitWidth": 128},
                                "children": [],
                            },
                        ],
                    }
                ],
            },
        ]
    }


def test_names_of_elements_and_metadata_of_the_whole_make_no_other_schema() -> None:
    one = pa.schema([("l", pa.list_(pa.field("item", pa.int8())))], metadata={"by": "Spark"})
    other = pa.schema([("l", pa.list_(pa.field("element", pa.int8())))])

    assert fingerprint(one) == fingerprint(other)


def test_a_former_name_makes_another_fingerprint_and_is_read() -> None:
    plain = pa.schema([pa.field("id", pa.int32())])
    renamed = pa.schema([pa.field("id", pa.int32(), metadata={"hakiri.was": '["key", "no"]'})])

    assert fingerprint(plain) != fingerprint(renamed)
    assert [former_names(schema.field(0)) for schema in (plain, renamed)] == [(), ("key", "no")]


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        (pa.uint8(), "x"),
        (pa.timestamp("ns"), "x"),
        (pa.list_(pa.large_string()), "x[]"),
        (pa.struct([("y", pa.map_(pa.string(), pa.float16()))]), "x.y.value"),
        (pa.struct([]), "x"),
        (pa.dictionary(pa.int32(), pa.string()), "x"),
    ],
)
def test_a_type_that_spark_does_not_have_is_refused_with_its_place(kind: pa.DataType, path: str) -> None:
    with pytest.raises(
        UnfitColumns, match=rf"^column `{path.replace('[', '.').replace(']', '.')}` is of type"
    ):
        schema_text(pa.schema([("x", kind)]))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"fields": [7]}',
        json.dumps({"fields": [{"name": "a", "nullable": True, "type": {"name": "odd"}, "children": []}]}),
    ],
)
def test_a_text_that_is_no_schema_is_refused(text: Any) -> None:
    with pytest.raises(UnreadableSchema, match="a schema of the store cannot be read: "):
        schema_from(text)
