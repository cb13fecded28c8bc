"""The JSON Schema of the manifest, made from the types, and what it knows about the keys of a place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from hakiri.manifest.fields import Strict
from hakiri.manifest.files import write_text_atomically
from hakiri.manifest.layout import KeyPath
from hakiri.manifest.pipeline import SCHEMA_URL, PipelineSpec
from hakiri.manifest.sections import ProjectFile

PROJECT_SCHEMA_URL = "https://hakiri.dev/schemas/v1/project.json"
SCHEMA_FOLDER = ".hakiri/schema"

Schema = dict[str, Any]


def pipeline_schema() -> Schema:
    """The JSON Schema of one pipeline, for `pipelines/*.json` and bare `pipelines/*.toml`."""
    return schema_of(PipelineSpec, SCHEMA_URL, "Hakiri pipeline")


def project_schema() -> Schema:
    """The JSON Schema of `hakiri.toml`."""
    return schema_of(ProjectFile, PROJECT_SCHEMA_URL, "Hakiri project")


def schema_files() -> dict[str, str]:
    """The files that show editors both schemas: their texts, by their paths in the project."""
    schemas = {"pipeline.json": pipeline_schema(), "project.json": project_schema()}
    return {f"{SCHEMA_FOLDER}/{name}": schema_text(schema) for name, schema in schemas.items()}


def export_schemas(root: Path) -> list[Path]:
    """Write both schemas into the project's folder, for editors; returns what was written."""
    (root / SCHEMA_FOLDER).mkdir(parents=True, exist_ok=True)
    texts = schema_files()
    for file, text in texts.items():
        write_text_atomically(root / file, text)
    return [root / file for file in texts]


def schema_text(schema: Schema) -> str:
    """A schema as it is written to files."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def schema_of(model: type[Strict], url: str, title: str) -> Schema:
    """The schema of a model, under its own address."""
    made = model.model_json_schema(schema_generator=_Generator)
    return {"$schema": GenerateJsonSchema.schema_dialect, "$id": url, **made, "title": title}


@cache
def schema_for_lookup(model: type[Strict]) -> Schema:
    """The schema of a model, kept; for looking things up and not for changing."""
    return model.model_json_schema(schema_generator=_Generator)


def properties_at(schema: Schema, path: KeyPath, data: Any) -> dict[str, Schema]:
    """The keys that are known at this path, with their schemas; `data` decides where there is a choice."""
    options, here = [schema], data
    for part in path:
        options = [step for option in options for step in _steps(schema, option, here, part)]
        here = _inside(here, part)
    return {
        key: value
        for option in options
        for key, value in _chosen(schema, option, here).get("properties", {}).items()
    }


def _steps(schema: Schema, option: Schema, here: Any, part: str | int) -> Iterator[Schema]:
    chosen = _chosen(schema, option, here)
    if isinstance(part, int):
        step = chosen.get("items")
    else:
        others = [*chosen.get("patternProperties", {}).values(), chosen.get("additionalProperties")]
        step = chosen.get("properties", {}).get(part, others[0])
    if isinstance(step, dict):
        yield step


def _chosen(schema: Schema, option: Schema, here: Any) -> Schema:
    """The branch of this schema that fits the kind of the data, with references followed."""
    while "$ref" in option:
        option = schema["$defs"][option["$ref"].rpartition("/")[2]]
    branches = option.get("anyOf") or option.get("oneOf")
    if not branches:
        return option
    wanted = "object" if isinstance(here, dict) else "array" if isinstance(here, list) else "string"
    fitting = [
        chosen
        for branch in branches
        if (chosen := _chosen(schema, branch, here)).get("type") == wanted and _may_be(chosen, here)
    ]
    return fitting[0] if fitting else {}


def _may_be(chosen: Schema, here: Any) -> bool:
    kind = chosen.get("properties", {}).get("kind", {}).get("const")
    return kind is None or (isinstance(here, dict) and here.get("kind") == kind)


def _inside(here: Any, part: str | int) -> Any:
    if isinstance(part, int):
        return here[part] if isinstance(here, list) and part < len(here) else None
    return here.get(part) if isinstance(here, dict) else None


class _Generator(GenerateJsonSchema):
    """Keeps the order of the types, and leaves out titles that only repeat the name of a key."""

    def sort(self, value: Any, parent_key: str | None = None) -> Any:
        return value

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False
