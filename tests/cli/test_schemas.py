"""What commands print with `--json` is what docs/schemas promises."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from hakiri.cli.reports import REPORTS

if TYPE_CHECKING:
    from conftest import Outcome, Run

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "docs" / "schemas"

NEW = ("pipeline", "create", "refunds", "--connector", "files", "--config", "path=x", "--table", "refunds")
READ_TODO = ("--connector", "todo", "--config", "path=data/todo.jsonl", "--table", "items")
TODO = (("source", "new", "todo"), ("pipeline", "create", "todo", *READ_TODO))
# What each command is shown with: the calls that prepare a project, then the call itself.
CALLS = {
    "backfill-chunks": [("backfill", "chunks", "orders", "--json")],
    "catalog-check": [("catalog", "migrate"), ("catalog", "check", "--json")],
    "catalog-migrate": [("catalog", "migrate", "--json")],
    "catalog-status": [("catalog", "status", "--json")],
    "config": [("config", "--json")],
    "config-get": [("config", "get", "engine.master", "--json")],
    "context-check": [("catalog", "migrate"), ("context", "check", "--json")],
    "context-compact": [("context", "compact", "--json")],
    "context-gc": [("context", "gc", "--dry-run", "--json")],
    "cursor-get": [("cursor", "get", "orders", "--json")],
    "cursor-log": [("cursor", "log", "orders", "--json")],
    "doctor": [("doctor", "--no-spark", "--json")],
    "engine-status": [("engine", "status", "--json")],
    "init": [("init", "inner", "--json")],
    "pipeline-convert": [("pipeline", "convert", "orders", "--to", "json", "--json")],
    "pipeline-create": [(*NEW, "--json")],
    "pipeline-describe": [("pipeline", "describe", "orders", "--json")],
    "pipeline-edit": [("pipeline", "edit", "orders", "--field", "schedule=every 1h", "--json")],
    "pipeline-list": [NEW, ("pipeline", "list", "--json")],
    "plan": [("plan", "--json")],
    "query": [("query", "SELECT 1 AS a", "--json")],
    "runs-list": [("runs", "list", "--json")],
    "schema-export": [("schema", "export", "--json")],
    "schema-regen-view": [("catalog", "migrate"), ("schema", "regen-view", "--json")],
    "source-check": [*TODO, ("source", "check", "todo", "--json")],
    "source-describe": [*TODO, ("source", "describe", "todo", "--json")],
    "source-list": [("source", "list", "--json")],
    "source-new": [("source", "new", "todo", "--json")],
    "source-sample": [*TODO, ("source", "sample", "todo", "--json")],
    "source-tables": [*TODO, ("source", "tables", "todo", "--json")],
    "status": [("status", "--json")],
}


def validate(name: str, outcome: Outcome) -> None:
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(outcome.data)
    assert outcome.data.keys() == schema["properties"].keys()


def test_docs_schemas_is_what_the_types_say() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "write_schemas.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, f"{done.stderr}run `make schemas`"


@pytest.mark.parametrize("name", sorted(CALLS))
def test_the_output_of_a_command_fits_its_schema(run: Run, name: str) -> None:
    run("init", "--name", "shop")
    *before, asked = CALLS[name]
    for call in before:
        run(*call)

    outcome = run(*asked)

    assert outcome.code == 0
    assert outcome.out.count("\n") == 1
    validate(name, outcome)


@pytest.mark.parametrize(
    "args",
    [
        ("nosuch", "--json"),
        ("pipeline", "list", "--nosuch", "--json"),
        ("pipeline", "describe", "nosuch", "--json"),
        ("config", "--set", "a=1", "--set", "b=2", "--json"),
        ("pipeline", "create", "x", "--connector", "1 2", "--table", "", "--json"),
    ],
)
def test_every_error_fits_the_schema_of_errors(run: Run, args: tuple[str, ...]) -> None:
    run("init", "--name", "shop")

    outcome = run(*args)

    assert outcome.code == 2
    assert outcome.err.startswith("error[")
    validate("error", outcome)


def test_every_report_is_shown_by_a_command() -> None:
    # Other test files show the reports of the commands that need more than a manifest.
    assert CALLS.keys() <= REPORTS.keys()
