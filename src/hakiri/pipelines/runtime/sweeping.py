"""Finding deletes by what is missing: keys that the store has and that a re-read did not bring again."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hakiri.pipelines.chunks.bounds import axis_of
from hakiri.pipelines.runtime.ground import Ground
from hakiri.pipelines.runtime.jobs import Assignment, Gathered, TableJob
from hakiri.pipelines.runtime.tables import TableWork
from hakiri.pipelines.stored import quoted, stored_rows
from hakiri.sources.contract import Bound
from hakiri.store.reading import VisibleFiles
from hakiri.store.rows import OP, POSITION, SEQ, Op

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.connect.dataframe import DataFrame


def swept(ground: Ground, job: TableJob, work: TableWork, assignment: Assignment) -> Gathered:
    """Write a delete for every key whose newest row is older than the re-read, inside of its window."""
    seen = ground.find_files(work.store)
    if seen is None:
        return Gathered(
            assignment=assignment,
            files=(),
            quarantine=(),
            read=0,
            written=0,
            quarantined=0,
            content_sum=0,
            cursor=None,
        )
    return job.write_frame(assignment, _missing(job, work, assignment, seen))


def _missing(job: TableJob, work: TableWork, assignment: Assignment, seen: VisibleFiles) -> DataFrame:
    from pyspark.sql import functions as F

    piece = assignment.piece
    key = [quoted(name) for name in work.primary_key]
    field = None if piece.window is None else quoted(piece.window.field)
    every = stored_rows(job.spark, work.store, seen)
    beside = [field] if field is not None and field not in key else []
    newest = every.groupBy(*key).agg(F.max(F.struct(SEQ, POSITION, OP, *beside)).alias("_n"))
    is_missing = (F.col(f"_n.{OP}") == Op.UPSERT.value) & (F.col(f"_n.{SEQ}") < F.lit(piece.since_seq))
    if piece.window is not None and field is not None:
        value = F.col(field) if field in key else F.col(f"_n.{field}")
        if piece.window.since is not None:
            is_missing &= value >= _literal(piece.window.since)
        if piece.window.until is not None:
            is_missing &= value < _literal(piece.window.until)
    gone = newest.where(is_missing).select(*key, F.lit(Op.DELETE.value).alias(OP))
    return cast("DataFrame", gone)


def _literal(bound: Bound) -> Column:
    from pyspark.sql import functions as F

    axis = axis_of([bound])
    if axis is not None and axis.is_time:
        return F.to_timestamp(F.lit(str(bound)))
    return F.lit(bound)
