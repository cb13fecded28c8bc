"""Shapes for the tests of evolution: written short, drawn at random, and filled with values."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from hakiri.pipelines.evolution import TableShape
from hakiri.pipelines.evolution.forms import list_of

INT8, INT16, INT32, INT64 = pa.int8(), pa.int16(), pa.int32(), pa.int64()
FLOAT, DOUBLE, TEXT, BINARY = pa.float32(), pa.float64(), pa.string(), pa.binary()
DATE, WALL, MOMENT = pa.date32(), pa.timestamp("us"), pa.timestamp("us", tz="UTC")

DECIMALS = [pa.decimal128(*digits) for digits in ((3, 0), (7, 0), (9, 2), (15, 0), (20, 0), (38, 10))]
NUMBERS = [INT8, INT16, INT32, INT64, FLOAT, DOUBLE, *DECIMALS]
SCALARS = st.sampled_from(
    [pa.bool_(), *NUMBERS, TEXT, BINARY, DATE, WALL, MOMENT, pa.duration("us"), pa.time64("us")]
)
SOME, MOST = st.booleans(), st.integers(0, 9).map(bool)
MOMENTS = [datetime(1, 1, 1, tzinfo=UTC), datetime(2026, 1, 31, 23, 59, 59, 999_999, tzinfo=UTC)]
NAMES = st.sampled_from(["a", "b", "c", "d", "e"])


def nested(inner: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    structs = st.dictionaries(NAMES, inner, min_size=1, max_size=3).map(
        lambda some: pa.struct(list(some.items()))
    )
    maps = inner.map(lambda value: pa.map_(TEXT, value))
    return st.one_of(structs, inner.map(list_of), maps)


TYPES = st.recursive(SCALARS, nested, max_leaves=4)


@st.composite
def shapes(draw: st.DrawFn) -> TableShape:
    """Up to five columns, with a key of some of them."""
    columns = draw(st.dictionaries(NAMES, TYPES, min_size=1))
    key = draw(st.sets(st.sampled_from(sorted(columns)), max_size=2))
    return TableShape(schema=pa.schema(list(columns.items())), primary_key=tuple(sorted(key)))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[TableShape, TableShape]:
    """A table, and something like it: some types are others, some columns are gone, and some are new."""
    stored = draw(shapes())
    columns = {
        field.name: draw(relatives(field.type))
        for field in stored.schema
        if draw(SOME) or field.name in stored.primary_key
    }
    columns |= draw(st.dictionaries(NAMES.map("{}_new".format), TYPES, max_size=2))
    key = stored.primary_key if draw(MOST) else ()
    return stored, TableShape(schema=pa.schema(list(columns.items())), primary_key=key)


@st.composite
def relatives(draw: st.DrawFn, kind: pa.DataType) -> pa.DataType:
    """Mostly the type itself or one that can meet it, now and then any other."""
    if not draw(MOST):
        return draw(TYPES)
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, draw(relatives(field.type))) for field in kind])
    if pa.types.is_list(kind):
        return list_of(draw(relatives(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, draw(relatives(kind.item_type)))
    return draw(st.sampled_from(NUMBERS)) if kind in NUMBERS else kind


def shape(key: str = "", **columns: pa.DataType | pa.Field) -> TableShape:
    """`shape("id", id=INT64, note=TEXT)`; the key's columns are separated by blanks."""
    fields = [
        kind.with_name(name) if isinstance(kind, pa.Field) else pa.field(name, kind)
        for name, kind in columns.items()
    ]
    return TableShape(schema=pa.schema(fields), primary_key=tuple(key.split()))


def was_called(name: str, kind: pa.DataType) -> pa.Field:
    """A column that comes in and says what it was called before."""
    return pa.field("", kind, metadata={"hakiri.renamed_from": name})


def extremes(kind: pa.DataType) -> list[Any]:
    """Values at the ends of a type, where a loss would show."""
    if pa.types.is_struct(kind):
        parts = {field.name: extremes(field.type) for field in kind}
        count = max(map(len, parts.values()))
        return [{name: values[at % len(values)] for name, values in parts.items()} for at in range(count)]
    if pa.types.is_list(kind):
        return [extremes(kind.value_type), []]
    if pa.types.is_map(kind):
        keys, values = extremes(kind.key_type), extremes(kind.item_type)
        return [[(key, values[at % len(values)]) for at, key in enumerate(keys)], []]
    return _scalar_extremes(kind)


def _scalar_extremes(kind: pa.DataType) -> list[Any]:
    if pa.types.is_integer(kind):
        limit = 2 ** (kind.bit_width - 1)
        return [-limit, -1, 0, limit - 1]
    if pa.types.is_decimal(kind):
        most, least = ((sign, (9,) * kind.precision, -kind.scale) for sign in (0, 1))
        return [Decimal(least), Decimal((0, (0,), -kind.scale)), Decimal(most)]
    if pa.types.is_float32(kind):
        return [-0.5, 0.0, float(2**24 - 1), 2.0**-149, (2 - 2.0**-23) * 2.0**127]
    known: dict[pa.DataType, list[Any]] = {
        pa.bool_(): [True, False],
        DOUBLE: [-0.1, 0.0, 5e-324, 1.7976931348623157e308],
        TEXT: ["", "12", "ä\x00😀"],
        BINARY: [b"", b"\xff\x00"],
        DATE: [date(1, 1, 1), date(1970, 1, 1), date(9999, 12, 31)],
        WALL: [moment.replace(tzinfo=None) for moment in MOMENTS],
        MOMENT: MOMENTS,
        pa.duration("us"): [timedelta(microseconds=-1), timedelta(days=10_000)],
        pa.time64("us"): [time(0), time(23, 59, 59, 999_999)],
    }
    return known[kind]
