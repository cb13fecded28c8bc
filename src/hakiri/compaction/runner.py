"""Tasks of a compaction, run by Spark: one partition each."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from hakiri.compaction.errors import CompactionStopped
from hakiri.compaction.tasks import Report, Task
from hakiri.core.errors import HakiriError
from hakiri.engine import arrow_without_pandas, as_ours
from hakiri.engine.errors import SparkUnreachable

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

_RESULT = "number bigint, report binary, failure binary"
_RESULT_SCHEMA = pa.schema({"number": pa.int64(), "report": pa.binary(), "failure": pa.binary()})
# More rows than a Spark has cores: it cuts them into a partition for each of its cores.
_MANY_ROWS = 1 << 20

Told: TypeAlias = Callable[[Sequence[Task], int], None]


def _untold(_: Sequence[Task], __: int) -> None:
    """For when nobody looks."""


def _never() -> bool:
    return False


def _kept(_: SparkSession) -> None:
    """For whoever opened the session for this alone."""


@dataclass(frozen=True, slots=True)
class SparkTasks:
    """Runs tasks as Spark jobs; the first opens the session.

    With a `share` below 1 a job has no more tasks than that share of all cores, at least one, so that others
    always find a free core or have one soon. `told` hears of all the tasks, and how many of them are done,
    before each job. Nothing more is begun once it `is_stopped`. A session whose server is gone is let go by
    `lose`.
    """

    open_session: Callable[[], SparkSession]
    share: float = 1.0
    is_stopped: Callable[[], bool] = _never
    told: Told = _untold
    lose: Callable[[SparkSession], None] = _kept
    _opened: list[SparkSession] = field(default_factory=list)
    _cores: list[int] = field(default_factory=list)

    def __call__(self, tasks: Sequence[Task]) -> list[Report]:
        """What the tasks report, in their order.

        Raises what one of them raised, if it is one of ours, and CompactionStopped.
        """
        arrow_without_pandas()  # here as in the tasks: what they report is written down as tables
        reports: list[Report] = []
        while len(reports) < len(tasks):
            self.told(tasks, len(reports))
            if self.is_stopped():
                raise CompactionStopped
            try:
                start = len(reports)
                reports += self._done(tasks, start, min(len(tasks), start + self._most_at_once(len(tasks))))
            except Exception as error:
                told = self._told_as(error)
                if told is error:
                    raise
                raise told from error
        return reports

    def _told_as(self, error: Exception) -> BaseException:
        """What to raise instead: Spark's own errors are told as ours, and a lost session is let go."""
        if self.is_stopped():
            return CompactionStopped()  # that is how Spark says that it was interrupted
        told = as_ours(error)
        if isinstance(told, SparkUnreachable) and self._opened:
            self.lose(self._opened.pop())
        return told

    def _done(self, tasks: Sequence[Task], start: int, end: int) -> list[Report]:
        texts = {number: pickle.dumps(tasks[number]) for number in range(start, end)}

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield _worked(number, texts[number])

        numbers = self._spark().range(start, end, 1, end - start)
        rows = numbers.mapInArrow(work, _RESULT).toArrow().to_pylist()
        for row in rows:
            if row["failure"] is not None:
                raise pickle.loads(row["failure"])  # noqa: S301 - our own words, from our own task
        reports = {row["number"]: pickle.loads(row["report"]) for row in rows}  # noqa: S301
        return [reports[number] for number in range(start, end)]

    def _most_at_once(self, count: int) -> int:
        if self.share >= 1:
            return count
        if not self._cores:
            self._cores.append(_cores_of(self._spark()))
        return max(1, int(self._cores[0] * self.share))

    def _spark(self) -> SparkSession:
        if not self._opened:
            self._opened.append(self.open_session())
        return self._opened[0]


def _cores_of(spark: SparkSession) -> int:
    """How many tasks a Spark runs at once, wherever it runs: so many partitions does it make by itself."""
    from pyspark.sql import functions as F

    numbers = spark.range(_MANY_ROWS).select(F.spark_partition_id().alias("number"))
    last = numbers.agg(F.max("number")).toArrow()
    return int(last.column(0)[0].as_py()) + 1


def _worked(number: int, text: bytes) -> pa.RecordBatch:
    from pyspark import TaskContext

    arrow_without_pandas()
    context = TaskContext.get()
    attempt = 0 if context is None else context.taskAttemptId()
    task: Task = pickle.loads(text)  # noqa: S301 - made by the driver of this very job
    report: bytes | None = None
    failure: bytes | None = None
    try:
        report = pickle.dumps(task.work(f"{number}-{attempt}"))
    except HakiriError as error:
        failure = pickle.dumps(error)  # as it is: Spark would make text of it, and try the task again
    row = {"number": number, "report": report, "failure": failure}
    return pa.RecordBatch.from_pylist([row], schema=_RESULT_SCHEMA)
