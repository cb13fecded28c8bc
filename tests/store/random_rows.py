"""Random types, columns and rows of every kind that the store keeps."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)
ODD_FLOATS = (
    float("nan"),
    -float("nan"),
    float("inf"),
    float("-inf"),
    0.0,
    -0.0,
    1.0,
    2.0**53,
    -(2.0**53),
    0.1,
    5e-324,
)
# DuckDB 2.0 writes some powers of two wrong, as 2.0**82 for 2.0**81.
_WRONG_IN_DUCKDB = (81, 91, 807)
_YEARS = (datetime.fromisoformat("0001-01-02"), datetime.fromisoformat("9999-12-30"))


def _whole(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    digits = st.integers(-(10**precision) + 1, 10**precision - 1)
    return digits.map(lambda number: Decimal(number).scaleb(-scale, _WIDE))


_WIDE = Context(prec=80)
LEAVES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int8(): _whole(8),
    pa.int16(): _whole(16),
    pa.int32(): _whole(32),
    pa.int64(): _whole(64),
    pa.float32(): st.floats(width=32) | st.sampled_from(ODD_FLOATS[:7]),
    pa.float64(): st.floats() | st.sampled_from(ODD_FLOATS) | st.integers(-1000, 1000).map(float),
    pa.string(): st.text(st.characters(exclude_categories=("Cs",)), max_size=12),
    pa.binary(): st.binary(max_size=12),
    pa.date32(): st.dates(date(1, 1, 1), date(9999, 12, 31)),
    pa.timestamp("us"): st.datetimes(*_YEARS),
    pa.timestamp("us", "UTC"): st.datetimes(*_YEARS, timezones=st.just(UTC)),
    pa.time64("us"): st.times(time(0), time(23, 59, 59, 999999)),
    pa.duration("us"): st.timedeltas(timedelta(days=-9999), timedelta(days=9999)),
    pa.decimal128(9, 2): _decimals(9, 2),
    pa.decimal128(38, 0): _decimals(38, 0),
    pa.decimal128(38, 20): _decimals(38, 20),
}
KEYS = (pa.int32(), pa.string(), pa.date32(), pa.bool_())


def types() -> st.SearchStrategy[pa.DataType]:
    """Any type, nested ones too."""
    leaves = st.sampled_from(list(LEAVES)) | st.just(pa.null())
    return st.recursive(
        leaves,
        lambda inner: (
            inner.map(lambda kind: pa.list_(pa.field("element", kind)))
            | st.tuples(st.sampled_from(KEYS), inner).map(lambda pair: pa.map_(*pair))
            | st.dictionaries(NAMES, inner, min_size=1, max_size=3).map(
                lambda fields: pa.struct(list(fields.items()))
            )
        ),
        max_leaves=4,
    )


def values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Values of a type as `to_pylist` gives them, NULL among them."""
    if pa.types.is_null(kind):
        return st.none()
    if pa.types.is_struct(kind):
        fields = {field.name: values(field.type) for field in kind.fields}
        return st.none() | st.fixed_dictionaries(fields)
    if pa.types.is_map(kind):
        keys = values(kind.key_type).filter(lambda key: key is not None)
        pairs = st.dictionaries(keys, values(kind.item_type), max_size=3)
        return st.none() | pairs.map(lambda pairs: list(pairs.items()))
    if pa.types.is_list(kind):
        return st.none() | st.lists(values(kind.value_type), max_size=3)
    return st.none() | LEAVES[kind]


def floats_of_every_magnitude(kind: pa.DataType) -> pa.Array:
    """Floats that are hard to write: many digits, few digits, powers of two, ties, and the largest."""
    chance = random.Random(7)
    most, least = (38, -37) if pa.types.is_float32(kind) else (307, -307)
    powers = [2.0**power for power in range(3 * least, 3 * most) if power not in _WRONG_IN_DUCKDB]
    few = [float(f"{chance.randrange(1, 2000)}e{power - 3}") for power in range(least, most)]
    many = [chance.uniform(1, 10) * 10.0**power for power in range(least, most) for _ in range(3)]
    ties = [chance.randrange(2**24) / 8 for _ in range(200)] + [
        float(chance.randrange(2**60)) for _ in range(200)
    ]
    return pa.array([*powers, *few, *many, *ties, *ODD_FLOATS], pa.float64()).cast(kind, safe=False)


@st.composite
def batches(draw: st.DrawFn, most_rows: int = 4) -> pa.RecordBatch:
    """Rows of a random schema; often a slice of more, as batches are."""
    schema = pa.schema(list(draw(st.dictionaries(NAMES, types(), min_size=1, max_size=4)).items()))
    count = draw(st.integers(1, most_rows))
    columns = [
        pa.array(draw(st.lists(values(field.type), min_size=count, max_size=count)), field.type)
        for field in schema
    ]
    whole = pa.RecordBatch.from_arrays(columns, schema=schema)
    return whole.slice(draw(st.integers(0, count - 1)))
