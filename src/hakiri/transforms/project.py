"""The transforms of a project: compiling what authors wrote, and finding what was compiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.core.errors import Place
from hakiri.core.nearest import nearest
from hakiri.manifest.files import write_text_atomically
from hakiri.transforms.artifact import (
    ARTIFACT_SUFFIX,
    Artifact,
    artifact_path,
    artifact_text,
    plan_json,
    read_artifact,
)
from hakiri.transforms.compiling import EVERY_TABLE, Declared, compile_steps, languages
from hakiri.transforms.errors import NoTransformFile, TransformStale
from hakiri.transforms.loading import load_transforms
from hakiri.transforms.places import FOLDER
from hakiri.transforms.running import stored_plans
from hakiri.transforms.scanning import source_hash, sources_of, transform_files, with_helpers

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Relation

    from hakiri.manifest import PipelineSpec, Project
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledFile:
    """An artifact in the project, and whether it was something else before."""

    path: str
    sources: tuple[str, ...]
    is_changed: bool


def declared(spec: PipelineSpec) -> Declared:
    """What the steps of this pipeline may name."""
    return Declared(
        pipeline=spec.id,
        tables=tuple(spec.source_name(table) for table in spec.tables),
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


def compile_project(project: Project, files: Sequence[str] | None = None) -> list[Compiled]:
    """Every pipeline that has a step, compiled, in the order of their ids.

    With `files`, only the pipelines that have a step in one of these. Raises NoTransformFile.
    """
    root = project.root
    wanted = {_file_in_project(root, name) for name in files or ()}
    steps = load_transforms(root, project.definitions)
    compiled = []
    for spec in project.pipelines:
        own = [step for step in steps if step.pipeline == spec.id]
        if own and (not wanted or any(step.place.file in wanted for step in own)):
            compiled.append(compile_pipeline(spec, own, root))
    return compiled


def write_compiled(
    root: Path, compiled: Sequence[Compiled], *, only_look: bool = False
) -> list[CompiledFile]:
    """Write the artifacts that are not what they should be, each atomically; or only look."""
    outcomes = []
    for each in compiled:
        path = root / each.path
        is_changed = not path.exists() or path.read_text("utf-8", errors="replace") != each.text
        if is_changed and not only_look:
            path.parent.mkdir(exist_ok=True)
            write_text_atomically(path, each.text)
        outcomes.append(CompiledFile(path=each.path, sources=each.artifact.sources, is_changed=is_changed))
    return outcomes


def orphans(project: Project) -> list[str]:
    """Artifacts in `pipelines/` that no pipeline of the project goes through."""
    used = {path for spec in project.pipelines for path in artifacts_of(spec, project.root)}
    there = (project.root / "pipelines").glob(f"*{ARTIFACT_SUFFIX}")
    return sorted(name for path in there if (name := path.relative_to(project.root).as_posix()) not in used)


def _file_in_project(root: Path, name: str) -> str:
    """The path below the project of a file that somebody named, from wherever they stand."""
    known = [path.relative_to(root).as_posix() for path in transform_files(root)]
    for path in (Path(name).resolve(), (root / name).resolve(), (root / FOLDER / name).resolve()):
        if (
            path.is_relative_to(root.resolve())
            and (file := path.relative_to(root.resolve()).as_posix()) in known
        ):
            return file
    raise NoTransformFile(name, nearest(name, known), known)


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


def working_plans(project: Project, spec: PipelineSpec, table: str) -> tuple[list[Relation], list[Place]]:
    """The plans for this table as the authors' files say now, compiled or not, and where their steps are.

    For looking at what a transform does while it is being written. A transform of which the project has
    only the artifact is taken from that.
    """
    root = project.root
    loaded = load_transforms(root, project.definitions)
    plans: list[Relation] = []
    places: list[Place] = []
    for path in artifacts_of(spec, root):
        compiled_as = next((s.id for s in project.pipelines if artifact_path(s.id) == path), None)
        steps = [step for step in loaded if step.pipeline == compiled_as]
        if steps:
            by_table = compile_steps(steps, declared(spec), root)
            plan = by_table.get(table, by_table.get(EVERY_TABLE))
            plans += [plan] if plan is not None else []
            places += [step.place for step in steps if step.serves(table)]
        else:
            plans += stored_plans([read_artifact(root, path, spec.id)], table, spec.references)
            places.append(Place(path))
    return plans, places
