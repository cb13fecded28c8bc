"""The form of a schema behind Spark, told without Spark, is the one that Spark gives."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hakiri.sources.bridge.forms import spark_form
from hakiri.sources.bridge.schemas import arrow_schema, spark_schema
from hakiri.sources.errors import SchemaIncompatible

KNOWN = [
    pa.bool_(),
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.decimal128(38, 9),
    pa.decimal128(5, 0),
    pa.decimal256(20, 2),
    pa.string(),
    pa.large_string(),
    pa.binary(),
    pa.binary(16),
    pa.large_binary(),
    pa.date32(),
    pa.time64("us"),
    pa.time64("ns"),
    pa.timestamp("s"),
    pa.timestamp("ns", "Europe/Berlin"),
    pa.timestamp("us", "UTC"),
    pa.duration("ms"),
    pa.null(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.list_(pa.int32()),
    pa.list_(pa.field("item", pa.string(), nullable=False)),
    pa.large_list(pa.timestamp("ms")),
    pa.list_(pa.float64(), 3),
    pa.map_(pa.string(), pa.large_string()),
    pa.map_(pa.string(), pa.field("v", pa.int64(), nullable=False)),
    pa.struct([pa.field("a", pa.int32(), nullable=False), pa.field("b", pa.list_(pa.date32()))]),
    pa.struct([pa.field("t", pa.timestamp("ms", "UTC"))]),
    pa.list_(pa.struct([("d", pa.dictionary(pa.int8(), pa.string()))])),
]
UNKNOWN = [
    pa.uint8(),
    pa.uint64(),
    pa.float16(),
    pa.date64(),
    pa.time32("s"),
    pa.string_view(),
    pa.month_day_nano_interval(),
    pa.list_(pa.uint16()),
    pa.map_(pa.string(), pa.uint16()),
    pa.struct([("u", pa.uint16())]),
]


@pytest.mark.parametrize("kind", KNOWN, ids=str)
def test_a_type_has_the_form_that_spark_gives_it(kind: pa.DataType) -> None:
    schema = pa.schema([pa.field("c", kind, nullable=kind == pa.null(), metadata={"a": "b"})])

    form = spark_form(schema, "t")

    assert form.equals(arrow_schema(spark_schema(schema, "t")), check_metadata=True)


@pytest.mark.parametrize("kind", UNKNOWN, ids=str)
def test_a_type_that_spark_does_not_know_is_refused_with_the_column(kind: pa.DataType) -> None:
    schema = pa.schema([("id", pa.int64()), ("c", kind)])

    with pytest.raises(SchemaIncompatible) as ours:
        spark_form(schema, "t")

    with pytest.raises(SchemaIncompatible) as sparks:
        arrow_schema(spark_schema(schema, "t"))
    assert (str(ours.value), ours.value.hint) == (str(sparks.value), sparks.value.hint)


def test_a_number_with_more_digits_than_spark_has_is_refused() -> None:
    with pytest.raises(SchemaIncompatible, match="column `c` of table `t` is of type decimal256"):
        spark_form(pa.schema([("c", pa.decimal256(50, 2))]), "t")
