"""A look at what a pipeline gives: its source through its transform, a few rows, nothing written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hakiri.core.secrets import take_secrets
from hakiri.sources import check_source, read_source, unreadable_file
from hakiri.transforms import LoadedTransform, failed_step, load_transforms, run_steps
from hakiri.transforms.errors import TransformFailed

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

    from hakiri.manifest import PipelineSpec, Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The first rows of a pipeline, with the columns as Spark types them."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...]
    steps: tuple[str, ...]


def check_preview(project: Project, pipeline_id: str, env: Mapping[str, str]) -> PipelineSpec:
    """The pipeline, once everything that can be wrong without Spark is known to be right."""
    spec = project.pipeline(pipeline_id)
    take_secrets(spec.secrets, env, wanted_by=f"pipeline `{spec.id}`")
    check_source(spec.source, project.root, project.place_of(spec.id))
    return spec


def preview_pipeline(spark: SparkSession, project: Project, spec: PipelineSpec, *, rows: int) -> Preview:
    """Run the pipeline's source and transforms and bring back the first `rows`.

    Raises TransformFailed with the author's line and UnreadableFile with the file, where Spark's error
    tells that it is about one of these.
    """
    from pyspark.errors import PySparkException

    root, place = project.root, project.place_of(spec.id)
    # Loaded only now: an author's `@udf("int")` wants a session as soon as the file is run.
    steps = [step for step in load_transforms(root, project.definitions) if step.pipeline == spec.id]
    source = read_source(spark, spec.source, root, place)
    try:
        result = run_steps(source, steps, root).limit(rows)
        columns = tuple((field.name, field.dataType.simpleString()) for field in result.schema.fields)
        _refuse_equal_names([name for name, _ in columns], steps)
        table = result.toArrow()
    except PySparkException as error:
        pattern = str(spec.source.config.get("path"))
        told = failed_step(error, spec.id, root) or unreadable_file(error, pattern, root, place)
        if told is None:
            raise
        raise told from error
    # By column, since a row as a dict has no room for what an author may call alike.
    cells = [column.to_pylist(maps_as_pydicts="strict") for column in table.columns]
    return Preview(
        columns=columns, rows=tuple(zip(*cells, strict=True)), steps=tuple(str(step.place) for step in steps)
    )


def _refuse_equal_names(names: Sequence[str], steps: Sequence[LoadedTransform]) -> None:
    """No table has two columns of one name, and SQL takes `Id` and `id` for one."""
    twice = [name for name, count in Counter(name.lower() for name in names).items() if count > 1]
    if twice and steps:
        last = steps[-1]
        raise TransformFailed(last.place, last.pipeline, f"it gives the column `{twice[0]}` more than once")
