"""What a collection may delete, and what it must leave alone, whatever happened before."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.compaction.bench import SCHEMA, Bench
from tests.store.workshop import NODE, ORDERS

from hakiri.catalog.contract.runs import RunOutcome, RunStatus
from hakiri.compaction.collecting import Collected, Collector
from hakiri.compaction.errors import TableMoved
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.runs import CompactionRun, queue_of
from hakiri.compaction.steps import Step
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import RunId, TableName
from hakiri.store.files import LocalFiles

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
