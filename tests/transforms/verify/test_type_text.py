"""Types as text: Spark's own writing is read, and nothing that its SQL parser would make more of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.transforms.verify.type_text import is_schema, is_type

TYPES = [
    *("int", "INT", "bigint", "string", "double", "boolean", "date", "timestamp", "timestamp_ntz", "binary"),
    *("variant", "void", "decimal", "decimal(10)", "decimal(10,2)", "char(3)", "varchar(10)", "array<int>"),
    *("map<string,array<double>>", "struct<a:int,b:struct<c:string>>", "struct<>"),
]


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    arrays = inner.map(lambda one: f"array<{one}>")
    maps = st.tuples(inner, inner).map(lambda both: f"map<{both[0]}, {both[1]}>")
    fields = st.lists(inner.map(lambda one: f"`a b`: {one} not null"), max_size=3)
    return arrays | maps | fields.map(lambda all_fields: f"struct<{', '.join(all_fields)}>")


nested_types = st.recursive(st.sampled_from(["int", "string", "decimal(5,1)"]), larger, max_leaves=10)


@pytest.mark.parametrize(
    "text",
    [
        *TYPES,
        " decimal( 10 , 2 ) ",
        "struct<a: int not null, `b c`: string>",
        "struct<`a``b`: int>",
        "interval",
        "interval day to second",
        "string collate UTF8_LCASE",
    ],
)
def test_a_type_is_read(text: str) -> None:
    assert is_type(text)
    assert is_schema(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "int int",
        "nosuch",
        "array",
        "array<int",
        "array<int>>",
        "map<int>",
        "struct<a>",
        "struct<1: int>",
        "char",
        "decimal()",
        "decimal(1,2,3)",
        "decimal(-1)",
        "int -- x",
        "int /* x */",
        "int; drop table x",
        "int comment 'x'",
        "struct<a: int default 1>",
        "struct<a: int comment 'x'>",
        "a.b",
        "udt",
        "interval x",
        "ｉnt",
        "struct<a: int>\u00a0",
        "array<" * 100 + "int" + ">" * 100,
        "x" * 200_000,
    ],
)
def test_what_is_no_type_is_not_read(text: str) -> None:
    assert not is_type(text)


@pytest.mark.parametrize("text", ["a int", "a int, b string not null", "a: int, `b c` array<int>"])
def test_a_list_of_columns_is_a_schema_and_no_type(text: str) -> None:
    assert is_schema(text)
    assert not is_type(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"struct","fields":[{"name":"a","type":"integer","nullable":true,"metadata":{}}]}',
        '{"type":"array","elementType":"string","containsNull":true}',
        '{"type":"map","keyType":"string","valueType":"decimal(10,2)","valueContainsNull":true}',
    ],
)
def test_sparks_json_is_a_schema(text: str) -> None:
    assert is_schema(text)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        '{"type":"udt","class":"x.Y"}',
        '{"type":"struct","fields":[{"name":"a","type":"integer","metadata":{"x":1}}]}',
        '{"type":"struct","fields":[{"name":"a","type":"array<int>"}]}',
        '{"type":"struct","fields":[{"name":"a"}]}',
        '{"type":"struct","fields":["a"]}',
        '{"type":"struct","fields":{}}',
        '{"type":"array","elementType":"string","pyClass":"x.Y"}',
        '{"type":"array","elementType":' * 60 + '"string"' + "}" * 60,
        '{"type":' * 20_000,
    ],
)
def test_other_json_is_no_schema(text: str) -> None:
    assert not is_schema(text)


@given(nested_types)
def test_types_inside_each_other_are_read(text: str) -> None:
    assert is_type(text)


@given(st.text() | st.text(alphabet="abint<>(),:` \"{}[]0'-*/;\n", max_size=60))
def test_no_text_makes_the_reader_fail(text: str) -> None:
    assert is_type(text) in (True, False)
    assert is_schema(text) in (True, False)
