"""Tasks on real Spark: no more at once than they may be, and none after somebody asked to stop."""

from __future__ import annotations

from typing import Any

import pytest
from tests.compaction.bench import SCHEMA, Bench
from tests.store.workshop import ORDERS

from hakiri.compaction.errors import CompactionStopped
from hakiri.compaction.exchange import made_folder
from hakiri.compaction.fold_tasks import ScatterTask
from hakiri.compaction.recipes import TableLayout, recipe_of
from hakiri.compaction.runner import SparkTasks
from hakiri.compaction.selecting import input_files

pytestmark = pytest.mark.spark


@pytest.fixture
def tasks(bench: Bench) -> list[ScatterTask]:
    """Three tasks, that read one row, two and three."""
    for count in (1, 2, 3):
        bench.land([{"id": number, "name": "a"} for number in range(count)], SCHEMA, "id")
    catalog, layout = bench.workshop.catalog, bench.workshop.layout
    chosen = bench.compactor().choose(ORDERS)
    assert chosen is not None
    recipe = recipe_of(chosen.schema, catalog.schemas.log(ORDERS), TableLayout())
    folder = str(made_folder(layout.root / "exchange"))
    return [
        ScatterTask(recipe=recipe, inputs=(file,), folder=folder)
        for file in input_files(chosen.selection, layout)
    ]


@pytest.mark.spec("HC-054")
@pytest.mark.parametrize(("share", "jobs"), [(1.0, [0]), (0.5, [0, 1, 2]), (0.01, [0, 1, 2])])
def test_a_share_of_the_cores_is_so_many_tasks_a_job(
    spark: Any, tasks: list[ScatterTask], share: float, jobs: list[int]
) -> None:
    """The Spark of the tests has two cores."""
    begun: list[int] = []

    reports = SparkTasks(lambda: spark, share=share, told=lambda _, done: begun.append(done))(tasks)

    assert [report.read for report in reports] == [1, 2, 3]
    assert begun == jobs


def test_nothing_more_is_begun_when_somebody_asked_to_stop(spark: Any, tasks: list[ScatterTask]) -> None:
    begun: list[int] = []
    run = SparkTasks(
        lambda: spark,
        share=0.5,
        told=lambda _, done: begun.append(done),
        is_stopped=lambda: len(begun) == 2,
    )

    with pytest.raises(CompactionStopped):
        run(tasks)

    assert begun == [0, 1]
