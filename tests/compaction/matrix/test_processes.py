"""Cells of the matrix with two real processes: one is stopped, and goes on when the other is done."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.compaction.matrix.cells import Cell, Stage
from tests.compaction.matrix.judge import Reader
from tests.compaction.matrix.operations import (
    FOLDED,
    Append,
    Bury,
    Collect,
    CollectLater,
    Compact,
    Operation,
    Rewind,
    TakeOver,
    Widen,
)
from tests.compaction.matrix.points import Points
from tests.support.crashes import UNHARMED, ended, forked

# Workers of pytest have a thread that only waits; what is forked here never asks it for anything.
pytestmark = [
    pytest.mark.proof,
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

PLACES = [
    (Compact(), "step inputs selected", Append()),
    (Compact(), "step files written", Compact()),
    (Compact(), "step manifest final", Rewind(FOLDED)),
    (Compact(), "write SqlSnapshots.commit", TakeOver()),
    (Compact(), "write SqlSnapshots.commit", Widen()),
    (Compact(), "step snapshot committed", CollectLater()),
    (Compact(), "step data in its place", Bury()),
    (Append(), "write SqlChunkQueue.commit_some", Compact()),
    (Rewind(FOLDED), "write SqlChunkQueue.commit_some", Compact()),
    (Collect(), "write SqlGarbage.forget", Compact()),
]


@pytest.mark.spec("HC-045")
@pytest.mark.parametrize("stage", ["key", "no key"], indirect=True)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place[0].name}, {place[1]}, {place[2].name}")
def test_two_processes_leave_the_table_of_one_after_the_other(
    stage: Stage, readers: tuple[Reader, Reader], place: tuple[Operation, str, Operation], tmp_path: Path
) -> None:
    first, point, second = place
    cell = Cell(stage, first, second)
    at = cell.points().index(point)
    stage.put_back()
    now, before = readers
    before.open(stage.layout)
    was_refused = {"first": False, "second": False}
    come, came = os.pipe()
    wait, go_on = os.pipe()

    def work() -> None:
        def stop() -> None:
            os.write(came, b"!")
            os.read(wait, 1)

        if not cell.is_first_done(Points(at, stop)):
            (tmp_path / "refused").touch()

    child = forked(work, tmp_path / "trouble")
    assert os.read(come, 1) == b"!"
    try:
        cell.interrupt(was_refused, now)
    finally:
        os.write(go_on, b"!")
        ended(child, UNHARMED)
    was_refused["first"] = (tmp_path / "refused").exists()

    cell.judge(was_refused, now, before)
