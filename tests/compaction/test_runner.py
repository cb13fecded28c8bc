"""Tasks on real Spark: no more at once than they may be, and none after somebody asked to stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from hakiri.compaction.errors import CompactionStopped, RowsDisagree
from hakiri.compaction.runner import SparkTasks
from hakiri.compaction.tasks import Report, Task

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Numbered:
    """A task that says its number, or fails."""

    number: int
    fails: bool = False

    def work(self, attempt: str) -> Report:
        if self.fails:
            raise RowsDisagree("orders", "reading", 1, 2)
        return Report(read=self.number)


@pytest.mark.spec("HC-054")
@pytest.mark.parametrize(("share", "jobs"), [(1.0, [0]), (0.5, [0, 1, 2]), (0.01, [0, 1, 2])])
def test_a_share_of_the_cores_is_so_many_tasks_a_job(spark: Any, share: float, jobs: list[int]) -> None:
    """The Spark of the tests has two cores."""
    begun: list[int] = []

    def told(tasks: Sequence[Task], done: int) -> None:
        begun.append(done)

    reports = SparkTasks(lambda: spark, share=share, told=told)([Numbered(number) for number in range(3)])

    assert [report.read for report in reports] == [0, 1, 2]
    assert begun == jobs


def test_nothing_more_is_begun_when_somebody_asked_to_stop(spark: Any) -> None:
    begun: list[int] = []
    tasks = SparkTasks(
        lambda: spark,
        share=0.5,
        told=lambda _, done: begun.append(done),
        is_stopped=lambda: len(begun) > 2,
    )

    with pytest.raises(CompactionStopped):
        tasks([Numbered(number) for number in range(9)])

    assert begun == [0, 1, 2]


def test_what_a_task_refuses_comes_out_of_a_small_job_as_well(spark: Any) -> None:
    with pytest.raises(RowsDisagree, match="reading gave 2 rows"):
        SparkTasks(lambda: spark, share=0.5)([Numbered(0), Numbered(1, fails=True)])
