"""What DuckDB leaves unread of a snapshot, because its layout says that it holds nothing of interest."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.compaction.bench import Bench
from tests.store.workshop import ORDERS

from hakiri.compaction.layouts import layout_of_table
from hakiri.compaction.partitions import ByValue
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.sidecars.blooms import Blooms
from hakiri.core.ids import IndexId
from hakiri.manifest import load_project

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("tenant", pa.string()),
        ("author", pa.string()),
        ("moment", pa.timestamp("us", "UTC")),
    ]
)
START = datetime(2026, 1, 1, tzinfo=UTC)
SCANNED = re.compile(r"Row Groups Scanned: (\d+) / (\d+)")
ROWS = 1200


def filled(bench: Bench) -> Bench:
    rows: list[dict[str, Any]] = [
        {
            "id": n * 7919 % ROWS,
            "tenant": f"tenant-{n % 6}",
            "author": f"author-{n * 31 % 997}",
            "moment": START + timedelta(hours=n),
        }
        for n in range(ROWS)
    ]
    for start in range(0, ROWS, 300):
        bench.land(rows[start : start + 300], SCHEMA, "id")
    return bench


def groups_read(bench: Bench, where: str) -> tuple[int, int]:
    """How many row groups a stock DuckDB reads for a filter on the view, and how many there are."""
    with duckdb.connect(str(bench.workshop.layout.duck_db), read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        ((_, plan),) = connection.execute(f"EXPLAIN ANALYZE SELECT * FROM orders WHERE {where}").fetchall()
    found = SCANNED.search(plan)
    assert found is not None, plan
    return int(found[1]), int(found[2])


@pytest.mark.spec("HC-035")
@pytest.mark.spec("HC-061")
def test_a_filter_on_columns_that_rows_are_sorted_by_skips_row_groups(bench: Bench) -> None:
    filled(bench).compacted(TableLayout(cluster_by=("tenant", "moment")), bytes_a_range=20_000)

    few, every = groups_read(bench, "tenant = 'tenant-3' AND moment > '2026-01-20'")
    none, _ = groups_read(bench, "tenant = 'zzz'")
    author, _ = groups_read(bench, "author >= 'author-5'")

    assert every > 3
    assert 0 < few <= every // 2
    assert none == 0
    assert author == every


@pytest.mark.spec("HC-036")
@pytest.mark.spec("HC-050")
@pytest.mark.spec("HC-051")
@pytest.mark.parametrize(
    ("by", "where", "partition"),
    [
        (ByValue("moment", "month"), "moment >= '2026-02-01' AND moment < '2026-02-28'", "2026-02"),
        (ByValue("tenant"), "tenant = 'tenant-4'", "tenant-4"),
    ],
    ids=["month", "tenant"],
)
def test_a_filter_on_the_column_of_partitions_reads_the_files_of_one(
    bench: Bench, by: ByValue, where: str, partition: str
) -> None:
    manifest = filled(bench).compacted(TableLayout(partitioning=by))

    labels = [file.partition for file in manifest.files]
    assert len(labels) == len(set(labels)) > 1
    assert partition in labels
    assert groups_read(bench, where) == (1, len(labels))


@pytest.mark.spec("HC-060")
def test_an_index_of_kind_bloom_skips_row_groups_without_the_value(bench: Bench) -> None:
    without = filled(bench).compacted(bytes_a_range=20_000)
    assert groups_read(bench, "author = 'author-5'") == (len(without.files), len(without.files))

    index = Blooms(index=IndexId("bloom-author"), columns=("author",))
    manifest = bench.compacted(TableLayout(indexes=(index,)), bytes_a_range=20_000, is_full=True)

    data = bench.workshop.layout.data_folder(ORDERS)
    probe = "SELECT NOT bool_and(bloom_filter_excludes) FROM parquet_bloom_probe(?, 'author', 'author-5')"
    probes = [
        duckdb.execute(probe, [str(data / file.path)]).fetchall() == [(True,)] for file in manifest.files
    ]
    holding = ["author-5" in pq.read_table(data / file.path)["author"].to_pylist() for file in manifest.files]
    assert probes == holding
    assert groups_read(bench, "author = 'author-5'") == (sum(holding), len(holding))
    assert 0 < sum(holding) < len(holding)


@pytest.mark.spec("HC-052")
@pytest.mark.parametrize("pattern", ["recent_30d", "by_tenant"])
def test_how_a_table_is_read_becomes_its_partitions(bench: Bench, pattern: str) -> None:
    project = bench.workshop.layout.root.parent
    (project / "hakiri.toml").write_text(
        '[project]\nname = "shop"\n\n[[pipeline]]\nid = "orders"\n'
        'source = { connector = "files", config = { path = "data/*.csv" } }\n'
        '[[pipeline.tables]]\nname = "orders"\n[pipeline.tables.compaction]\n'
        f'cluster_by = ["moment"]\naccess_pattern = "{pattern}"\n'
    )
    now = START + timedelta(hours=ROWS)
    laid_out = layout_of_table(load_project(project), ORDERS, now)

    manifest = filled(bench).compacted(laid_out)

    data = bench.workshop.layout.data_folder(ORDERS)
    wanted = pattern if pattern == "recent_30d" else "tenant-2"
    (pulled,) = [data / file.path for file in manifest.files if file.partition == wanted]
    recent = "moment >= TIMESTAMPTZ '2026-01-21 00:00:00+00'"
    where = recent if pattern == "recent_30d" else "tenant = 'tenant-2'"
    rows = bench.workshop.query(f"SELECT id FROM orders WHERE {where} ORDER BY id")
    assert 0 < len(rows) < ROWS
    assert sorted(pq.read_table(pulled)["id"].to_pylist()) == [row[0] for row in rows]
