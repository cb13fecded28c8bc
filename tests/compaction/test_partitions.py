"""Partitions by values of any type, and what cannot be partitioned, sorted or filtered at all."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from tests.compaction.bench import Bench

from hakiri.compaction.errors import ColumnNotIndexable, ColumnsNotSortable
from hakiri.compaction.partitions import ByAge, ByValue, Partitioning
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.sidecars.blooms import Blooms
from hakiri.core.ids import IndexId

SINCE = datetime(2026, 1, 1, 5, 6, 7, 123456, tzinfo=UTC)
LONG_COLUMN = "tenant_identifier_of_the_customer_organisation_that_owns_it"


def landed(bench: Bench, kind: pa.DataType, *values: Any, column: str = "c") -> None:
    schema = pa.schema([("id", pa.int64()), (column, kind)])
    bench.land([{"id": number, column: value} for number, value in enumerate(values)], schema, "id")


def partitions(bench: Bench, by: Partitioning) -> list[str | None]:
    """Those of the table, in which nothing may change."""
    before = bench.rows()
    manifest = bench.compacted(TableLayout(partitioning=by), is_full=True)
    assert bench.rows() == before
    return [file.partition for file in manifest.files]


@pytest.mark.spec("HC-051")
def test_bytes_are_partitioned_by_their_hexadecimal_digits(bench: Bench) -> None:
    landed(bench, pa.binary(), b"\xff\xfe", b"a", b"", None)

    assert partitions(bench, ByValue("c")) == ["", "61", "fffe", "none"]


@pytest.mark.parametrize("by", [ByValue("c", "month"), ByAge("c", "recent_90d", SINCE)], ids=["unit", "age"])
def test_a_column_that_has_only_been_null_is_partitioned_by_time(bench: Bench, by: Partitioning) -> None:
    landed(bench, pa.null(), None, None)

    assert partitions(bench, by) == ["none" if isinstance(by, ByValue) else "older"]


def test_dates_that_moments_do_not_reach_are_partitioned_by_time() -> None:
    days = pa.array([2**31 - 1, 0, None], pa.int32()).cast(pa.date32())
    rows = pa.record_batch({"c": days})

    assert ByValue("c", "year").labels(rows).to_pylist()[1:] == ["1970", "none"]
    assert ByAge("c", "recent_90d", SINCE).labels(rows).to_pylist() == ["recent_90d", "older", "older"]


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_what_is_recent_is_told_to_the_microsecond(zone: str | None) -> None:
    moments = pa.array([SINCE.replace(microsecond=at) for at in (123455, 123456)], pa.timestamp("us", "UTC"))
    rows = pa.record_batch({"c": moments.cast(pa.timestamp("us", zone))})

    assert ByAge("c", "recent_90d", SINCE).labels(rows).to_pylist() == ["older", "recent_90d"]


@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.time64("us"), pa.bool_()], ids=str)
@pytest.mark.parametrize("by", [ByValue("c", "month"), ByAge("c", "recent_90d", SINCE)], ids=["unit", "age"])
def test_a_column_without_times_is_not_partitioned_by_time(
    bench: Bench, kind: pa.DataType, by: Partitioning
) -> None:
    landed(bench, kind, None)

    with pytest.raises(ColumnsNotSortable, match=r"by column `c`: .* needs dates or moments") as refused:
        bench.compact(TableLayout(partitioning=by))

    assert str(refused.value).endswith(
        f"`{by.text}` needs dates or moments, and its values are of type {kind}"
    )
    assert (
        refused.value.hint
        == "change `cluster_by`, `partition_by` or `access_pattern` of the table in the manifest"
    )


def test_a_bloom_filter_over_flags_is_refused(bench: Bench) -> None:
    landed(bench, pa.bool_(), True)

    with pytest.raises(
        ColumnNotIndexable, match="over column `c`: a filter over values that are true or false"
    ):
        bench.compact(TableLayout(indexes=(Blooms(index=IndexId("b"), columns=("c",)),)))


@pytest.mark.parametrize(
    ("label", "folder"),
    [
        ("a", "tenant=a"),
        ("", "tenant=%00"),
        ("a b/c.d=é", "tenant=a b%2Fc%2Ed%3D%C3%A9"),
        ("x" * 200, f"tenant={'x' * 200}"),
    ],
)
def test_a_folder_tells_the_partition(label: str, folder: str) -> None:
    assert ByValue("tenant").folder(label) == folder


def test_a_folder_whose_name_would_be_too_long_ends_in_a_hash_of_all_of_it() -> None:
    labels = ["x" * 300, "x" * 299 + "y", "字" * 30, "字" * 100, "%" * 100]
    columns = ["c", LONG_COLUMN, "字" * 40]

    folders = [ByValue(column).folder(label) for column, label in product(columns, labels)]

    assert len({*folders}) == len(folders)
    assert all(len(folder.encode()) <= 255 for folder in folders)
    assert all("=x" in folder or "=%" in folder for folder in folders)


def test_a_table_is_partitioned_by_long_texts_in_a_column_with_a_long_name(bench: Bench) -> None:
    landed(bench, pa.string(), "字" * 30, "字" * 29 + "x", None, column=LONG_COLUMN)

    assert len(partitions(bench, ByValue(LONG_COLUMN))) == 3
    assert len(partitions(bench, ByValue(LONG_COLUMN))) == 3
