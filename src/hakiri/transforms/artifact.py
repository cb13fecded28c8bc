"""The compiled transform as a file: `pipelines/<id>.transforms.json`, made for review and for running."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hakiri.core.errors import Place
from hakiri.transforms.errors import BrokenArtifact, OtherEngine, TransformMissing

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Relation

SCHEMA_URL = "https://hakiri.dev/schemas/v1/transforms.json"
ENGINE = "spark"
ARTIFACT_SUFFIX = ".transforms.json"
_FIELDS = {
    "$schema": str,
    "pipeline_id": str,
    "engine": str,
    "engine_version": str,
    "source_lang": str,
    "source_hash": str,
    "sources": list,
    "plan": dict,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A compiled transform. Only `plan` decides what happens to rows; the rest says where it came from.

    `plan` holds one relation for each table of the source that has its own, and `*` for the others.
    """

    pipeline: str
    engine_version: str
    source_lang: str
    source_hash: str
    sources: tuple[str, ...]
    plan: Mapping[str, Any]


def artifact_path(pipeline: str) -> str:
    """Where the artifact of a pipeline is, relative to the project."""
    return f"pipelines/{pipeline}{ARTIFACT_SUFFIX}"


def plan_json(plans: Mapping[str, Relation]) -> dict[str, Any]:
    """The plans as JSON values, in the one form in which equal transforms are equal."""
    from google.protobuf.json_format import MessageToDict

    from hakiri.transforms.walking import canonical

    return {
        table: MessageToDict(canonical(plan), preserving_proto_field_name=True)
        for table, plan in sorted(plans.items())
    }


def artifact_text(artifact: Artifact) -> str:
    """The file's text: the same artifact gives the same bytes."""
    content = {
        "$schema": SCHEMA_URL,
        "pipeline_id": artifact.pipeline,
        "engine": ENGINE,
        "engine_version": artifact.engine_version,
        "source_lang": artifact.source_lang,
        "source_hash": artifact.source_hash,
        "sources": list(artifact.sources),
        "plan": artifact.plan,
    }
    ordered = content | {"plan": json.loads(json.dumps(artifact.plan, sort_keys=True))}
    return json.dumps(ordered, indent=2, ensure_ascii=False) + "\n"


def read_artifact(root: Path, path: str, pipeline: str) -> Artifact:
    """The artifact in the project's file; raises TransformMissing and BrokenArtifact.

    Checks the form of the file and not yet the plan: that takes Spark's classes.
    """
    place = Place(path)
    try:
        text = (root / path).read_text("utf-8")
    except FileNotFoundError as error:
        raise TransformMissing(place, pipeline) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BrokenArtifact(place, str(error)) from error
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenArtifact(place, f"it is no JSON ({type(error).__name__})") from error
    if not isinstance(data, dict):
        raise BrokenArtifact(place, "it is no JSON object")
    for name, kind in _FIELDS.items():
        if not isinstance(data.get(name), kind):
            raise BrokenArtifact(place, f"`{name}` is missing or of the wrong kind")
    if data["engine"] != ENGINE:
        raise OtherEngine(place, data["engine"], data["engine_version"])
    return Artifact(
        pipeline=data["pipeline_id"],
        engine_version=data["engine_version"],
        source_lang=data["source_lang"],
        source_hash=data["source_hash"],
        sources=tuple(str(source) for source in data["sources"]),
        plan=data["plan"],
    )
