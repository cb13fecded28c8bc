"""What was applied: a pipeline's declaration as one text, and a hash that also covers its transforms."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hakiri.core.canonical import canonical_json, sha256_of
from hakiri.manifest import dump_pipeline
from hakiri.transforms import artifacts_of

if TYPE_CHECKING:
    from hakiri.catalog.contract.pipelines import AppliedSpec
    from hakiri.manifest import PipelineSpec


def applied_text(spec: PipelineSpec) -> str:
    """The declaration as canonical JSON; secrets are named in it, never told."""
    return canonical_json(dump_pipeline(spec))


def spec_hash(spec: PipelineSpec, root: Path) -> str:
    """Equal as long as neither the declaration nor a compiled transform of it changes."""
    return declared_hash(dump_pipeline(spec), compiled_texts(spec, root))


def cursor_applied(applied: AppliedSpec, table: str) -> str | None:
    """The column by which a table was to be followed, by its name in the manifest; None for none."""
    declared = json.loads(applied.spec_json)
    tables = [{"name": each} if isinstance(each, str) else each for each in declared.get("tables", ())]
    own = next((each.get("incremental") for each in tables if each["name"] == table), None)
    return own or declared.get("incremental")


def declared_hash(declaration: Mapping[str, Any], transforms: Mapping[str, str]) -> str:
    """The hash of a declaration as plain values, with the texts of its compiled transforms."""
    return sha256_of({"spec": declaration, "transforms": transforms})


def compiled_texts(spec: PipelineSpec, root: Path) -> dict[str, str]:
    """The compiled transforms of a pipeline that are there, by path."""
    return {path: (root / path).read_text() for path in artifacts_of(spec, root) if (root / path).exists()}
