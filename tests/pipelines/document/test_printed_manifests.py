"""What the document prints of manifests: their files and forms, an id twice, and the commands for both."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from tests.support.door import Door
from tests.support.printed import AS_JSON, PROJECT, printed

TWICE = """\
error: pipeline `github-issues` defined in two places:
hakiri.toml:42
pipelines/github-issues.json:1
hint: keep one source of truth; run `hakiri pipeline convert github-issues --to json` to migrate
"""


@pytest.fixture
def hakiri(tmp_path: Path) -> Door:
    return Door(folder=tmp_path)


def plain(text: str) -> str:
    """Without the code of the error and the indents, which the document does not print."""
    lines = (line.strip() for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines).replace("error[manifest.duplicate_pipeline]", "error")


@pytest.mark.spec("HP-015")
def test_duplicate_ids_are_an_error_with_the_words_that_are_printed_and_the_hint_mends_it(
    hakiri: Door,
) -> None:
    text = printed(PROJECT)
    head, mark, pipelines = text.partition("[[pipeline]]")
    comments = "# which moves the first pipeline to the line that is printed\n" * (41 - head.count("\n"))
    hakiri.write("hakiri.toml", f"{head}{comments}{mark}{pipelines}")
    hakiri.write("pipelines/github-issues.json", printed(AS_JSON))

    refused = hakiri("plan", "--offline")

    assert (refused.code, plain(refused.err)) == (2, TWICE)

    hakiri.done("pipeline", "convert", "github-issues", "--to", "json")

    assert hakiri.done("plan", "--offline").out.endswith("Plan for openhackers-warehouse: 2 to create.\n")


def test_schema_export_writes_the_schema_that_the_printed_json_is_valid_against(hakiri: Door) -> None:
    hakiri.write("hakiri.toml", '[project]\nname = "openhackers-warehouse"\n')

    hakiri.done("schema", "export")

    schema = json.loads((hakiri.folder / ".hakiri" / "schema" / "pipeline.json").read_text())
    jsonschema.validate(json.loads(printed(AS_JSON)), schema)


def test_pipeline_create_writes_json_by_default_and_appends_toml_when_asked(hakiri: Door) -> None:
    hakiri.write("hakiri.toml", '[project]\nname = "openhackers-warehouse"\n')
    create = ("--connector", "github", "--config", "repo=OpenHackersClub/gctrl", "--table", "issues")

    hakiri.done("pipeline", "create", "github-issues", *create)
    hakiri.done("pipeline", "create", "github-more", "--format=toml", *create)

    assert json.loads((hakiri.folder / "pipelines/github-issues.json").read_text())["id"] == "github-issues"
    assert '\n[[pipeline]]\nid = "github-more"\n' in (hakiri.folder / "hakiri.toml").read_text()


def test_pipeline_edit_keeps_the_comments_and_the_order_of_the_printed_toml(hakiri: Door) -> None:
    hakiri.write("hakiri.toml", printed(PROJECT))

    hakiri.done("pipeline", "edit", "github-issues", "--field", "schedule=every 30m")

    edited = printed(PROJECT).replace('schedule = "every 15m"', 'schedule = "every 30m"')
    assert (hakiri.folder / "hakiri.toml").read_text() == edited


def test_pipeline_convert_gives_the_other_form_and_loses_nothing_but_comments(hakiri: Door) -> None:
    hakiri.write("hakiri.toml", printed(PROJECT))

    converted = hakiri.done("pipeline", "convert", "github-issues", "--to", "json")

    assert "`# cursor strategy`" in converted.err
    told = json.loads((hakiri.folder / "pipelines/github-issues.json").read_text())
    expected = json.loads(printed(AS_JSON))
    assert told | {"$schema": expected["$schema"]} == expected
