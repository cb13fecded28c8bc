"""What happens to rows between the source and the store: author → compile → verify → run.

Authors write functions over DataFrames, or SQL. What runs is the plan that was compiled from them.
"""

from hakiri.transforms.artifact import Artifact, artifact_path, read_artifact
from hakiri.transforms.authoring import Transform, pipeline
from hakiri.transforms.compiling import EVERY_TABLE
from hakiri.transforms.loading import load_transforms
from hakiri.transforms.project import (
    Compiled,
    CompiledFile,
    artifacts_of,
    compile_pipeline,
    compile_project,
    fresh_artifacts,
    orphans,
    working_plans,
    write_compiled,
)
from hakiri.transforms.running import failed_step, stored_plans, transformed
from hakiri.transforms.steps import LoadedTransform

__all__ = [
    "EVERY_TABLE",
    "Artifact",
    "Compiled",
    "CompiledFile",
    "LoadedTransform",
    "Transform",
    "artifact_path",
    "artifacts_of",
    "compile_pipeline",
    "compile_project",
    "failed_step",
    "fresh_artifacts",
    "load_transforms",
    "orphans",
    "pipeline",
    "read_artifact",
    "stored_plans",
    "transformed",
    "working_plans",
    "write_compiled",
]
