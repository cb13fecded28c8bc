"""What a collection may delete, and what it must leave alone, whatever happened before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from tests.compaction.bench import SCHEMA, Bench
from tests.store.workshop import NODE, ORDERS

from hakiri.catalog.contract.runs import RunOutcome, RunStatus
from hakiri.compaction.collecting import Collected, Collector
from hakiri.compaction.errors import TableMoved
from hakiri.compaction.partitions import ByValue
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.runs import CompactionRun, queue_of
from hakiri.compaction.steps import Step
from hakiri.compaction.tasks import Report, Task
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import RunId, TableName
from hakiri.store.files import LocalFiles
from hakiri.store.layout import snapshot_name
from hakiri.store.manifests import FILE_NAME
from hakiri.store.snapshots import SnapshotManifest

KEPT = timedelta(days=1)


def collect(bench: Bench, *, is_rehearsal: bool = False) -> Collected:
    workshop = bench.workshop
    collector = Collector(
        catalog=workshop.catalog, layout=workshop.layout, clock=bench.clock, files=LocalFiles()
    )
    return collector.collect(KEPT, tables=(ORDERS,), is_rehearsal=is_rehearsal)


def dies_before_it_publishes(_: TableName) -> None:
    """The last thing that a compaction does, left undone."""


@pytest.mark.spec("HC-042")
def test_files_that_the_published_views_still_read_are_kept_as_long_as_if_they_were_replaced_now(
    bench: Bench,
) -> None:
    for number in (1, 2):
        bench.land([{"id": number, "name": "a"}], SCHEMA, "id")
    bench.compact(TableLayout(retain=KEPT), publish=dies_before_it_publishes)
    bench.clock.advance(KEPT)

    assert collect(bench, is_rehearsal=True).deleted == ()
    assert collect(bench).deleted == ()
    assert bench.rows() == [(1, "a"), (2, "a")]
    assert "/runs/" not in bench.workshop.layout.view_file(ORDERS).read_text()

    bench.clock.advance(KEPT - timedelta(microseconds=1))
    assert collect(bench).deleted == ()
    bench.clock.advance(timedelta(microseconds=1))
    assert len(collect(bench).deleted) == 2
    assert bench.rows() == [(1, "a"), (2, "a")]


@pytest.mark.spec("HC-044")
def test_a_compaction_that_others_took_for_dead_does_not_commit_files_that_may_be_gone(bench: Bench) -> None:
    bench.land([{"id": 1, "name": "a"}], SCHEMA, "id")
    catalog, run = bench.workshop.catalog, RunId("0196be00-0000-7000-9000-0000deadbeef")

    def is_buried(step: Step) -> None:
        if step is Step.FOLDED:
            catalog.runs.end(run, RunOutcome(status=RunStatus.FAILED, error_kind="gone"), bench.clock.now())
            for _ in range(2):
                collect(bench)
                bench.clock.advance(KEPT)

    work = CompactionRun(compactor=bench.compactor(reached=is_buried), table=ORDERS, laid_out=TableLayout())
    with pytest.raises(TableMoved):
        work.work(run)

    assert catalog.snapshots.current(ORDERS) is None
    assert bench.rows() == [(1, "a")]


@pytest.mark.spec("HC-042")
def test_a_staging_folder_in_which_nothing_was_written_yet_goes_when_its_run_is_over(bench: Bench) -> None:
    bench.land([{"id": 1, "name": "a"}], SCHEMA, "id")
    catalog, now, run = (
        bench.workshop.catalog,
        bench.clock.now(),
        RunId("0196be00-0000-7000-9000-0000deadbeef"),
    )
    catalog.pipelines.declare(queue_of(ORDERS), CursorKind.MONOTONIC, now)
    catalog.runs.start(run, queue_of(ORDERS), NODE, now, ttl=KEPT)
    staging = bench.workshop.layout.staging_folder(ORDERS, "2026-05-11T08-00-00Z-node-anna-deadbeef")
    (staging / "_exchange" / "read").mkdir(parents=True)

    collect(bench)
    assert staging.exists()
    catalog.runs.end(run, RunOutcome(status=RunStatus.FAILED), now)
    collect(bench, is_rehearsal=True)
    assert staging.exists()
    collect(bench)

    assert not staging.exists()
    assert bench.rows() == [(1, "a")]


def named_files(bench: Bench) -> set[str]:
    """What is in the folders of snapshots, below the table's data, as their manifests say."""
    rows = bench.workshop.catalog.snapshots.all(ORDERS)
    manifests = [SnapshotManifest.parse(row.manifest) for row in rows]
    return {file.path for each in manifests for file in each.files} | {
        f"{snapshot_name(each.snapshot)}/{FILE_NAME}" for each in manifests
    }


def files_there(bench: Bench) -> set[str]:
    data = bench.workshop.layout.data_folder(ORDERS)
    return {path.relative_to(data).as_posix() for path in data.glob("snapshot=*/**/*") if path.is_file()}


def every_task_twice(tasks: Sequence[Task]) -> list[Report]:
    """As Spark does when a process dies that has written its file, and has not told so."""
    for number, task in enumerate(tasks):
        task.work(f"{number}-0")
    return [task.work(f"{number}-1") for number, task in enumerate(tasks)]


@pytest.mark.parametrize("partitioning", [None, ByValue("name")], ids=["whole", "partitioned"])
def test_files_of_tasks_that_were_done_again_do_not_come_along_with_a_snapshot(
    bench: Bench, partitioning: ByValue | None
) -> None:
    laid_out = TableLayout(partitioning=partitioning)
    for number in (1, 2):  # the second is a merge, where there are partitions
        bench.land([{"id": number, "name": "a"}, {"id": 7, "name": f"n{number}"}], SCHEMA, "id")
        bench.compact(laid_out, run_tasks=every_task_twice)
        bench.pass_time()

    assert files_there(bench) == named_files(bench)
    assert bench.rows() == [(1, "a"), (2, "a"), (7, "n2")]


def test_a_folder_in_which_nothing_counts_does_not_come_along_with_a_snapshot(bench: Bench) -> None:
    bench.land([{"id": 1, "name": "a"}], SCHEMA, "id")
    layout = bench.workshop.layout

    def is_still_at_work(step: Step) -> None:
        if step is Step.SIDECARS_BUILT:
            for folder in layout.root.rglob("snapshot=*.staging"):
                (folder / "name=b").mkdir()
                (folder / "name=b" / "part-00000.parquet").write_bytes(b"")

    bench.compact(reached=is_still_at_work)

    assert not [*layout.root.rglob("name=b")]
    assert bench.rows() == [(1, "a")]


@pytest.mark.spec("HC-042")
def test_files_in_the_folder_of_a_snapshot_that_no_manifest_names_are_named_and_go_in_time(
    bench: Bench,
) -> None:
    laid_out = TableLayout(partitioning=ByValue("name"), retain=KEPT)
    bench.land([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], SCHEMA, "id")
    first = bench.compacted(laid_out)
    bench.pass_time()
    bench.land([{"id": 3, "name": "a"}], SCHEMA, "id")
    second = bench.compacted(laid_out)
    data = bench.workshop.layout.data_folder(ORDERS)
    assert {file.path for file in first.files} & {file.path for file in second.files}
    strays = {f"{snapshot_name(each.snapshot)}/name=a/part-100000.parquet" for each in (first, second)}
    for path in strays:
        (data / path).write_bytes(b"of a task that was done again")

    rehearsed = collect(bench, is_rehearsal=True)
    found = collect(bench)

    assert (
        {*found.named}
        == {*rehearsed.named}
        == {bench.workshop.layout.relative(data / path) for path in strays}
    )
    bench.pass_time(KEPT - timedelta(microseconds=1))
    assert collect(bench).named == ()
    assert strays <= files_there(bench)
    bench.pass_time(timedelta(microseconds=1))
    assert collect(bench).named == ()
    assert files_there(bench) == {file.path for file in second.files} | {
        f"{snapshot_name(second.snapshot)}/{FILE_NAME}"
    }
    assert bench.rows() == [(1, "a"), (2, "b"), (3, "a")]
