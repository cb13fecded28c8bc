"""Finding deletes by what is missing: keys that the store has and that a re-read did not bring again."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pyarrow as pa

from hakiri.engine.paths import spark_path
from hakiri.pipelines.chunks.bounds import axis_of
from hakiri.pipelines.chunks.pieces import Piece
from hakiri.pipelines.runtime.ground import Ground
from hakiri.pipelines.runtime.jobs import Assignment, Gathered, TableJob
from hakiri.pipelines.runtime.tables import TableWork
from hakiri.pipelines.stored import quoted, stored_rows
from hakiri.sources.bridge.schemas import spark_schema
from hakiri.sources.contract import Bound
from hakiri.store.reading import VisibleFiles
from hakiri.store.rows import OP, PIPELINE_ID, POSITION, ROW, SEQ, Op

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.connect.dataframe import DataFrame

_PAGE = 1000


def swept(ground: Ground, job: TableJob, work: TableWork, assignment: Assignment) -> Gathered:
    """Write a delete for every key whose newest row is older than the re-read, inside of what that covers.

    That are rows of the same pipeline, partition and window: others may bring rows of the table as well. What
    the re-read brought and set aside is not missing; the row that is stored under its key stays.
    """
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
    covered = _seqs_of_partition(ground, job, work, assignment) if assignment.piece.partition else None
    return job.write_frame(assignment, _missing(job, work, assignment, seen, covered))


def _seqs_of_partition(
    ground: Ground, job: TableJob, work: TableWork, assignment: Assignment
) -> list[tuple[int]]:
    """The numbers of all claims that brought rows of the partition; no column need tell which it is."""
    seqs: list[tuple[int]] = []
    after = None
    while page := ground.catalog.chunks.landed(work.store, after=after, limit=_PAGE):
        seqs += [
            (chunk.seq,)
            for chunk in page
            if chunk.seq is not None
            and chunk.pipeline == job.pipeline
            and Piece.parse(chunk.predicate).partition == assignment.piece.partition
        ]
        after = (page[-1].pipeline, page[-1].chunk)
    return seqs


def _missing(
    job: TableJob,
    work: TableWork,
    assignment: Assignment,
    seen: VisibleFiles,
    covered: list[tuple[int]] | None,
) -> DataFrame:
    from pyspark.sql import functions as F

    piece = assignment.piece
    key = [quoted(name) for name in work.primary_key]
    field = None if piece.window is None else quoted(piece.window.field)
    every = stored_rows(job.spark, work.store, seen)
    beside = [field] if field is not None and field not in key else []
    newest = every.groupBy(*key).agg(F.max(F.struct(SEQ, POSITION, OP, PIPELINE_ID, *beside)).alias("_n"))
    is_missing = (F.col(f"_n.{OP}") == Op.UPSERT.value) & (F.col(f"_n.{SEQ}") < F.lit(piece.since_seq))
    is_missing &= F.col(f"_n.{PIPELINE_ID}") == job.pipeline
    if piece.window is not None and field is not None:
        value = F.col(field) if field in key else F.col(f"_n.{field}")
        if piece.window.since is not None:
            is_missing &= value >= _literal(piece.window.since)
        if piece.window.until is not None:
            is_missing &= value < _literal(piece.window.until)
    missing = newest.where(is_missing)
    if covered is not None:
        seqs = job.spark.createDataFrame(covered, "_covered bigint")
        missing = missing.join(seqs, F.col(f"_n.{SEQ}") == F.col("_covered"), "left_semi")
    if seen.quarantine:
        aside = _set_aside(job, work, assignment, seen)
        same_key = [F.col(name) == F.col(other) for name, other in zip(key, aside.columns, strict=True)]
        missing = missing.join(aside, same_key, "left_anti")
    return cast("DataFrame", missing.select(*key, F.lit(Op.DELETE.value).alias(OP)))


def _set_aside(job: TableJob, work: TableWork, assignment: Assignment, seen: VisibleFiles) -> DataFrame:
    """The keys of the rows that the re-read put into quarantine, as far as they can be read there."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    rows = job.spark.read.parquet(*(spark_path(str(path)) for path in seen.quarantine))
    texts = F.from_json(ROW, T.MapType(T.StringType(), T.StringType()))
    schema = pa.schema([work.target.schema.field(name) for name in work.primary_key])
    keys = [
        (F.unhex(texts[field.name]) if isinstance(field.dataType, T.BinaryType) else texts[field.name])
        .try_cast(field.dataType)
        .alias(f"_key_{number}")
        for number, field in enumerate(spark_schema(schema, work.store))
    ]
    brought = rows.where(F.col(SEQ) >= F.lit(assignment.piece.since_seq))
    return cast("DataFrame", brought.select(*keys))


def _literal(bound: Bound) -> Column:
    from pyspark.sql import functions as F

    axis = axis_of([bound])
    if axis is not None and axis.is_time:
        return F.to_timestamp(F.lit(str(bound)))
    return F.lit(bound)
