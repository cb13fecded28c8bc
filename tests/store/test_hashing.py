"""The content hash is what the page about the format says, for every row that can be stored."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.random_rows import batches

from hakiri.store.hashing import content_hash, content_hashes, content_sum, hashed


def hash_of(canonical: str) -> bytes:
    return hashlib.sha256(canonical.encode()).digest()[:16]


def one_row(**columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


@pytest.mark.parametrize(
    ("row", "canonical"),
    [
        ({"id": 7, "name": "Ada"}, "2:id=7;4:name=3:Ada;"),
        ({"name": "Ada", "id": 7}, "2:id=7;4:name=3:Ada;"),
        ({"id": 7, "gone": None}, "2:id=7;"),
        ({"ä": "ö", "b": ""}, "1:b=0:;2:ä=2:ö;"),
        ({"x": True, "y": False}, "1:x=true;1:y=false;"),
        ({"x": 7.0, "y": 0.5, "z": -0.0}, "1:x=7;1:y=3fe0000000000000;1:z=0;"),
        ({"x": float("nan"), "y": float("-inf")}, "1:x=7ff8000000000000;1:y=fff0000000000000;"),
        ({"x": 2.0**53}, "1:x=4340000000000000;"),
        ({"x": Decimal("10.50"), "y": Decimal(100)}, "1:x=10.5;1:y=100;"),
        ({"at": datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC)}, "2:at=1000005;"),
        ({"s": {"b": 1, "a": "x", "c": None}}, '1:s=17:{"a":"x","b":"1"};'),
        ({"l": [1, None, 2]}, '1:l=14:["1",null,"2"];'),
        ({"m": [("b", 2), ("a", None)]}, '1:m=22:[["a",null],["b","2"]];'),
        ({"l": [], "x": [b"\x01\xff"]}, '1:l=2:[];1:x=8:["01ff"];'),
        ({"id": 7, "_op": "delete", "_seq": 9}, "2:id=7;"),
        ({}, ""),
    ],
)
@pytest.mark.spec("HP-146")
def test_a_row_has_the_hash_of_its_canonical_form(row: dict[str, Any], canonical: str) -> None:
    assert content_hash(row) == hash_of(canonical)


@settings(max_examples=80, deadline=None)
@given(rows=batches())
@pytest.mark.spec("HP-146")
def test_a_batch_has_the_hashes_of_its_rows(rows: pa.RecordBatch) -> None:
    one_by_one = [content_hash(row) for row in rows.to_pylist()]

    assert content_hashes(rows).to_pylist() == one_by_one


def test_a_wider_column_keeps_the_hash() -> None:
    narrow = one_row(id=pa.array([7, -1], pa.int32()), x=pa.array([1.5, 3.0], pa.float32()))
    wide = one_row(id=pa.array([7, -1], pa.int64()), x=pa.array([1.5, 3.0], pa.float64()))
    wider = one_row(id=pa.array([7, -1], pa.int64()).cast(pa.float64()), x=wide.column(1))

    assert content_hashes(narrow) == content_hashes(wide) == content_hashes(wider)


def test_a_new_column_keeps_the_hashes_of_rows_without_it() -> None:
    old = one_row(id=pa.array([7]), s=pa.array([{"a": 1}]))
    new = one_row(id=pa.array([7]), new=pa.nulls(1, pa.string()), s=pa.array([{"a": 1, "b": None}]))

    assert content_hashes(new) == content_hashes(old)


def test_moments_outside_of_pythons_calendar_have_a_hash() -> None:
    far = pa.array([2**62, -(2**62)], pa.timestamp("us", "UTC"))

    assert content_hashes(one_row(at=far)).to_pylist() == [
        hash_of(f"2:at={2**62};"),
        hash_of(f"2:at={-(2**62)};"),
    ]


def test_other_layouts_of_the_same_values_have_the_same_hashes() -> None:
    plain = one_row(name=pa.array(["Ada", None, "Bo"]), raw=pa.array([b"a", b"", None]))
    other = one_row(name=plain.column(0).dictionary_encode(), raw=plain.column(1).cast(pa.large_binary()))

    assert content_hashes(other) == content_hashes(plain)


def test_many_rows_are_hashed_in_steps() -> None:
    count = 40_000
    rows = one_row(id=pa.array(range(count)), name=pa.array([None, "x"] * (count // 2)))

    found = hashed(rows)

    assert found.hashes[0].as_py() == hash_of("2:id=0;")
    assert found.hashes[count - 1].as_py() == hash_of(f"2:id={count - 1};4:name=1:x;")
    assert found.sizes[:2].tolist() == [len("2:id=0;"), len("2:id=1;4:name=1:x;")]


def test_rows_without_any_value_all_have_the_hash_of_nothing() -> None:
    assert content_hashes(one_row(id=pa.nulls(2, pa.int64()))).to_pylist() == [hash_of("")] * 2


def test_no_rows_have_no_hashes() -> None:
    none = one_row(id=pa.array([], pa.int64()))

    assert len(content_hashes(none)) == 0
    assert content_sum(content_hashes(none)) == 0


@given(raw=st.lists(st.binary(min_size=16, max_size=16), max_size=5), skipped=st.integers(0, 2))
def test_the_sum_is_that_of_the_hashes_as_numbers(raw: list[bytes], skipped: int) -> None:
    hashes = pa.array(raw, pa.binary(16))[skipped:]

    assert content_sum(hashes) == sum(int.from_bytes(one) for one in raw[skipped:]) % 2**128
