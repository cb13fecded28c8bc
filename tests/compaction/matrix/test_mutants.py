"""The matrix finds every wrong protocol out that it is told to try."""

from __future__ import annotations

import duckdb
import pytest
from tests.compaction.matrix.cells import Cell, Stage
from tests.compaction.matrix.judge import Reader
from tests.compaction.matrix.mutants import MUTANTS, Mutant

from hakiri.store.errors import ViewNotMade

pytestmark = pytest.mark.proof


@pytest.mark.parametrize("stage", ["key"], indirect=True)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_wrong_protocol_is_found_out(
    stage: Stage, readers: tuple[Reader, Reader], mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = Cell(stage, mutant.first, mutant.second)
    points = len(cell.points())
    mutant.patch(monkeypatch)

    # From the end: what is wrong mostly shows where something is about to be committed.
    assert any(_is_found_out(cell, at, readers) for at in range(points, -1, -1))


def _is_found_out(cell: Cell, at: int, readers: tuple[Reader, Reader]) -> bool:
    try:
        cell.play(at, *readers)
    except (AssertionError, ViewNotMade, duckdb.Error):
        return True
    return False
