"""A look at what a pipeline gives: its source through its transform, a few rows, nothing written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hakiri.core.clock import Clock
from hakiri.core.errors import Place
from hakiri.pipelines.inputs import input_frame, reference_frames, source_failure
from hakiri.pipelines.stored import FindFiles
from hakiri.pipelines.tables import chosen_table
from hakiri.sources.contract import Read, Table
from hakiri.sources.reading import OpenSource, open_source
from hakiri.transforms import failed_step, transformed, working_plans
from hakiri.transforms.errors import TransformFailed

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Relation
    from pyspark.sql.connect.session import SparkSession

    from hakiri.manifest import PipelineSpec, Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The first rows of a pipeline, with the columns as Spark types them."""

    table: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...]
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """A pipeline that is ready to be looked at: everything that can be wrong without Spark is right."""

    project: Project
    spec: PipelineSpec
    source: OpenSource
    table: Table
    plans: tuple[Relation, ...]
    steps: tuple[Place, ...]


@contextmanager
def ready_to_preview(
    project: Project,
    pipeline_id: str,
    *,
    table: str | None,
    env: Mapping[str, str],
    clock: Clock,
    advertised: str | None = None,
) -> Iterator[Prospect]:
    """The pipeline with its source open and its transform compiled, as the files say now.

    `table` is one that the pipeline pulls, by its name at the source or in the store; the first by default.
    `advertised` is the host at which tasks reach this process, where they run on other machines.
    """
    spec = project.pipeline(pipeline_id)
    name = chosen_table(spec, table)
    place = project.place_of(spec.id)
    with open_source(spec, project=project, env=env, clock=clock, advertised=advertised) as source:
        plans, steps = working_plans(project, spec, name)
        yield Prospect(
            project=project,
            spec=spec,
            source=source,
            table=source.table(name, place),
            plans=tuple(plans),
            steps=tuple(steps),
        )


def preview_rows(spark: SparkSession, prospect: Prospect, *, rows: int, find_files: FindFiles) -> Preview:
    """Run the pipeline's source and transforms and bring back the first `rows`.

    Raises TransformFailed with the author's line, and the source's own errors.
    """
    from pyspark.errors import PySparkException

    spec, table = prospect.spec, prospect.table
    read = Read(table=table.name, incremental=spec.incremental, schema=table.schema, limit=rows)
    try:
        source = input_frame(spark, prospect.source, table, read)
        references = reference_frames(spark, prospect.project, spec, find_files) if prospect.plans else {}
        result = transformed(source, prospect.plans, references).limit(rows)
        columns = tuple((field.name, field.dataType.simpleString()) for field in result.schema.fields)
        _refuse_equal_names([name for name, _ in columns], spec.id, prospect.steps)
        cells = [column.to_pylist(maps_as_pydicts="strict") for column in result.toArrow().columns]
    except PySparkException as error:
        told = failed_step(error, spec.id, prospect.project.root) or source_failure(error, prospect.source)
        if told is None:
            raise
        raise told from error
    return Preview(
        table=table.name,
        columns=columns,
        # By column, since a row as a dict has no room for what an author may call alike.
        rows=tuple(zip(*cells, strict=True)),
        steps=tuple(map(str, prospect.steps)),
    )


def _refuse_equal_names(names: Sequence[str], pipeline: str, steps: Sequence[Place]) -> None:
    """No table has two columns of one name, and SQL takes `Id` and `id` for one."""
    twice = [name for name, count in Counter(name.lower() for name in names).items() if count > 1]
    if twice and steps:
        raise TransformFailed(steps[-1], pipeline, f"it gives the column `{twice[0]}` more than once")
