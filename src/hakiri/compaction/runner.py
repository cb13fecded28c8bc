"""Tasks of a compaction, run by Spark: one partition each."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from hakiri.compaction.tasks import Report, Task
from hakiri.core.errors import HakiriError

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

_RESULT = "number bigint, report binary, failure binary"
_RESULT_SCHEMA = pa.schema({"number": pa.int64(), "report": pa.binary(), "failure": pa.binary()})


@dataclass(frozen=True, slots=True)
class SparkTasks:
    """Runs tasks in one Spark job, as many at once as there are cores; the first opens the session."""

    open_session: Callable[[], SparkSession]
    _opened: list[SparkSession] = field(default_factory=list)

    def __call__(self, tasks: Sequence[Task]) -> list[Report]:
        """What the tasks report, in their order. Raises what one of them raised, if it is one of ours."""
        texts = [pickle.dumps(task) for task in tasks]

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield _worked(number, texts[number])

        count = len(tasks)
        rows = self._spark().range(0, count, 1, count).mapInArrow(work, _RESULT).toArrow().to_pylist()
        for row in rows:
            if row["failure"] is not None:
                raise pickle.loads(row["failure"])  # noqa: S301 - our own words, from our own task
        reports = {row["number"]: pickle.loads(row["report"]) for row in rows}  # noqa: S301
        return [reports[number] for number in range(count)]

    def _spark(self) -> SparkSession:
        if not self._opened:
            self._opened.append(self.open_session())
        return self._opened[0]


def _worked(number: int, text: bytes) -> pa.RecordBatch:
    from pyspark import TaskContext

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
