"""What was applied: a pipeline's declaration as one text, and a hash that also covers its transforms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.core.canonical import canonical_json, sha256_of
from hakiri.manifest import dump_pipeline
from hakiri.transforms import artifacts_of

if TYPE_CHECKING:
    from hakiri.manifest import PipelineSpec


def applied_text(spec: PipelineSpec) -> str:
    """The declaration as canonical JSON; secrets are named in it, never told."""
    return canonical_json(dump_pipeline(spec))


def spec_hash(spec: PipelineSpec, root: Path) -> str:
    """Equal as long as neither the declaration nor a compiled transform of it changes."""
    artifacts = {
        path: (root / path).read_text() for path in artifacts_of(spec, root) if (root / path).exists()
    }
    return sha256_of({"spec": dump_pipeline(spec), "transforms": artifacts})
