"""Processes that are killed while they compact, with a reader who asks all the while."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.compaction.bench import SCHEMA, Bench
from tests.compaction.matrix.judge import untold
from tests.store.workshop import ORDERS, Workshop, open_workshop
from tests.support.crashes import UNHARMED, ended, forked
from tests.support.faults import kill_this_process
from tests.support.readers import ReadingProcess

from hakiri.catalog.contract.runs import RunOutcome, RunStatus
from hakiri.compaction.collecting import Collector
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.runs import CompactionRun, queue_of
from hakiri.compaction.steps import Step
from hakiri.core.ids import RunId
from hakiri.store.files import LocalFiles

# Workers of pytest have a thread that only waits; what is forked here never asks it for anything.
pytestmark = [
    pytest.mark.proof,
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

KEPT = timedelta(days=1)
RUN = RunId("0196be00-0000-7000-9000-00000000dead")


def compact_and_die(root: Path, at: Step) -> None:
    """What the process does that is killed: as it is, without a word to anybody."""

    def reached(step: Step) -> None:
        if step is at:
            kill_this_process()

    with open_workshop(root) as workshop:
        compactor = Bench(workshop).compactor(reached=reached, bytes_a_range=2000)
        laid_out = TableLayout(cluster_by=("name",), retain=KEPT)
        CompactionRun(compactor=compactor, table=ORDERS, laid_out=laid_out).work(RUN)


def filled(workshop: Workshop) -> list[tuple[Any, ...]]:
    bench = Bench(workshop)
    for start in range(0, 300, 100):
        rows = [{"id": number % 150, "name": f"n{number % 7}"} for number in range(start, start + 100)]
        bench.land(rows, SCHEMA, "id")
    return bench.rows()


@pytest.mark.spec("HC-026")
@pytest.mark.spec("HC-040")
@pytest.mark.spec("HC-044")
@pytest.mark.spec("HC-045")
@pytest.mark.parametrize("at", list(Step), ids=lambda step: step.name.lower())
def test_a_killed_compaction_changes_nothing_for_readers(tmp_path: Path, at: Step) -> None:
    root = tmp_path / "store"
    with open_workshop(root) as workshop:
        rows = filled(workshop)
        with ReadingProcess(workshop.layout.duck_db, rows, tmp_path) as reader:
            assert ended(forked(lambda: compact_and_die(root, at), tmp_path / "died of"), UNHARMED)
            Bench(workshop).compact(TableLayout(cluster_by=("name",), retain=KEPT))
        assert (reader.wrong, reader.answers > 0) == ([], True)

        bench = Bench(workshop)
        assert bench.rows() == rows
        assert bench.workshop.catalog.snapshots.current_id(ORDERS) is not None
        assert bench.compact() is None
        assert untold(workshop.catalog) == []


@pytest.mark.spec("HC-042")
@pytest.mark.spec("HP-124")
def test_what_a_killed_compaction_left_goes_after_its_time_and_not_before(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with open_workshop(root) as workshop:
        rows = filled(workshop)
        dying = forked(lambda: compact_and_die(root, Step.MANIFEST_FINAL), tmp_path / "died of")
        assert ended(dying, UNHARMED)
        bench = Bench(workshop)
        (left,) = workshop.layout.data_folder(ORDERS).glob("snapshot=*.staging")
        collector = Collector(
            catalog=workshop.catalog, layout=workshop.layout, clock=bench.clock, files=LocalFiles()
        )
        # As long as nobody said that its run is over, somebody may still be making it.
        assert collector.collect(KEPT, tables=(ORDERS,)).named == ()
        gone = RunOutcome(status=RunStatus.FAILED, error_kind="gone")
        assert workshop.catalog.runs.latest(queue_of(ORDERS))[0].run == RUN
        workshop.catalog.runs.end(RUN, gone, bench.clock.now())

        assert collector.collect(KEPT, tables=(ORDERS,)).named != ()
        bench.clock.advance(KEPT - timedelta(microseconds=1))
        assert collector.collect(KEPT, tables=(ORDERS,)).deleted == ()
        assert left.exists()
        bench.clock.advance(timedelta(microseconds=1))
        assert len(collector.collect(KEPT, tables=(ORDERS,), is_rehearsal=True).deleted) > 1
        assert left.exists()
        assert len(collector.collect(KEPT, tables=(ORDERS,)).deleted) > 1

        assert not left.exists()
        assert bench.rows() == rows


@pytest.mark.spec("HP-124")
def test_attempts_that_lost_go_after_their_time_and_the_winner_stays(tmp_path: Path) -> None:
    with open_workshop(tmp_path / "store") as workshop:
        bench = Bench(workshop)
        bench.land([{"id": 1, "name": "a"}], SCHEMA, "id")
        workshop.catalog.chunks.supersede(
            workshop.chunks()[0].pipeline, [workshop.chunks()[0].chunk], "again", bench.clock.now()
        )
        loser = workshop.claim()
        workshop.catalog.runs.start(loser.run, loser.pipeline, loser.node, bench.clock.now(), ttl=KEPT)
        workshop.write(loser, [{"id": 1, "name": "lost"}], SCHEMA, "id")
        workshop.catalog.queue.give_back(loser, bench.clock.now())
        winner = workshop.claim()
        collector = Collector(
            catalog=workshop.catalog, layout=workshop.layout, clock=bench.clock, files=LocalFiles()
        )
        workshop.commit(winner, workshop.write(winner, [{"id": 1, "name": "won"}], SCHEMA, "id"), None)
        workshop.publish()

        named = collector.collect(KEPT, tables=(ORDERS,)).named
        bench.clock.advance(KEPT)
        deleted = collector.collect(KEPT, tables=(ORDERS,)).deleted

        folder = workshop.layout.relative(workshop.folder_of(loser))
        assert set(named) == {f"{folder}/part-00000.parquet", f"{folder}/_manifest.json"}
        assert {file.path for file in deleted} == set(named)
        assert not workshop.folder_of(loser).exists()
        assert bench.rows() == [(1, "won")]


def test_a_deleted_file_is_never_one_that_is_read(tmp_path: Path) -> None:
    with open_workshop(tmp_path / "store") as workshop:
        bench = Bench(workshop)
        schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
        for number in range(3):
            bench.land([{"id": number, "name": "a"}], schema, "id")
            bench.compact(TableLayout(retain=timedelta()))
            collector = Collector(
                catalog=workshop.catalog, layout=workshop.layout, clock=bench.clock, files=LocalFiles()
            )
            found = collector.collect(timedelta(), tables=(ORDERS,))
            assert found.in_use == ()
            assert len(found.deleted) >= 1
            assert bench.rows() == [(n, "a") for n in range(number + 1)]


def test_the_next_compaction_writes_the_views_of_one_that_died_before_it_came_to_them(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with open_workshop(root) as workshop:
        rows = filled(workshop)
        assert ended(forked(lambda: compact_and_die(root, Step.COMMITTED), tmp_path / "died of"), UNHARMED)
        bench = Bench(workshop)
        assert "-- Snapshot: none\n" in workshop.layout.view_file(ORDERS).read_text()

        again = CompactionRun(compactor=bench.compactor(), table=ORDERS, laid_out=TableLayout())
        assert again.work(RunId("0196be00-0000-7000-9000-00000000beef")) is None

        current = workshop.catalog.snapshots.current_id(ORDERS)
        assert f"-- Snapshot: {current}\n" in workshop.layout.view_file(ORDERS).read_text()
        assert bench.rows() == rows
