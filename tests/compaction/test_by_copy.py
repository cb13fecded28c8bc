"""Disks that do not rename folders in one step: files are copied to their places, and the catalog decides."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.compaction.bench import Bench
from tests.compaction.test_kills import RUN, filled
from tests.store.workshop import ORDERS, open_workshop
from tests.support.crashes import UNHARMED, ended, forked
from tests.support.faults import kill_this_process

from hakiri.catalog.contract.runs import RunOutcome, RunStatus
from hakiri.compaction.collecting import Collector
from hakiri.compaction.errors import CopyDiffers
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.runs import CompactionRun
from hakiri.compaction.steps import Step
from hakiri.store.files import LocalFiles, Outlet

# Workers of pytest have a thread that only waits; what is forked here never asks it for anything.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

KEPT = timedelta(days=1)
LAYOUT = TableLayout(cluster_by=("name",), retain=KEPT)


class NoRenames(LocalFiles):
    """A disk like a mounted bucket: a file can be replaced, a folder cannot be renamed."""

    def rename(self, source: Path, target: Path) -> None:
        assert not source.is_dir(), "a folder would be renamed file by file here"
        super().rename(source, target)


class Flipping(NoRenames):
    """Loses a bit in every Parquet file that is copied."""

    def create(self, path: Path) -> Outlet:
        outlet = super().create(path)
        if path.suffix == ".parquet":
            write = outlet.write
            outlet.write = lambda data: write(bytes([data[0] ^ 1, *data[1:]]))  # type: ignore[method-assign]
        return outlet


@pytest.mark.spec("HC-040")
def test_a_snapshot_is_copied_to_its_place_and_its_staging_goes(bench: Bench) -> None:
    rows = filled(bench.workshop)

    compactor = bench.compactor(by_copy=True, bytes_a_range=2000)
    done = replace(compactor, files=NoRenames()).compact(ORDERS, bench.new_run(), LAYOUT)

    assert done is not None
    assert len(done.manifest.files) > 1
    assert bench.rows() == rows
    folders = {path.name for path in bench.workshop.layout.table_folder(ORDERS).rglob("snapshot=*")}
    assert folders == {f"snapshot={done.manifest.snapshot}"}


@pytest.mark.spec("HC-040")
def test_a_copy_that_differs_is_refused_and_nothing_is_left_of_it(bench: Bench) -> None:
    rows = filled(bench.workshop)

    with pytest.raises(CopyDiffers, match="is not what was written"):
        replace(bench.compactor(by_copy=True), files=Flipping()).compact(ORDERS, bench.new_run(), LAYOUT)

    assert bench.rows() == rows
    assert bench.workshop.catalog.snapshots.current_id(ORDERS) is None
    assert not list(bench.workshop.layout.table_folder(ORDERS).rglob("snapshot=*"))


def compact_and_die(root: Path, at: Step) -> None:
    def reached(step: Step) -> None:
        if step is at:
            kill_this_process()

    with open_workshop(root) as workshop:
        compactor = Bench(workshop).compactor(reached=reached, bytes_a_range=2000, by_copy=True)
        CompactionRun(compactor=compactor, table=ORDERS, laid_out=LAYOUT).work(RUN)


@pytest.mark.proof
@pytest.mark.spec("HC-040")
@pytest.mark.parametrize(
    "at",
    [Step.MANIFEST_FINAL, Step.DATA_RENAMED, Step.SIDECARS_RENAMED, Step.SIDECARS_NOTED, Step.COMMITTED],
    ids=lambda step: step.name.lower(),
)
def test_folders_without_a_row_in_the_catalog_are_never_read(tmp_path: Path, at: Step) -> None:
    root = tmp_path / "store"
    with open_workshop(root) as workshop:
        rows = filled(workshop)
        assert ended(forked(lambda: compact_and_die(root, at), tmp_path / "died of"), UNHARMED)
        bench = Bench(workshop)
        assert bench.rows() == rows
        is_committed = at is Step.COMMITTED
        assert (workshop.catalog.snapshots.current_id(ORDERS) is not None) == is_committed

        workshop.catalog.runs.end(RUN, RunOutcome(status=RunStatus.FAILED), bench.clock.now())
        bench.compact(LAYOUT, by_copy=True)
        collector = Collector(
            catalog=workshop.catalog, layout=workshop.layout, clock=bench.clock, files=LocalFiles()
        )
        collector.collect(KEPT, tables=(ORDERS,))
        bench.clock.advance(KEPT)
        collector.collect(KEPT, tables=(ORDERS,))

        assert bench.rows() == rows
        current = workshop.catalog.snapshots.current_id(ORDERS)
        left = {path.name for path in workshop.layout.table_folder(ORDERS).rglob("snapshot=*")}
        assert left == {f"snapshot={current}"}
