"""The JSON Schema of every report, made from the types. Imports pydantic: for scripts and tests only."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from hakiri.cli.reports import REPORTS
from hakiri.cli.reports.envelope import SCHEMA_VERSION


def report_schema(name: str) -> dict[str, Any]:
    """The schema of what this command prints with `--json`, the version of its shape included."""
    made = TypeAdapter(REPORTS[name]).json_schema(mode="serialization", schema_generator=_Generator)
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        **made,
        "properties": {"schema_version": {"const": SCHEMA_VERSION}, **made["properties"]},
        "required": ["schema_version", *made["required"]],
    }


class _Generator(GenerateJsonSchema):
    """Leaves out what only repeats itself: a title made from the name of each key."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False
