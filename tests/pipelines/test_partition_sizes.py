"""A plan tells of partitions that will be too many or too small, without reading a row."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.compaction.bench import Bench
from tests.store.workshop import open_workshop
from tests.support.past import Shop, pipeline

from hakiri.compaction.partitions import ByValue
from hakiri.compaction.recipes import TableLayout
from hakiri.manifest import load_project
from hakiri.pipelines.partition_facts import stored_cautions
from hakiri.pipelines.partition_sizes import (
    SMALL_PARTITION_BYTES,
    PartitionFacts,
    PartitionRule,
    Projection,
    cautions,
    projected,
    spread,
)
from hakiri.store.reading import visible_files

DAILY = PartitionRule(text="day(at)", key="partition_by", column="at", unit="day")
TENANTS = PartitionRule(text="tenant", key="partition_by", column="tenant")
RECENT = PartitionRule(text="recent_90d", key="access_pattern", column=None)
NEW_YEAR = datetime(2025, 1, 1, tzinfo=UTC)
LARGE = 100 << 30


def told(rule: PartitionRule, **facts: Any) -> list[str]:
    return list(cautions("orders", rule, projected(rule, PartitionFacts(**facts))))


@pytest.mark.spec("HC-053")
@pytest.mark.parametrize(("partitions", "is_told"), [(1000, False), (1001, True)])
def test_more_than_a_thousand_partitions_are_many(partitions: int, is_told: bool) -> None:
    highest = NEW_YEAR + timedelta(days=partitions - 1)

    assert bool(told(DAILY, bytes=LARGE, lowest=NEW_YEAR, highest=highest)) is is_told
    assert bool(told(TENANTS, bytes=LARGE, values=partitions)) is is_told


@pytest.mark.spec("HC-053")
@pytest.mark.parametrize(
    ("size", "is_told"), [(SMALL_PARTITION_BYTES, False), (SMALL_PARTITION_BYTES - 1, True)]
)
def test_half_of_the_partitions_below_16_mb_are_small(size: int, is_told: bool) -> None:
    sizes = (1, size, LARGE)

    assert bool(told(TENANTS, bytes=sum(sizes), sizes=sizes)) is is_told
    assert bool(told(RECENT, bytes=2 * size)) is is_told


@pytest.mark.spec("HC-053")
def test_a_warning_says_what_to_do() -> None:
    (many,) = cautions("orders", DAILY, Projection(partitions=3650, median_bytes=None))
    (small,) = cautions("orders", TENANTS, Projection(partitions=3, median_bytes=5_000_000))

    assert many == (
        'table `orders` with `partition_by = "day(at)"` will have 3,650 partitions or more, and 1,000 are '
        "many; partition by `month(at)`, or sort by `cluster_by`"
    )
    assert small == (
        'table `orders` with `partition_by = "tenant"`: half of its partitions will have 5MB or less, and '
        "below 16MB a partition costs more than it saves; take `partition_by` out, and sort by `cluster_by`"
    )


@pytest.mark.parametrize(
    ("unit", "highest", "count"),
    [
        ("year", datetime(2026, 1, 1, tzinfo=UTC), 2),
        ("month", "2026-01-31T23:59:59+00:00", 13),
        ("day", date(2025, 1, 3), 3),
        ("hour", "2025-01-01T23:30:00-02:00", 26),
        ("month", "soon", None),
        ("month", 17, None),
    ],
)
def test_units_are_counted_from_the_first_to_the_last(unit: str, highest: Any, count: int | None) -> None:
    rule = PartitionRule(text="t", key="partition_by", column="at", unit=unit)

    found = projected(rule, PartitionFacts(lowest=NEW_YEAR, highest=highest))

    assert found.partitions == count


def test_nothing_is_told_of_what_nobody_knows() -> None:
    assert told(TENANTS) == told(DAILY) == []


def test_of_many_files_a_few_are_asked_from_first_to_last() -> None:
    names = [f"{number:03d}" for number in range(100)]

    some = spread(names, 16)

    assert (len(set(some)), some[0], some[-1]) == (16, "000", "099")
    assert spread(names[:3], 16) == ("000", "001", "002")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with open_workshop(tmp_path / "store") as workshop:
        yield Bench(workshop)


def of_store(bench: Bench, tmp_path: Path, partition_by: str) -> list[str]:
    table = f'{{ name = "orders", compaction = {{ partition_by = "{partition_by}" }} }}'
    Shop(tmp_path).write(pipeline(table=table))
    spec = load_project(tmp_path).pipeline("orders")
    workshop = bench.workshop
    return list(
        stored_cautions(
            workshop.catalog, spec, lambda table: visible_files(workshop.layout, workshop.catalog, table)
        )
    )


@pytest.mark.spec("HC-053")
def test_footers_and_manifests_of_the_store_tell_how_many_there_are(bench: Bench, tmp_path: Path) -> None:
    schema = pa.schema(
        [("id", pa.int64()), ("s", pa.struct([("a", pa.int64())])), ("at", pa.timestamp("us", "UTC"))]
    )
    assert of_store(bench, tmp_path, "hour(at)") == []
    rows = [{"id": n, "s": {"a": n}, "at": NEW_YEAR + timedelta(days=n)} for n in range(60)]
    bench.land(rows[:30], schema, "id")
    bench.land(rows[30:], schema, "id")

    many, small = of_store(bench, tmp_path, "hour(at)")
    assert "will have 1,417 partitions or more" in many
    assert "half of its partitions will have" in small

    bench.compacted(TableLayout(partitioning=ByValue("at", "day")))
    (small,) = of_store(bench, tmp_path, "day(at)")
    assert "below 16MB a partition costs more than it saves" in small
