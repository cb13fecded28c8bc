"""A plan tells of layouts that a table cannot have, before a compaction is refused for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.compaction.bench import Bench
from tests.store.workshop import open_workshop
from tests.support.past import Shop, pipeline

from hakiri.manifest import load_project
from hakiri.pipelines.layout_cautions import stored_misfits

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("is_paid", pa.bool_()),
        ("tags", pa.list_(pa.string())),
        ("note", pa.string()),
        ("at", pa.timestamp("us")),
    ]
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with open_workshop(tmp_path / "store") as workshop:
        yield Bench(workshop)


def of_store(bench: Bench, root: Path, said: str) -> list[str]:
    Shop(root).write(pipeline(table=f'{{ name = "orders", {said} }}'))
    return list(stored_misfits(bench.workshop.catalog, load_project(root).pipeline("orders")))


NO_TIMES = "needs dates or moments, and its values are of type"
MONTHLY = 'compaction = { partition_by = "month(note)" }'
BY_TAGS = 'compaction = { access_pattern = "by_tags" }'
RECENT = 'compaction = { access_pattern = "recent_90d", cluster_by = ["id", "at"] }'
SORTED = 'compaction = { cluster_by = ["id", "nope"] }'
FILTERED = 'indexes = [{ kind = "bloom", on = "is_paid" }]'


@pytest.mark.parametrize(
    ("said", "why", "change"),
    [
        (
            MONTHLY,
            f"partitioned by column `note`: `month(note)` {NO_TIMES} string",
            "`partition_by`",
        ),
        (BY_TAGS, "partitioned by column `tags`: its values have no order", "`access_pattern`"),
        (
            RECENT,
            f"partitioned by column `id`: `recent_90d` {NO_TIMES} int64",
            "`cluster_by`, which begins with it, or `access_pattern`",
        ),
        (SORTED, "sorted by column `nope`: it has no such column", "`cluster_by`"),
        (
            FILTERED,
            "filtered by column `is_paid`: a filter over values that are true or false finds nothing",
            "the index of kind `bloom`",
        ),
    ],
)
def test_a_layout_that_the_stored_columns_do_not_allow_is_told_with_what_to_change(
    bench: Bench, tmp_path: Path, said: str, why: str, change: str
) -> None:
    bench.land([{"id": 1}], SCHEMA, "id")

    (told,) = of_store(bench, tmp_path, said)

    assert told == f"table `orders` will not be compacted, because it cannot be {why}; change {change}"


@pytest.mark.parametrize(
    "said",
    [
        "compaction = {}",
        'compaction = { partition_by = "day(at)", cluster_by = ["note", "_ingested_at"] }',
        'compaction = { access_pattern = "recent_90d" }, indexes = [{ kind = "bloom", on = ["note", "at"] }]',
    ],
)
def test_nothing_is_told_of_a_layout_that_a_table_can_have(bench: Bench, tmp_path: Path, said: str) -> None:
    assert of_store(bench, tmp_path, said) == []
    bench.land([{"id": 1}], SCHEMA, "id")

    assert of_store(bench, tmp_path, said) == []
