"""Every operation against every other, at each of its steps: as if one had come after the other."""

from __future__ import annotations

import os
from functools import cache

import pytest
from tests.compaction.matrix.cells import Cell, Stage
from tests.compaction.matrix.judge import Reader
from tests.compaction.matrix.operations import OPERATIONS, Operation

pytestmark = pytest.mark.proof

# `make nightly` interrupts at all points; here each pair has its turn at other ones.
EVERY = int(os.environ.get("HAKIRI_MATRIX_EVERY", "40"))
PAIRS = [
    pytest.param(key, first, second, id=f"{key}, {first.name}, {second.name}")
    for key in ("key", "no key")
    for first in OPERATIONS
    for second in OPERATIONS
    if key == "key" or not (first.needs_key or second.needs_key)
]


@pytest.mark.spec("HC-007")
@pytest.mark.spec("HC-011")
@pytest.mark.spec("HC-045")
@pytest.mark.parametrize(("stage", "first", "second"), PAIRS, indirect=["stage"])
def test_whoever_comes_in_between_the_table_is_that_of_one_after_the_other(
    stage: Stage, readers: tuple[Reader, Reader], first: Operation, second: Operation
) -> None:
    cell = Cell(stage, first, second)
    points = _points(stage, first)
    turn = OPERATIONS.index(first) + OPERATIONS.index(second) * 7
    for at in range(turn % EVERY, len(points) + 1, EVERY):
        name = points[at] if at < len(points) else "its end"
        try:
            cell.play(at, *readers)
        except BaseException as error:
            error.add_note(f"{first.name} at point {at} ({name}), where {second.name} came in between")
            raise


@cache
def _points(stage: Stage, operation: Operation) -> list[str]:
    return Cell(stage, operation, operation).points()
