"""One Spark job: the rows of some chunks of a table, from the source to files that nobody sees yet."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hakiri.catalog.contract.chunks import ChunkAttempt
from hakiri.engine.paths import spark_path
from hakiri.pipelines.chunks.pieces import Piece
from hakiri.pipelines.errors import CountsDisagree
from hakiri.pipelines.expectations import Expectations, repeated_rows, repeats_in
from hakiri.pipelines.inputs import source_failure
from hakiri.pipelines.runtime.sinks import RESULT, AttemptSinks, Report, writing
from hakiri.sources.bridge.failures import failure_in
from hakiri.sources.bridge.frames import Outcome, source_rows
from hakiri.sources.bridge.landing import land
from hakiri.sources.bridge.schemas import POSITION_COLUMN
from hakiri.sources.bridge.sinks import OpenSink
from hakiri.sources.contract import Cursor, NativeConnector, Read, Table
from hakiri.sources.errors import BadRecord
from hakiri.sources.reading import OpenSource
from hakiri.store.manifests import WrittenFile
from hakiri.store.rows import HIDDEN, OP, POSITION, Stamp
from hakiri.store.writing import BadRows, Shape
from hakiri.transforms import failed_step, transformed

if TYPE_CHECKING:
    from pyspark.sql.connect.dataframe import DataFrame
    from pyspark.sql.connect.proto import Relation
    from pyspark.sql.connect.session import SparkSession

# What Spark does to one row at a time, as it is called in a physical plan. Beside these, nothing may stand
# between the reads and the writer if the rows of several chunks are to stay apart.
_ROW_BY_ROW = frozenset({"Project", "Filter", "Generate", "BatchScan", "CollectMetrics", "InputAdapter"})
CONTENT_SUMS = 1 << 128
_OPERATOR = re.compile(r"^[\s:|+\-]*(?:\*\(\d+\) )?(\w+)", re.MULTILINE)


def _unheard(_: str) -> None:
    return None


def _connect(frame: Any) -> DataFrame:
    """Spark's own types say of many methods that they leave Connect."""
    return cast("DataFrame", frame)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """An attempt at a chunk, with what is to be read and where it is to be written."""

    attempt: ChunkAttempt
    piece: Piece
    read: Read
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What a job made of one assignment: files on the disk that no reader knows of."""

    assignment: Assignment
    files: tuple[WrittenFile, ...]
    quarantine: tuple[WrittenFile, ...]
    read: int
    written: int
    quarantined: int
    content_sum: int
    cursor: Cursor | None

    @property
    def filtered(self) -> int:
        """How many rows the transform took away; negative when it made more of them."""
        return self.read - self.written - self.quarantined

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in (*self.files, *self.quarantine))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableJob:
    """How the chunks of one table are read and written, the same for all chunks of a run."""

    spark: SparkSession
    pipeline: str
    root: Path
    source: OpenSource
    table: Table
    shape: Shape
    plans: tuple[Relation, ...] = ()
    references: Mapping[str, DataFrame] = field(default_factory=dict)
    expectations: Expectations | None = None
    ignored: frozenset[str] = frozenset()
    redacted: frozenset[str] = frozenset()
    is_one_file: bool = False
    warn: Callable[[str], None] = _unheard
    # A native connector remembers the files it has listed for the frame that is asked for next.
    native_lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_native(self) -> bool:
        return isinstance(self.source.connector, NativeConnector)

    @property
    def goes_through_spark(self) -> bool:
        """Whether rows pass through the JVM: Spark reads them, transforms them, or looks at each of them."""
        return self.is_native or self._is_touched

    @property
    def _is_touched(self) -> bool:
        """Whether something is done with each row on its way."""
        is_looked_at = self.expectations is not None and self.expectations.looks_at_rows
        return bool(self.plans) or is_looked_at

    @property
    def waited_seconds(self) -> float:
        """How long the source's budget has kept anybody waiting so far."""
        return self.source.budget.waited_seconds if self.source.budget is not None else 0.0

    def may_join(self) -> bool:
        """Whether the rows of several chunks stay apart in one job. Asks Spark for the plan, not for rows."""
        if self.is_native:
            return False
        if not self.goes_through_spark:
            return True
        with self._told():
            read = Read(table=self.table.name, schema=self.table.schema)
            rows = source_rows(self.spark, self.source.task, self.table, [read])
            text = self._through(_connect(rows.frame.drop(POSITION_COLUMN)))._explain_string()  # noqa: SLF001
        operators = _OPERATOR.findall(text.partition("== Physical Plan ==")[2])
        return bool(operators) and set(operators) <= _ROW_BY_ROW

    def gather(self, assignments: Sequence[Assignment]) -> list[Gathered]:
        """Read and write all of them in one job.

        Raises the source's own errors, CountsDisagree, and ExpectationFailed for rows that are not what they
        must be.
        """
        sinks = self._sinks(assignments)
        if self.shape.bad_rows is BadRows.QUARANTINE:
            assignments = [replace(each, read=replace(each.read, sets_aside=True)) for each in assignments]
        with self._told():
            if not self.goes_through_spark:
                gathered = self._landed(assignments, sinks)
            elif self.is_native:
                (only,) = assignments
                gathered = [self._native(only, sinks)]
            else:
                gathered = self._streamed(assignments, sinks)
            return [self._without_repeats(each) for each in gathered]

    def _without_repeats(self, gathered: Gathered) -> Gathered:
        """Look for values that should be unique, among the rows that were written and nobody sees yet."""
        expectations = self.expectations
        if expectations is None or not expectations.uniques or not gathered.files:
            return gathered
        folder = gathered.assignment.folder
        rows = self.spark.read.parquet(*(spark_path(str(folder / file.name)) for file in gathered.files))
        written = _connect(rows)
        key = self.shape.primary_key
        repeats = repeats_in(written, expectations.uniques, primary_key=key)
        self._judged(expectations, repeats)
        if not expectations.broken(repeats, "quarantine"):
            return gathered
        repeated = repeated_rows(written, expectations.uniques, primary_key=key)
        if repeated is None:
            return gathered
        hidden = [name for name in HIDDEN if name not in (OP, POSITION)]
        marked = written.join(repeated, POSITION, "left").sort(POSITION).drop(POSITION, *hidden)
        return self._sifted(gathered, _connect(marked))

    def _sifted(self, gathered: Gathered, marked: DataFrame) -> Gathered:
        """The same rows once more, with those that carry a reason set aside; the first files are removed."""
        again = self._written(
            marked, replace(self._sinks([gathered.assignment]), redacted=frozenset()), is_finished=True
        ).get(0, [])
        for file in gathered.files:
            (gathered.assignment.folder / file.name).unlink()
        return replace(
            gathered,
            files=tuple(file for report in again for file in report.files),
            quarantine=(
                *gathered.quarantine,
                *(file for report in again for file in report.quarantine),
            ),
            written=sum(report.rows for report in again),
            quarantined=gathered.quarantined + sum(report.quarantined for report in again),
            content_sum=sum(report.content_sum for report in again) % CONTENT_SUMS,
        )

    def write_frame(self, assignment: Assignment, frame: DataFrame) -> Gathered:
        """Write rows that come from the store itself, as they are."""
        with self._told():
            reports = self._written(frame, self._sinks([assignment]), is_finished=True).get(0, [])
        rows = sum(report.rows for report in reports)
        return self._checked(assignment, Outcome(rows=rows, cursor=None), reports)

    def _sinks(self, assignments: Sequence[Assignment]) -> AttemptSinks:
        return AttemptSinks(
            folders=tuple(str(each.folder) for each in assignments),
            stamps=tuple(
                Stamp(
                    run=each.attempt.run,
                    pipeline=each.attempt.pipeline,
                    seq=each.attempt.seq,
                    ingested_at=each.attempt.claimed_at,
                )
                for each in assignments
            ),
            shape=self.shape,
            ignored=self.ignored,
            redacted=self.redacted,
            has_transform=bool(self.plans),
        )

    def _landed(self, assignments: Sequence[Assignment], sinks: AttemptSinks) -> list[Gathered]:
        reads = [each.read for each in assignments]
        labels = [str(each.attempt.chunk) for each in assignments]
        landed = land(self.spark, self.source.task, self.table, reads, sinks, labels=labels)
        return [
            self._checked(each, Outcome(rows=one.rows, cursor=one.cursor), [Report.parse(one.report)])
            for each, one in zip(assignments, landed, strict=True)
        ]

    def _streamed(self, assignments: Sequence[Assignment], sinks: AttemptSinks) -> list[Gathered]:
        reads = [each.read for each in assignments]
        labels = [str(each.attempt.chunk) for each in assignments]
        outcomes, reports = self._read_and_written(reads, sinks, sinks, labels)
        return [
            self._checked(each, *_with_aside(outcomes[number], reports.get(number, [])))
            for number, each in enumerate(assignments)
        ]

    def _read_and_written(
        self, reads: Sequence[Read], sinks: AttemptSinks, open_aside: OpenSink, labels: Sequence[str] = ()
    ) -> tuple[list[Outcome], dict[int, list[Report]]]:
        rows = source_rows(
            self.spark, self.source.task, self.table, reads, labels=labels, open_aside=open_aside
        )
        reports = self._written(_connect(rows.frame.drop(POSITION_COLUMN)), sinks)
        outcomes = rows.outcomes()
        told, seen = sum(outcome.rows for outcome in outcomes), rows.rows_seen()
        if told != seen:
            raise CountsDisagree(self.table.name, read=told, accounted=seen)
        return outcomes, reports

    def _native(self, assignment: Assignment, sinks: AttemptSinks) -> Gathered:
        """What Spark reads by itself; tasks read all of it once more if it meets a row to be set aside."""
        try:
            with self._told():
                return self._framed(assignment, sinks)
        except BadRecord:
            if not assignment.read.sets_aside:
                raise
        return self._taken_apart(assignment, sinks)

    def _taken_apart(self, assignment: Assignment, sinks: AttemptSinks) -> Gathered:
        connector = cast("NativeConnector", self.source.connector)
        with self.native_lock:
            cursor = connector.cursor_after(assignment.read)
            reads = connector.pieces(assignment.read, is_one=self.is_one_file)
        if self._is_touched:
            outcomes, reports = self._read_and_written(reads, sinks, sinks.part_of_only)
            parts = [_with_aside(outcome, []) for outcome in outcomes]
            written = [*reports.get(0, []), *(report for _, aside in parts for report in aside)]
            rows = sum(outcome.rows for outcome, _ in parts)
        else:
            landed = land(self.spark, self.source.task, self.table, reads, sinks.part_of_only)
            written = [Report.parse(one.report) for one in landed]
            rows = sum(one.rows for one in landed)
        gathered = self._checked(assignment, Outcome(rows=rows, cursor=cursor), written)
        _remove_others(gathered)
        return gathered

    def _framed(self, assignment: Assignment, sinks: AttemptSinks) -> Gathered:
        from pyspark.sql import functions as F
        from pyspark.sql.connect.observation import Observation

        connector = cast("NativeConnector", self.source.connector)
        with self.native_lock:
            cursor = connector.cursor_after(assignment.read)
            frame = cast("DataFrame", connector.frame(self.spark, assignment.read))
        seen = Observation(f"read-{self.table.name}")
        counted = _connect(frame.observe(seen, F.count(F.lit(1)).alias("rows")))
        reports = self._written(counted, sinks)
        outcome = Outcome(rows=int(seen.get["rows"]), cursor=cursor)
        return self._checked(assignment, outcome, reports.get(0, []))

    def _written(
        self, frame: DataFrame, sinks: AttemptSinks, *, is_finished: bool = False
    ) -> dict[int, list[Report]]:
        from pyspark.sql import functions as F
        from pyspark.sql.connect.observation import Observation

        is_one_each = len(sinks.folders) > 1
        if not is_finished:
            frame = self._through(frame)
        if self.is_one_file and not is_one_each:
            frame = _connect(frame.coalesce(1))
        given, broken = Observation(f"write-{self.table.name}"), Observation(f"expect-{self.table.name}")
        expectations = None if is_finished else self.expectations
        if expectations is not None:
            frame = expectations.counted(frame, broken)
        frame = _connect(frame.observe(given, F.count(F.lit(1)).alias("rows")))
        result = frame.mapInArrow(writing(sinks, is_one_each=is_one_each), RESULT).toArrow().to_pylist()
        if expectations is not None:
            self._judged(expectations, expectations.violations(broken))
        reports: dict[int, list[Report]] = {}
        for row in result:
            reports.setdefault(row["number"], []).append(Report.parse(row["report"]))
        taken = sum(report.rows + report.quarantined for each in reports.values() for report in each)
        if taken != int(given.get["rows"]):
            raise CountsDisagree(self.table.name, read=int(given.get["rows"]), accounted=taken)
        return reports

    def _through(self, frame: DataFrame) -> DataFrame:
        frame = transformed(frame, self.plans, self.references)
        return frame if self.expectations is None else self.expectations.marked(frame)

    def _judged(self, expectations: Expectations, violations: Mapping[str, int]) -> None:
        """Tell what is only warned of, and fail for what may not be."""
        for each in expectations.broken(violations, "warn"):
            self.warn(f"{each.rows:,} rows of table `{self.table.name}`: expected {each.expected}")
        expectations.require(violations)

    def _checked(self, assignment: Assignment, outcome: Outcome, reports: Sequence[Report]) -> Gathered:
        gathered = Gathered(
            assignment=assignment,
            files=tuple(file for report in reports for file in report.files),
            quarantine=tuple(file for report in reports for file in report.quarantine),
            read=outcome.rows,
            written=sum(report.rows for report in reports),
            quarantined=sum(report.quarantined for report in reports),
            content_sum=sum(report.content_sum for report in reports) % CONTENT_SUMS,
            cursor=outcome.cursor,
        )
        if not self.plans and gathered.filtered:
            accounted = gathered.written + gathered.quarantined
            raise CountsDisagree(self.table.name, read=gathered.read, accounted=accounted)
        return gathered

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What Spark raises as the error it came from: the author's, the source's or the store's."""
        from pyspark.errors import PySparkException

        try:
            yield
        except PySparkException as error:
            told: Any = (
                failure_in(str(error))
                or (self.expectations.explain(error) if self.expectations is not None else None)
                or failed_step(error, self.pipeline, self.root)
                or source_failure(error, self.source)
            )
            if told is None:
                raise
            if isinstance(told, BadRecord) and self._sinks([]).hides(told.column):
                raise told.without_value() from None  # the cause shows it too
            raise told from error


def _with_aside(outcome: Outcome, reports: Sequence[Report]) -> tuple[Outcome, list[Report]]:
    """What was read and what was written, with the rows that went past Spark into quarantine."""
    if outcome.aside is None:
        return outcome, list(reports)
    aside = Report.parse(outcome.aside)
    return replace(outcome, rows=outcome.rows + aside.quarantined), [*reports, aside]


def _remove_others(gathered: Gathered) -> None:
    """Remove what tasks have left behind that came to their end before another one met a bad row."""
    folder = gathered.assignment.folder
    kept = {file.name for file in (*gathered.files, *gathered.quarantine)}
    for path in folder.glob("*.parquet"):
        if path.name not in kept:
            path.unlink(missing_ok=True)
