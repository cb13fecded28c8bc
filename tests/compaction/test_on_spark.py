"""The same compaction with its tasks on real Spark, and the pipeline going on afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.compaction.bench import SCHEMA, Bench
from tests.store.workshop import open_workshop
from tests.support.counted import CountedSource, manifest, moments
from tests.support.runtime import Lab

from hakiri.compaction.compacting import Compactor
from hakiri.compaction.errors import ValuesWouldBeLost
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.runner import SparkTasks
from hakiri.compaction.runs import CompactionRun
from hakiri.core.ids import NodeId, RunId, TableName
from hakiri.store.publishing import Publisher

pytestmark = pytest.mark.spark


@pytest.mark.spec("HC-030")
@pytest.mark.parametrize("bytes_a_range", [1 << 30, 5000])
def test_spark_does_what_is_done_here(tmp_path: Path, spark: Any, bytes_a_range: int) -> None:
    with open_workshop(tmp_path / "store") as workshop:
        bench = Bench(workshop)
        for start in range(0, 900, 300):
            rows = [
                {"id": number * 7 % 400, "name": f"n{number % 13}"} for number in range(start, start + 300)
            ]
            bench.land(rows, SCHEMA, "id")
        before = bench.rows()

        made = bench.compacted(
            TableLayout(cluster_by=("name",)),
            bytes_a_range=bytes_a_range,
            run_tasks=SparkTasks(lambda: spark),
        )

        assert bench.rows() == before
        assert (made.rows_read, made.rows) == (900, 400)
        assert len(made.files) > 1 or bytes_a_range > 5000


def test_what_a_task_refuses_is_told_as_it_is(tmp_path: Path, spark: Any) -> None:
    with open_workshop(tmp_path / "store") as workshop:
        bench = Bench(workshop)
        bench.land([{"id": 1, "v": 2**53 + 1}], pa.schema([("id", pa.int64()), ("v", pa.int64())]), "id")
        bench.land([{"id": 2, "v": 1.0}], pa.schema([("id", pa.int64()), ("v", pa.float64())]), "id")

        with pytest.raises(ValuesWouldBeLost, match="column `v`"):
            bench.compact(run_tasks=SparkTasks(lambda: spark))


@pytest.mark.spec("HC-011")
@pytest.mark.parametrize("kind", ["monotonic", "snapshot-id"])
def test_a_pipeline_goes_on_after_its_table_was_compacted(
    lab: Lab, source: CountedSource, spark: Any, kind: str
) -> None:
    source.put(moments(60))
    lab.write(manifest(kind, config=', window = "20d"'))
    lab.applied()
    table = TableName("counted_items")
    with lab.catalog() as catalog:
        publisher = Publisher(lab.layout, catalog)
        compactor = Compactor(
            catalog=catalog,
            layout=lab.layout,
            clock=lab.clock,
            node=NodeId("node-2"),
            run_tasks=SparkTasks(lambda: spark),
            publish=lambda name: publisher.publish([name]),
        )
        work = CompactionRun(compactor=compactor, table=table, laid_out=TableLayout())
        assert work.work(RunId("run-1")) is not None
        assert work.work(RunId("run-2")) is None

    rows = "SELECT id, part, v FROM counted_items ORDER BY id"
    assert lab.query(rows) == source.rows()
    source.put(
        [
            (7, "2025-03-01T00:00:00+00:00", "part-1", "changed"),
            (99, "2025-03-02T00:00:00+00:00", "part-1", "new"),
        ]
    )
    lab.ran()

    assert lab.query(rows) == source.rows()
