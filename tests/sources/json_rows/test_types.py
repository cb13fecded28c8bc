from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from tests.sources.json_rows.cases import TYPES

from hakiri.core.grammar import BadText
from hakiri.sources.json_rows import declared_schema, parse_type, type_text

A_TYPE = (
    "one of bigint, int, double, boolean, string, json, date, timestamp, binary, decimal, struct, array, map"
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("bigint", pa.int64()),
        ("BIGINT", pa.int64()),
        (" int ", pa.int32()),
        ("double", pa.float64()),
        ("boolean", pa.bool_()),
        ("string", pa.string()),
        ("json", pa.string()),
        ("date", pa.date32()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("binary", pa.binary()),
        ("decimal(10,2)", pa.decimal128(10, 2)),
        ("decimal( 38 , 38 )", pa.decimal128(38, 38)),
        ("array<bigint>", pa.list_(pa.int64())),
        ("array<array<date>>", pa.list_(pa.list_(pa.date32()))),
        ("map<string, double>", pa.map_(pa.string(), pa.float64())),
        ("struct<a:bigint, b:string>", pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ("struct<`a:b``c` : int>", pa.struct([("a:b`c", pa.int32())])),
        ("struct<``:int>", pa.struct([("", pa.int32())])),
        ("struct<Größe-2:int>", pa.struct([("Größe-2", pa.int32())])),
    ],
)
def test_a_type_is_read(text: str, kind: pa.DataType) -> None:
    assert parse_type(text) == kind


@pytest.mark.parametrize(
    ("text", "seen", "expected"),
    [
        ("", "unexpected end at position 1", A_TYPE),
        ("varchar", "unexpected `varchar` at position 1", A_TYPE),
        ("12", "unexpected `1` at position 1", A_TYPE),
        ("bigint!", "unexpected `!` at position 7", "the end"),
        ("bigint string", "unexpected `s` at position 8", "the end"),
        ("decimal", "unexpected end at position 8", "`(`"),
        ("decimal()", "unexpected `)` at position 9", "a number"),
        ("decimal(39,2)", "unexpected `39` at position 9", "a number from 1 to 38"),
        ("decimal(0,0)", "unexpected `0` at position 9", "a number from 1 to 38"),
        ("decimal(100,2)", "unexpected `0` at position 11", "`,`"),
        ("decimal(4,5)", "unexpected `5` at position 11", "a number from 0 to 4"),
        ("array", "unexpected end at position 6", "`<`"),
        ("array<>", "unexpected `>` at position 7", A_TYPE),
        ("array<int", "unexpected end at position 10", "`>`"),
        (
            "map<bigint,int>",
            "unexpected `bigint` at position 5",
            "string, since names in JSON are texts",
        ),
        ("map<string>", "unexpected `>` at position 11", "`,`"),
        ("struct<>", "unexpected `>` at position 8", "a name"),
        ("struct<a>", "unexpected `>` at position 9", "`:`"),
        ("struct<a:int;b:int>", "unexpected `;` at position 13", "`,` or `>`"),
        ("struct<a:int,a:date>", "unexpected `a` at position 14", "a name that is not taken"),
        ("struct<`a:int>", "unexpected end at position 15", "a closing backtick"),
        ("array<" * 40, "unexpected `a` at position 193", "at most 32 levels"),
    ],
)
def test_what_is_no_type_is_refused_at_its_position(text: str, seen: str, expected: str) -> None:
    with pytest.raises(BadText) as refused:
        parse_type(text)

    assert f"is not a column type: {seen} ({expected} was expected)" in str(refused.value)


@settings(deadline=None)
@given(TYPES)
def test_a_type_is_written_as_it_is_read(kind: pa.DataType) -> None:
    assert parse_type(type_text(kind)) == kind


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (pa.timestamp("us", tz="Europe/Berlin"), "timestamp"),
        (pa.timestamp("us"), "timestamp[us]"),
        (pa.null(), "null"),
        (pa.map_(pa.int64(), pa.int64()), "map<int64, int64>"),
    ],
)
def test_a_type_of_arrow_alone_is_written_as_arrow_does(kind: pa.DataType, text: str) -> None:
    assert type_text(kind) == text


def test_declared_columns_are_a_schema_in_their_order() -> None:
    schema = declared_schema({"price": "decimal(10,2)", "created_at": "timestamp"})

    assert schema == pa.schema(
        [("price", pa.decimal128(10, 2)), ("created_at", pa.timestamp("us", tz="UTC"))]
    )


def test_the_column_for_misfits_cannot_be_declared() -> None:
    with pytest.raises(BadText, match="a name that is not taken"):
        declared_schema({"_extra": "string"})
