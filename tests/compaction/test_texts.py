"""Columns that became text: what readers see is the same before and after a compaction."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from tests.compaction.bench import Bench
from tests.store.random_rows import floats_of_every_magnitude

ID = pa.field("id", pa.int64())
INNER = pa.struct([("a", pa.int64()), ("l", pa.list_(pa.float32()))])


def table(kind: pa.DataType) -> pa.Schema:
    return pa.schema([ID, ("v", kind)])


def rows_of(values: list[Any]) -> list[dict[str, Any]]:
    return [{"id": number, "v": value} for number, value in enumerate(values)]


NESTED = [
    (pa.list_(pa.int64()), [[1, None], [], None]),
    (pa.struct([("a", pa.int64())]), [{"a": 7}, {"a": None}, None]),
    (pa.map_(pa.string(), pa.int64()), [[("x", 1)], [], None]),
    (pa.list_(INNER), [[{"a": 1, "l": [0.1, 1e20]}, None], [{"a": None, "l": None}]]),
    (pa.list_(pa.float64()), [[1e20, 1e-7, -0.0], [float("nan"), float("-inf")]]),
    (pa.list_(pa.binary()), [[b"\xde\xad", None]]),
    (pa.list_(pa.string()), [['"\\\n\x1f', "ü"]]),
    (pa.struct([("took", pa.duration("us"))]), [{"took": timedelta(days=1)}, None]),
]


@pytest.mark.parametrize(("kind", "values"), NESTED, ids=[str(kind) for kind, _ in NESTED])
@pytest.mark.parametrize("target", [pa.string(), pa.binary()], ids=str)
@pytest.mark.parametrize("was_folded", [False, True], ids=["from runs", "from a snapshot"])
@pytest.mark.spec("HC-030")
def test_nested_values_that_became_text_are_folded_as_their_view_shows_them(
    bench: Bench, kind: pa.DataType, values: list[Any], target: pa.DataType, was_folded: bool
) -> None:
    bench.land(rows_of(values), table(kind), "id")
    if was_folded:
        bench.compacted()
    bench.land([{"id": 99, "v": b"x" if target == pa.binary() else "x"}], table(target), "id")
    before = bench.rows()

    bench.compacted()

    assert bench.rows() == before


def test_a_part_of_a_nested_value_that_became_text_is_folded_beside_one_that_was_renamed(
    bench: Bench,
) -> None:
    renamed = pa.field("b", pa.int64(), metadata={"hakiri.was": json.dumps(["a"])})
    old = pa.struct([("a", pa.int64()), ("m", pa.map_(pa.string(), INNER)), ("s", INNER)])
    new = pa.struct([renamed, ("m", pa.map_(pa.string(), pa.string())), ("s", pa.string())])
    inner = {"a": 1, "l": [0.5]}
    bench.land(rows_of([{"a": 1, "m": [("k", inner)], "s": inner}, None]), table(old), "id")
    bench.land([], table(new), "id")
    before = bench.rows()

    bench.compacted()

    text = '{"a":1,"l":[0.5]}'
    assert bench.rows() == before == [(0, {"b": 1, "m": {"k": text}, "s": text}), (1, None)]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_floats_that_became_text_are_folded_as_their_view_shows_them(bench: Bench, kind: pa.DataType) -> None:
    bench.land(rows_of(floats_of_every_magnitude(kind).to_pylist()), table(kind), "id")
    bench.land([], table(pa.string()), "id")
    before = bench.rows()

    bench.compacted()

    assert bench.rows() == before
