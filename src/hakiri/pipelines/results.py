"""What a transform makes of a table's columns, known before any row is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hakiri.core.clock import Clock
from hakiri.pipelines.inputs import empty_input, reference_frames
from hakiri.pipelines.stored import FindFiles
from hakiri.sources.reading import open_source
from hakiri.transforms import EVERY_TABLE, Compiled, failed_step, transformed

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession
    from pyspark.sql.types import StructType

    from hakiri.manifest import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSchema:
    """One table of a pipeline: the plan as a tree, and the columns before and after it."""

    pipeline: str
    table: str
    plan: tuple[str, ...]
    columns_in: tuple[tuple[str, str], ...]
    columns_out: tuple[tuple[str, str], ...]


def result_schemas(
    spark: SparkSession,
    project: Project,
    compiled: Sequence[Compiled],
    *,
    env: Mapping[str, str],
    clock: Clock,
    find_files: FindFiles,
) -> list[ResultSchema]:
    """The result of every compiled plan, as Spark's analyzer sees it. Asks the sources for their tables.

    Raises TransformFailed, with the author's line, for a plan that does not fit its table.
    """
    from pyspark.errors import PySparkException

    from hakiri.transforms.tree import plan_tree

    found = []
    for each in compiled:
        spec = project.pipeline(each.artifact.pipeline)
        with open_source(spec, project=project, env=env, clock=clock) as source:
            references = reference_frames(spark, project, spec, find_files)
            for name in [spec.source_name(table) for table in spec.tables]:
                plan = each.plans.get(name, each.plans.get(EVERY_TABLE))
                if plan is None:
                    continue
                before = empty_input(spark, source.table(name, project.place_of(spec.id)))
                try:
                    after = transformed(before, [plan], references).schema
                except PySparkException as error:
                    told = failed_step(error, spec.id, project.root)
                    if told is None:
                        raise
                    raise told from error
                found.append(
                    ResultSchema(
                        pipeline=spec.id,
                        table=name,
                        plan=tuple(plan_tree(plan)),
                        columns_in=_columns(before.schema),
                        columns_out=_columns(after),
                    )
                )
    return found


def _columns(schema: StructType) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, field.dataType.simpleString()) for field in schema.fields)
