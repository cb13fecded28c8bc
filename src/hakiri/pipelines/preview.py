"""A look at what a pipeline gives: its source through its transform, a few rows, nothing written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hakiri.core.secrets import take_secrets
from hakiri.sources.read import check_source, read_source
from hakiri.transforms.loading import load_transforms

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
    check_source(spec.source, project.root)
    return spec


def preview_pipeline(
    spark: SparkSession, root: Path, spec: PipelineSpec, pipelines: tuple[str, ...], *, rows: int
) -> Preview:
    """Run the pipeline's source and transforms and bring back the first `rows`."""
    steps = [step for step in load_transforms(root, pipelines) if step.pipeline == spec.id]
    source = read_source(spark, spec.source, root)
    result = reduce(lambda frame, step: step.function(frame), steps, source).limit(rows)
    table = result.toArrow()
    return Preview(
        columns=tuple((field.name, field.dataType.simpleString()) for field in result.schema.fields),
        rows=tuple(tuple(row.values()) for row in table.to_pylist()),
        steps=tuple(str(step.place) for step in steps),
    )
