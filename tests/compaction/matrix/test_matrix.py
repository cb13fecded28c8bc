"""Every operation against every other, at each of its steps: as if one had come after the other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.compaction.matrix.cells import Cell, Stage, prepared_stage
from tests.compaction.matrix.judge import Reader, stock_reader
from tests.compaction.matrix.operations import OPERATIONS, Operation

pytestmark = pytest.mark.proof


@pytest.fixture(scope="module", params=[True, False], ids=["key", "no key"])
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return prepared_stage(tmp_path_factory.mktemp("matrix"), has_key=request.param)


@pytest.fixture(scope="module")
def readers() -> Iterator[tuple[Reader, Reader]]:
    with stock_reader() as now, stock_reader() as before:
        yield now, before


@pytest.mark.parametrize("second", OPERATIONS, ids=lambda each: each.name)
@pytest.mark.parametrize("first", OPERATIONS, ids=lambda each: each.name)
def test_whoever_comes_in_between_the_table_is_that_of_one_after_the_other(
    stage: Stage, readers: tuple[Reader, Reader], first: Operation, second: Operation
) -> None:
    if not stage.has_key and (first.needs_key or second.needs_key):
        return
    cell = Cell(stage, first, second)
    points = cell.points()
    for at in range(len(points) + 1):
        name = points[at] if at < len(points) else "its end"
        try:
            cell.play(at, *readers)
        except BaseException as error:
            error.add_note(f"{first.name} at point {at} ({name}), where {second.name} came in between")
            raise
