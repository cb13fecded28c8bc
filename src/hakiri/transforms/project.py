"""The transforms of a project: compiling what authors wrote, and finding what was compiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.core.errors import Place
from hakiri.transforms.artifact import (
    Artifact,
    artifact_path,
    artifact_text,
    plan_json,
    read_artifact,
)
from hakiri.transforms.compiling import Declared, compile_steps, languages
from hakiri.transforms.errors import TransformStale
from hakiri.transforms.scanning import source_hash, sources_of, with_helpers

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Relation

    from hakiri.manifest import PipelineSpec
    from hakiri.transforms.steps import LoadedTransform


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """One pipeline's transform, compiled: the plans as they are, and the artifact to be written."""

    artifact: Artifact
    plans: dict[str, Relation]

    @property
    def path(self) -> str:
        return artifact_path(self.artifact.pipeline)

    @property
    def text(self) -> str:
        return artifact_text(self.artifact)


def declared(spec: PipelineSpec) -> Declared:
    """What the steps of this pipeline may name."""
    return Declared(
        pipeline=spec.id,
        tables=tuple(table.name for table in spec.tables),
        references=tuple(spec.references),
    )


def compile_pipeline(spec: PipelineSpec, steps: Sequence[LoadedTransform], root: Path) -> Compiled:
    """The steps of one pipeline as an artifact; nothing is written and no Spark is started."""
    plans = compile_steps(steps, declared(spec), root)
    files = with_helpers(root, [root / step.place.file for step in steps])
    artifact = Artifact(
        pipeline=spec.id,
        engine_version=version("pyspark"),
        source_lang=languages(steps),
        source_hash=source_hash(root, files),
        sources=tuple(path.relative_to(root).as_posix() for path in files),
        plan=plan_json(plans),
    )
    return Compiled(artifact=artifact, plans=plans)


def artifacts_of(spec: PipelineSpec, root: Path) -> tuple[str, ...]:
    """The artifacts that the pipeline's rows go through, in order, relative to the project.

    Those that the manifest lists, else the pipeline's own if it has one or a file that should make one.
    """
    if spec.transforms:
        return tuple(transform.artifact for transform in spec.transforms)
    own = artifact_path(spec.id)
    return (own,) if (root / own).exists() or sources_of(root, spec.id) else ()


def fresh_artifacts(spec: PipelineSpec, root: Path) -> tuple[Artifact, ...]:
    """The pipeline's compiled transforms, if they are what the authors' files say now.

    Raises TransformMissing, TransformStale and BrokenArtifact. Runs nothing and loads no Spark. An artifact
    whose sources are not in the project is taken as it is: some projects keep only what was compiled.
    """
    found = []
    for path in artifacts_of(spec, root):
        artifact = read_artifact(root, path, spec.id)
        now = sources_of(root, artifact.pipeline)
        if not now:
            now = [root / source for source in artifact.sources if (root / source).exists()]
        if now and source_hash(root, now) != artifact.source_hash:
            names = tuple(source.relative_to(root).as_posix() for source in now)
            raise TransformStale(Place(path), artifact.pipeline, names)
        found.append(artifact)
    return tuple(found)
