"""Floats in keys: all NaN are one value and both zeros another, for readers and for compactions alike."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.compaction.bench import Bench
from tests.store.workshop import ORDERS

from hakiri.compaction.matching import Wanted
from hakiri.compaction.ordering import newest_of_each, quantiles
from hakiri.compaction.recipes import TableLayout

NAN = float("nan")
KINDS = [pa.float32(), pa.float64()]


def bits_of_nan(kind: pa.DataType) -> pa.Array:
    """NaN with several signs and payloads."""
    bits = {32: [0x7FC00000, 0xFFC00000, 0x7FC00005], 64: [0x7FF8 << 48, 0xFFF8 << 48, (0x7FF8 << 48) + 5]}
    unsigned = {32: np.uint32, 64: np.uint64}[kind.bit_width]
    return pa.array(np.array(bits[kind.bit_width], unsigned).view(kind.to_pandas_dtype()), kind)


def told(rows: list[tuple[Any, ...]]) -> list[str]:
    return sorted(map(str, rows))


def seen(bench: Bench) -> list[str]:
    return told([tuple(value + 0 if value == 0 else value for value in row) for row in bench.rows()])


def stored_rows(bench: Bench, paths: list[str]) -> int:
    data = bench.workshop.layout.data_folder(ORDERS)
    return sum(pq.read_metadata(data / path).num_rows for path in paths)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_newest_of_rows_whose_keys_differ_in_their_bits_alone_is_kept(kind: pa.DataType) -> None:
    keys = pa.concat_arrays([bits_of_nan(kind), pa.array([-0.0, 0.0, None, 1.5, None], kind)])
    rows = pa.table({"key": keys, "nth": range(8)})

    assert newest_of_each(rows, ("key",), ("nth",)).tolist() == [4, 6, 2, 7]
    assert quantiles(pa.table({"key": bits_of_nan(kind)}), ("key",), 3).num_rows == 1


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_keys_are_found_whatever_the_bits_of_their_floats_are(kind: pa.DataType) -> None:
    sought = pa.table({"a": pa.concat_arrays([bits_of_nan(kind)[:1], pa.array([0.0], kind)])})
    rows = pa.table({"a": pa.concat_arrays([bits_of_nan(kind), pa.array([-0.0, 0.0, 1.5, None], kind)])})

    assert Wanted(sought).found_in(rows).tolist() == [True] * 5 + [False] * 2


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("key", [("lat",), ("lat", "lon"), ("lon", "lat")], ids=",".join)
@pytest.mark.spec("HC-014")
@pytest.mark.spec("HC-030")
def test_a_row_with_nan_in_its_key_stays_replaced_and_deleted_when_it_is_folded(
    bench: Bench, kind: pa.DataType, key: tuple[str, ...]
) -> None:
    schema = pa.schema([("lat", kind), ("lon", kind), ("nth", pa.int64())])
    for turn, lat in enumerate((NAN, -NAN, NAN)):
        bench.land([{"lat": lat, "lon": 1.0, "nth": turn}, {"lat": 2.0, "lon": -0.0}], schema, *key)
    bench.land([{"lat": 2.0, "lon": 0.0, "nth": 9}], schema, *key)
    before = seen(bench)

    bench.compacted()

    assert seen(bench) == before == told([(NAN, 1.0, 2), (2.0, 0.0, 9)])

    bench.land([{"lat": -NAN, "lon": 1.0, "_op": "delete"}], schema, *key)
    assert seen(bench) == told([(2.0, 0.0, 9)])
    bench.compacted()
    assert seen(bench) == told([(2.0, 0.0, 9)])


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(
    "laid_out", [TableLayout(), TableLayout(cluster_by=("note",))], ids=["by key", "by another column"]
)
@pytest.mark.spec("HC-030")
def test_folds_in_ranges_and_merges_know_a_key_whatever_the_bits_of_its_floats_are(
    bench: Bench, kind: pa.DataType, laid_out: TableLayout
) -> None:
    chance = random.Random(str(kind))
    schema = pa.schema([("a", kind), ("b", kind), ("note", pa.string())])

    def some(count: int) -> list[dict[str, Any]]:
        return [
            {
                "a": chance.choice([NAN, -NAN, 0.0, -0.0, *range(20)]),
                "b": chance.choice([NAN, 0.0, -0.0, *range(50)]),
                "note": f"{chance.random()}",
                "_op": chance.choice(["upsert", "upsert", "delete"]),
            }
            for _ in range(count)
        ]

    for count in (3000, 100, 5, 1):
        bench.land(some(count), schema, "a", "b")
        before = seen(bench)

        manifest = bench.compacted(laid_out, bytes_a_range=20_000)

        assert seen(bench) == before
        assert len(before) == stored_rows(bench, [file.path for file in manifest.files])
        assert len(manifest.files) > 1
