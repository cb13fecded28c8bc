"""Compactions and collections that are killed one after the other, in the middle of whatever they are at."""

from __future__ import annotations

import os
import random
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.compaction.bench import Bench
from tests.compaction.matrix.judge import leaked, untold
from tests.store.workshop import ORDERS, T0, Workshop, open_workshop
from tests.support.crashes import Kill, ended, forked, keep_disk_journal
from tests.support.faults import kill_this_process
from tests.support.readers import ReadingProcess

from hakiri.catalog.contract.runs import RunOutcome, RunStatus
from hakiri.compaction.collecting import Collector
from hakiri.compaction.partitions import ByValue
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.runs import CompactionRun, queue_of
from hakiri.compaction.sidecars.blooms import Blooms
from hakiri.compaction.steps import Step
from hakiri.core.clock import FixedClock
from hakiri.core.ids import IndexId, RunId
from hakiri.store.files import LocalFiles
from hakiri.store.snapshots import SnapshotManifest

# Workers of pytest have a thread that only waits; what is forked here never asks it for anything.
pytestmark = [
    pytest.mark.proof,
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

# `make nightly` asks for more.
KILLS = int(os.environ.get("HAKIRI_KILLS", "50"))
KEPT = timedelta(hours=6)
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
LAYOUT = TableLayout(
    cluster_by=("name",),
    partitioning=ByValue("name"),
    indexes=(Blooms(index=IndexId("bloom-name"), columns=("name",)),),
    retain=KEPT,
)
ROWS = [(number, f"n{number % 5}") for number in range(60)]
# A compaction of this size takes about so long where nothing else runs.
LONGEST_SECONDS = 0.12


def land(workshop: Workshop, chance: random.Random) -> None:
    """Some rows come again as they are: there is always something to fold, and readers see no change."""
    some = chance.sample(ROWS, 15)
    workshop.land([{"id": number, "name": name} for number, name in some], SCHEMA, "id")
    workshop.publish()


def compact(root: Path, now: datetime, number: int, at: Step | None) -> None:
    """What a process does that is killed at a step, or whenever its time has come."""

    def reached(step: Step) -> None:
        if step is at:
            kill_this_process()

    with open_workshop(root) as workshop:
        bench = Bench(workshop, FixedClock(now))
        compactor = bench.compactor(reached=reached, bytes_a_range=60_000)
        run = RunId(f"0196be00-0000-7000-9000-{number:012d}")
        CompactionRun(compactor=compactor, table=ORDERS, laid_out=LAYOUT).work(run)


def collect(root: Path, now: datetime) -> None:
    with open_workshop(root) as workshop:
        collector_of(workshop, now).collect(KEPT, tables=(ORDERS,))


def collector_of(workshop: Workshop, now: datetime) -> Collector:
    return Collector(
        catalog=workshop.catalog, layout=workshop.layout, clock=FixedClock(now), files=LocalFiles()
    )


def bury(workshop: Workshop, now: datetime) -> None:
    """Say of every compaction that died that it did."""
    for run in workshop.catalog.runs.latest(queue_of(ORDERS)):
        if not run.status.has_ended:
            workshop.catalog.runs.end(run.run, RunOutcome(status=RunStatus.FAILED), now)


@pytest.mark.spec("HC-008")
@pytest.mark.spec("HC-040")
@pytest.mark.spec("HC-044")
@pytest.mark.spec("HC-045")
@pytest.mark.timeout(max(240, KILLS * 4))
def test_dozens_of_deaths_in_a_row_are_not_noticed_by_readers(tmp_path: Path) -> None:
    root, chance, now = tmp_path / "store", random.Random(7), T0
    steps, deaths = list(Step), Counter[str]()
    with open_workshop(root) as workshop:
        workshop.land([{"id": number, "name": name} for number, name in ROWS], SCHEMA, "id")
        workshop.publish()
    with ReadingProcess(root / "duck.db", ROWS, tmp_path) as reader:
        number = 0
        while sum(deaths.values()) < KILLS:
            number += 1
            now += timedelta(hours=1)
            with open_workshop(root) as workshop:  # closed before the fork
                workshop.plans = iter(range(number * 100, number * 100 + 100))
                land(workshop, chance)
                bury(workshop, now)
            name, kill, work = _next(root, now, number, chance, steps[number % len(steps)])
            child = forked(work, tmp_path / "trouble-of-the-killed")
            deaths[name] += ended(child, kill)

    assert reader.wrong == []
    assert reader.answers > KILLS
    assert min(deaths.values()) > KILLS // 20, deaths
    with open_workshop(root) as workshop:
        bench = Bench(workshop, FixedClock(now))
        bury(workshop, now)
        workshop.publish()
        bench.compact(LAYOUT)
        assert leaked(workshop.layout, workshop.catalog, now + 100 * KEPT) == set()
        assert untold(workshop.catalog) == []
        for later in (now + KEPT, now + 2 * KEPT, now + 3 * KEPT):
            collector_of(workshop, later).collect(KEPT, tables=(ORDERS,))
        assert bench.rows() == ROWS
        current = workshop.catalog.snapshots.current(ORDERS)
        assert current is not None
        # Files that did not change lie where an earlier snapshot put them.
        read = {file.path.partition("/")[0] for file in SnapshotManifest.parse(current.manifest).files}
        folders = {path.name for path in workshop.layout.table_folder(ORDERS).rglob("snapshot=*")}
        assert folders == read | {f"snapshot={current.snapshot}"}


def _next(root: Path, now: datetime, number: int, chance: random.Random, step: Step) -> tuple[str, Kill, Any]:
    """How the next process dies, and of what it is in the middle."""
    way = ("step", "clock", "disk", "collection by disk", "step", "collection by clock")[number % 6]
    if way == "step":
        return way, Kill(), lambda: compact(root, now, number, step)
    is_collection = way.startswith("collection")

    def work() -> None:
        if kill.is_at_disk:
            keep_disk_journal(root.with_name("journal"), root, kill)
        if is_collection:
            collect(root, now)
        else:
            compact(root, now, number, None)

    seconds = chance.uniform(0, LONGEST_SECONDS / (4 if is_collection else 1))
    count = chance.randrange(1, 25 if is_collection else 60)
    kill = Kill(is_at_disk=True, count=count) if way.endswith("disk") else Kill(seconds=seconds)
    return way, kill, work
