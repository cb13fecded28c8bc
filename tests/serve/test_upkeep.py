"""What a daemon does for its tables while pipelines run: on a clock that the test turns, with real Spark."""

from __future__ import annotations

import statistics
import threading
import time
from datetime import timedelta

import pytest
from tests.serve.serving import MINUTE, T0, Heard, Served, served
from tests.support.counted import CountedSource, manifest, moments
from tests.support.runtime import Lab

from hakiri.catalog.contract.chunks import ChunkStatus
from hakiri.catalog.contract.runs import RunStatus
from hakiri.compaction.errors import ColumnsNotSortable
from hakiri.compaction.runs import queue_of
from hakiri.core.clock import FixedClock
from hakiri.core.ids import NodeId, TableName
from hakiri.pipelines.runtime.apply import open_shop
from hakiri.serve.upkeep import LONGEST_YIELD, Manner, Upkeep

pytestmark = pytest.mark.spark
ITEMS = TableName("counted_items")
ROWS = "SELECT id, part, v FROM counted_items ORDER BY id"
HOUR = timedelta(hours=1)


def compacting(rules: str, more: str = 'schedule = "every 15m"') -> str:
    return manifest("monotonic", more=more, table=f'{{ name = "items", compaction = {{ {rules} }} }}')


def new_row(number: int) -> list[tuple[int, str | None, str, str]]:
    return [(1000 + number, f"2025-01-{number + 1:02d}T00:00:00+00:00", "part-1", f"new {number}")]


def ticked(serving: Served, source: CountedSource, count: int, first: int = 0) -> None:
    """So many runs of the pipeline, each with a row."""
    for number in range(first, first + count):
        source.put(new_row(number))
        serving.look(after=15 * MINUTE)


@pytest.mark.spec("HC-046")
@pytest.mark.spec("HC-049")
@pytest.mark.spec("HC-054")
def test_a_table_is_compacted_after_so_many_runs_and_what_it_replaced_goes_in_time(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(20))
    lab.write(compacting('trigger_run_count = 3, cluster_by = ["v"], retain_runs = "2h"'))

    with served(lab) as serving:
        serving.look()
        ticked(serving, source, 1)
        before = list(serving.heard.begun)
        ticked(serving, source, 1, first=1)
        ((table, done),) = serving.heard.compactions
        files = [path for path in lab.layout.data_folder(ITEMS).rglob("*.parquet") if "runs" in path.parts]
        serving.look(after=2 * HOUR - MINUTE)
        kept = [path.exists() for path in files]
        serving.look(after=MINUTE)

        assert before == []
        assert serving.heard.begun == [(ITEMS, "3 runs to fold")]
        assert (table, len(done.runs), done.manifest.cluster_by) == (ITEMS, 3, ("v",))
        assert lab.query(ROWS) == source.rows()
        assert kept == [True] * 3
        assert serving.heard.collections == [3]
        assert not any(path.exists() for path in files)
        assert serving.heard.failures == []


@pytest.mark.spec("HC-042")
def test_what_views_read_that_a_crash_left_behind_is_kept_once_more_for_the_whole_time(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(20))
    lab.write(compacting('trigger_run_count = 2, retain_runs = "2h"'))

    with served(lab) as serving:
        serving.look()
        view = lab.layout.view_file(ITEMS)
        before = view.read_text()
        ticked(serving, source, 1)
        files = [path for path in lab.layout.data_folder(ITEMS).rglob("*.parquet") if "runs" in path.parts]
        assert len(serving.heard.compactions) == 1
        view.write_text(before)  # as if nobody had come to writing it
        kept = []
        for after in (2 * HOUR, HOUR, HOUR):
            serving.look(after=after)
            kept.append([path.exists() for path in files])

        assert kept == [[True, True], [True, True], [False, False]]
        assert serving.heard.collections == [0, 2]
        assert lab.query(ROWS) == source.rows()


@pytest.mark.spec("HC-047")
@pytest.mark.spec("HC-054")
def test_a_table_is_compacted_when_the_last_time_is_long_ago(lab: Lab, source: CountedSource) -> None:
    source.put(moments(20))
    lab.write(manifest("monotonic", more='schedule = "every 24h"'))

    with served(lab) as serving:
        serving.look()
        serving.look(after=6 * HOUR - MINUTE)
        before = list(serving.heard.begun)
        serving.look(after=MINUTE)

        assert before == []
        assert serving.heard.begun == [(ITEMS, "nothing folded for 6h")]
        assert [table for table, _ in serving.heard.compactions] == [ITEMS]


@pytest.mark.spec("HC-055")
def test_of_two_daemons_one_compacts(lab: Lab, source: CountedSource) -> None:
    source.put(moments(20))
    lab.write(compacting("trigger_run_count = 1", more=""))
    clock = FixedClock(T0)
    lab.clock = clock
    lab.applied()

    with (
        served(lab, clock, node=NodeId("anna")) as anna,
        served(lab, clock, node=NodeId("bert")) as bert,
    ):
        anna.daemon.look()
        bert.daemon.look()
        anna.settle()
        bert.settle()
        bert.daemon.look()
        bert.settle()

        assert len(anna.heard.compactions) + len(bert.heard.compactions) == 1
        with lab.catalog() as catalog:
            assert len(catalog.snapshots.all(ITEMS)) == 1
            assert [chunk.status for chunk in catalog.chunks.page(queue_of(ITEMS))] == [ChunkStatus.DONE]


def test_a_table_that_cannot_be_compacted_is_told_once_and_tried_again(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(20))
    lab.write(compacting('trigger_run_count = 1, cluster_by = ["nope"]', more=""))
    lab.clock = FixedClock(T0)
    lab.applied()

    with served(lab) as serving:
        serving.look()
        for _ in range(3):
            serving.look(after=5 * MINUTE)
        with lab.catalog() as catalog:
            tries = [run.status for run in catalog.runs.latest(queue_of(ITEMS))]
        lab.write(compacting('trigger_run_count = 1, cluster_by = ["v"]', more=""))
        serving.look(after=5 * MINUTE)

        assert tries == [RunStatus.FAILED] * 4
        assert [type(error) for _, error in serving.heard.failures] == [ColumnsNotSortable]
        assert len(serving.heard.compactions) == 1


@pytest.mark.spec("HC-054")
def test_while_pipelines_wait_for_room_no_compaction_begins_for_an_hour(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(20))
    lab.write(compacting("trigger_run_count = 1"))
    clock = FixedClock(T0)
    lab.clock = clock
    lab.applied()

    with lab.ground() as ground, open_shop(ground, list(ground.project.pipelines)) as shop:
        upkeep = Upkeep(shop, Heard(), lambda: None, Manner())
        begun = []
        for at in (T0, T0 + LONGEST_YIELD - MINUTE, T0 + LONGEST_YIELD):
            upkeep.look(shop, at, is_crowded=True)
            begun.append(upkeep.is_busy)
        upkeep.stop(lambda: None)

    assert begun == [False, False, True]


# So small that a table of this test has many tasks, one after the other.
MANY_TASKS = Manner(bytes_a_range=2500)


@pytest.mark.spec("HC-054")
def test_a_compaction_that_is_under_way_is_given_back_when_the_daemon_ends(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(3000, days=0.1))
    lab.write(compacting("trigger_run_count = 1", more=""))
    lab.clock = FixedClock(T0)
    lab.applied()

    with served(lab, manner=MANY_TASKS) as serving:
        serving.daemon.look()
        rest = threading.Event()
        while not list(lab.layout.data_folder(ITEMS).glob("*.staging/_exchange/read/*")):
            assert serving.heard.failures == []
            rest.wait(0.02)
        serving.daemon.stop()

        assert serving.heard.begun == [(ITEMS, "1 runs to fold")]
        assert (serving.heard.compactions, serving.heard.failures) == ([], [])
        with lab.catalog() as catalog:
            (chunk,) = catalog.chunks.page(queue_of(ITEMS))
            (run,) = catalog.runs.latest(queue_of(ITEMS))
        assert chunk.status is ChunkStatus.PENDING
        assert (run.status, run.error_kind) == (RunStatus.PARTIAL, "compaction.stopped")
        assert not list(lab.layout.data_folder(ITEMS).glob("*.staging"))
        assert lab.query(ROWS) == source.rows()


@pytest.mark.spec("HC-054")
def test_a_live_run_is_not_held_up_much_by_a_compaction(lab: Lab, source: CountedSource) -> None:
    source.put(moments(3000, days=0.1))
    lab.write(compacting("trigger_run_count = 1", more=""))
    lab.applied()

    def seconds_of_a_run(number: int) -> float:
        source.put(new_row(number))
        began = time.monotonic()
        lab.ran()
        return time.monotonic() - began

    seconds_of_a_run(0)
    alone = [seconds_of_a_run(number) for number in (1, 2, 3)]
    heard = Heard()
    with (
        lab.ground(node=NodeId("compactor")) as ground,
        open_shop(ground, list(ground.project.pipelines)) as shop,
    ):
        upkeep = Upkeep(shop, heard, lambda: None, MANY_TASKS)
        upkeep.look(shop, ground.clock.now(), is_crowded=False)
        rest = threading.Event()
        while not list(lab.layout.data_folder(ITEMS).glob("*.staging/_exchange/read/*")):
            assert heard.failures == []
            rest.wait(0.02)
        beside = [seconds_of_a_run(number) for number in (4, 5, 6)]
        was_under_way = upkeep.is_busy
        ground.stop.ask()
        upkeep.stop(lambda: None)

    assert (was_under_way, heard.failures) == (True, [])
    assert statistics.median(beside) < 3 * statistics.median(alone) + 1.0
    assert lab.query(ROWS) == source.rows()
