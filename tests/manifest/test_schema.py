"""The JSON Schema comes from the types, and stock validators agree with the loader."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import Field

from hakiri.manifest import export_schemas, pipeline_schema, project_schema
from hakiri.manifest.pipeline import PipelineSpec
from hakiri.manifest.schema import schema_of

DOCUMENTS = Path(__file__).parent / "documents"
HEAD = '[[pipeline]]\nid = "github-issues"\nsource = { connector = "github" }\n'


@pytest.mark.spec("HP-015")
def test_the_exported_schemas_are_valid_and_at_their_place(tmp_path: Path) -> None:
    written = export_schemas(tmp_path)

    assert [path.relative_to(tmp_path).as_posix() for path in written] == [
        ".hakiri/schema/pipeline.json",
        ".hakiri/schema/project.json",
    ]
    for path in written:
        jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.spec("HP-015")
def test_the_printed_manifests_validate_with_a_stock_validator() -> None:
    project = tomllib.loads((DOCUMENTS / "hakiri-000.toml").read_text(encoding="utf-8"))
    in_json = json.loads((DOCUMENTS / "github-issues-000.json").read_text(encoding="utf-8"))
    backfill = tomllib.loads((DOCUMENTS / "backfill-000.toml").read_text(encoding="utf-8"))
    tables = [
        tomllib.loads(HEAD + (DOCUMENTS / name).read_text(encoding="utf-8"))
        for name in ("compaction-001.toml", "indexes-001.toml")
    ]

    jsonschema.validate(project, project_schema())
    jsonschema.validate(in_json, pipeline_schema())
    for document in (backfill, *tables):
        jsonschema.validate(document["pipeline"][0], pipeline_schema())


def test_the_schemas_have_their_addresses_and_dialect() -> None:
    assert pipeline_schema()["$id"] == "https://hakiri.dev/schemas/v1/pipeline.json"
    assert project_schema()["$id"] == "https://hakiri.dev/schemas/v1/project.json"
    assert pipeline_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.spec("HP-012")
def test_a_field_that_is_added_to_the_type_is_in_the_schema() -> None:
    class Grown(PipelineSpec):
        owner: str = Field("", description="Who looks after it.")

    grown = schema_of(Grown, "https://example.org/x", "x")["properties"]

    assert grown["owner"] == {"type": "string", "default": "", "description": "Who looks after it."}
    assert grown.keys() - pipeline_schema()["properties"].keys() == {"owner"}


@pytest.mark.parametrize("schema", [pipeline_schema(), project_schema()])
def test_every_key_of_every_schema_is_described(schema: dict[str, Any]) -> None:
    defined = schema["$defs"]
    undescribed = [
        name
        for name, about in all_properties(schema)
        # A description that only repeats that of the type it refers to is left out by pydantic.
        if not {**defined.get(about.get("$ref", "").rpartition("/")[2], {}), **about}.get("description")
    ]

    assert undescribed == []


def all_properties(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield from schema.get("properties", {}).items()
        schema = list(schema.values())
    if isinstance(schema, list):
        for inner in schema:
            yield from all_properties(inner)


@pytest.mark.parametrize("schema", [pipeline_schema(), project_schema()])
def test_every_text_with_a_grammar_shows_examples_that_fit_it(schema: dict[str, Any]) -> None:
    texts = list(all_patterns(schema))

    assert len(texts) > 10
    for text in texts:
        for example in text["examples"]:
            jsonschema.validate(example, {"type": "string", "pattern": text["pattern"]})


def all_patterns(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if "pattern" in schema and schema.get("type") == "string":
            yield schema
        schema = list(schema.values())
    if isinstance(schema, list):
        for inner in schema:
            yield from all_patterns(inner)
