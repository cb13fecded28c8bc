"""Random JSON records, schemas, and values that fit or do not fit them."""

from __future__ import annotations

import base64
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

# Few names, so that they meet, and with the signs that paths escape.
NAMES = st.sampled_from(["a", "b", "c", "id", "a.b", "x[0]", "back\\slash", "", "é", "A"])
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
WHOLES = st.one_of(
    st.integers(-5, 5),
    st.integers(-(2**63), 2**64 - 1),
    st.sampled_from(
        [2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1, 2**63, 2**64 - 1]
    ),
)
HUGE = st.sampled_from(
    [Decimal(2**64), Decimal(-(2**63) - 1), Decimal("1e400"), Decimal(10**30), Decimal(10**20)]
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
MOMENTS = st.datetimes(
    min_value=datetime(2, 1, 1),  # noqa: DTZ001 - the strategy wants it so
    max_value=datetime(9998, 12, 31),  # noqa: DTZ001
)
OFFSETS = st.sampled_from(["", "Z", "z", "+02:00", "-0930", "+05", "-00:00", "+23:59"])
DIGITS = st.from_regex(r"-?(0|[1-9][0-9]{0,6})(\.[0-9]{1,3})?", fullmatch=True)
LEAF_VALUES = st.one_of(st.none(), st.booleans(), WHOLES, FLOATS, HUGE, TEXTS, DIGITS)
VALUES = st.recursive(
    LEAF_VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.lists(st.dictionaries(NAMES, VALUES, max_size=4), max_size=6)

LEAF_TYPES = st.sampled_from(
    [
        pa.int64(),
        pa.int32(),
        pa.float64(),
        pa.bool_(),
        pa.string(),
        pa.date32(),
        pa.timestamp("us", tz="UTC"),
        pa.binary(),
        pa.decimal128(10, 2),
        pa.decimal128(38, 18),
        pa.decimal128(3, 3),
    ]
)


def structs_of(inner: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    return st.dictionaries(NAMES, inner, min_size=1, max_size=3).map(
        lambda fields: pa.struct(list(fields.items()))
    )


TYPES = st.recursive(
    LEAF_TYPES,
    lambda inner: st.one_of(
        inner.map(pa.list_), structs_of(inner), inner.map(lambda kind: pa.map_(pa.string(), kind))
    ),
    max_leaves=4,
)
SCHEMAS = st.dictionaries(NAMES, TYPES, max_size=4).map(lambda fields: pa.schema(list(fields.items())))


def iso_text(moment: datetime, offset: str, separator: str) -> str:
    return moment.isoformat(sep=separator) + offset


def decimals(kind: pa.DataType) -> st.SearchStrategy[Any]:
    scaled = st.integers(-(10**kind.precision) + 1, 10**kind.precision - 1)
    numbers = scaled.map(
        lambda number: Decimal(number).scaleb(-kind.scale) if abs(number) < 10**28 else Decimal(0)
    )
    return numbers.map(lambda number: format(number, "f"))


def fitting(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Values that fit a column of the type, null among them."""
    return st.none() | _fitting(kind)


def _fitting(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_struct(kind):
        return st.fixed_dictionaries({}, optional={field.name: fitting(field.type) for field in kind})
    if pa.types.is_list(kind):
        return st.lists(fitting(kind.value_type), max_size=3)
    if pa.types.is_map(kind):
        return st.dictionaries(NAMES, fitting(kind.item_type), max_size=3)
    if pa.types.is_decimal128(kind):
        return decimals(kind) | st.just(0) | st.just(-0.0)
    known: dict[pa.DataType, st.SearchStrategy[Any]] = {
        pa.int64(): st.integers(-(2**63), 2**63 - 1),
        pa.int32(): st.integers(-(2**31), 2**31 - 1),
        pa.float64(): FLOATS | st.integers(-(2**53), 2**53) | st.just(2**60),
        pa.bool_(): st.booleans(),
        pa.string(): VALUES,
        pa.date32(): st.dates().map(date.isoformat),
        pa.timestamp("us", tz="UTC"): st.builds(iso_text, MOMENTS, OFFSETS, st.sampled_from("Tt "))
        | st.dates().map(date.isoformat),
        pa.binary(): st.binary(max_size=5).map(lambda raw: base64.b64encode(raw).decode()),
    }
    return known[kind]


def fitting_records(schema: pa.Schema) -> st.SearchStrategy[list[dict[str, Any]]]:
    fields = {field.name: fitting(field.type) for field in schema}
    return st.lists(st.fixed_dictionaries({}, optional=fields), max_size=6)


def mostly_fitting(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Values that fit, with others at every height among them."""
    if pa.types.is_struct(kind):
        inner: Any = st.fixed_dictionaries(
            {}, optional={field.name: mostly_fitting(field.type) for field in kind}
        )
        inner = st.tuples(inner, st.dictionaries(NAMES, LEAF_VALUES, max_size=1)).map(
            lambda two: {**two[1], **two[0]}
        )
    elif pa.types.is_list(kind):
        inner = st.lists(mostly_fitting(kind.value_type), max_size=3)
    elif pa.types.is_map(kind):
        inner = st.dictionaries(NAMES, mostly_fitting(kind.item_type), max_size=3)
    else:
        inner = fitting(kind)
    return inner | inner | inner | VALUES


def mixed_records(schema: pa.Schema) -> st.SearchStrategy[list[dict[str, Any]]]:
    fields = {field.name: mostly_fitting(field.type) for field in schema}
    return st.lists(
        st.tuples(st.fixed_dictionaries({}, optional=fields), st.dictionaries(NAMES, VALUES, max_size=1)).map(
            lambda two: {**two[1], **two[0]}
        ),
        max_size=6,
    )
