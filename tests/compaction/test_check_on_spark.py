"""A store that real runs and compactions have made is as the format says, and whole."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.store.test_anyone_reads import TREE, files_of
from tests.store.test_checking import Unwatched
from tests.support.counted import CountedSource, manifest, moments
from tests.support.runtime import Lab

from hakiri.catalog import Catalog
from hakiri.compaction.collecting import Collector
from hakiri.compaction.compacting import Compactor
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.runner import SparkTasks
from hakiri.compaction.runs import CompactionRun
from hakiri.core.ids import NodeId, RunId, TableName
from hakiri.store.checking.checking import Checker
from hakiri.store.checking.findings import Finding
from hakiri.store.files import LocalFiles
from hakiri.store.publishing import Publisher
from hakiri.store.reading import open_reader

pytestmark = pytest.mark.spark

TABLE = TableName("counted_items")
# What pipelines keep beside the store: who works, and what they did.
BESIDE = re.compile(r"(nodes|traces)/.*")


def findings(lab: Lab, catalog: Catalog) -> tuple[Finding, ...]:
    checker = Checker(catalog=catalog, layout=lab.layout, files=LocalFiles(), clock=lab.clock)
    return checker.check(Unwatched()).findings


def compactor(lab: Lab, catalog: Catalog, spark: Any) -> Compactor:
    publisher = Publisher(lab.layout, catalog)
    return Compactor(
        catalog=catalog,
        layout=lab.layout,
        clock=lab.clock,
        node=NodeId("node-2"),
        run_tasks=SparkTasks(lambda: spark),
        publish=lambda name: publisher.publish([name]),
    )


def test_a_damaged_snapshot_is_folded_once_more(lab: Lab, source: CountedSource, spark: Any) -> None:
    source.put(moments(30))
    lab.write(manifest("monotonic", config=', window = "20d"'))
    lab.applied()
    with lab.catalog() as catalog:
        work = CompactionRun(compactor=compactor(lab, catalog, spark), table=TABLE, laid_out=TableLayout())
        made = work.work(RunId("run-00000001"))
        assert made is not None
        with open_reader(lab.layout) as reader:
            before = reader.execute(f"FROM {TABLE} ORDER BY ALL").fetchall()
        file = lab.layout.data_folder(TABLE) / made.manifest.files[0].path
        file.write_bytes(file.read_bytes()[:-1] + b"?")
        assert [one.path for one in findings(lab, catalog)] == [lab.layout.relative(file)]

        done = replace(work, is_full=True).work(RunId("run-00000002"))

        assert done is not None
        assert done.mended == (lab.layout.relative(file),)
        with open_reader(lab.layout) as reader:
            assert reader.execute(f"FROM {TABLE} ORDER BY ALL").fetchall() == before
        collector = Collector(catalog=catalog, layout=lab.layout, clock=lab.clock, files=LocalFiles())
        assert [one.path for one in collector.collect(timedelta()).deleted] == [lab.layout.relative(file)]
        assert findings(lab, catalog) == ()


@pytest.mark.spec("HC-001")
def test_what_runs_and_compactions_leave_is_whole(lab: Lab, source: CountedSource, spark: Any) -> None:
    source.put(moments(30))
    lab.write(manifest("monotonic", config=', window = "20d"'))
    lab.applied()

    with lab.catalog() as catalog:
        assert findings(lab, catalog) == ()
        laid_out = TableLayout(retain=timedelta())
        work = CompactionRun(compactor=compactor(lab, catalog, spark), table=TABLE, laid_out=laid_out)
        assert work.work(RunId("run-1"))
        assert findings(lab, catalog) == ()
        collector = Collector(catalog=catalog, layout=lab.layout, clock=lab.clock, files=LocalFiles())
        assert collector.collect(timedelta(), tables=[TABLE]).deleted
        assert findings(lab, catalog) == ()

    names = [name for name in files_of(lab.layout.root) if not BESIDE.fullmatch(name)]
    assert [name for name in names if not TREE.fullmatch(name)] == []
