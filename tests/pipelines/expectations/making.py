"""Expectations as a manifest would give them, and the columns of a small shop."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from hakiri.manifest import ExpectationSpec, parse_pipeline
from hakiri.pipelines.expectations import Expectations, compile_expectations

COLUMNS = pa.schema(
    {
        "id": pa.int64(),
        "email": pa.string(),
        "state": pa.string(),
        "price": pa.float64(),
        "weight": pa.float32(),
        "amount": pa.decimal128(10, 2),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "local": pa.timestamp("us"),
        "is_paid": pa.bool_(),
        "tags": pa.list_(pa.string()),
        "address": pa.struct({"city": pa.string()}),
        "notes": pa.map_(pa.string(), pa.string()),
        "a.b`c": pa.int64(),
    }
)


def expected(*expectations: dict[str, Any]) -> tuple[ExpectationSpec, ...]:
    table = {"name": "orders", "expect": list(expectations)}
    pipeline = {"id": "shop", "source": {"connector": "sql"}, "tables": [table]}
    return parse_pipeline(pipeline).tables[0].expect


def compiled(
    *expectations: dict[str, Any], rows: pa.Schema = COLUMNS, stored: pa.Schema | None = None
) -> Expectations:
    made = compile_expectations(expected(*expectations), table="orders", rows=rows, stored=stored)
    assert made is not None
    return made
