"""Conversion says the same in the other format, and is never half done."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hakiri.core.errors import Place
from hakiri.manifest import (
    AlreadyThatFormat,
    DefinitionsDiffer,
    FileInTheWay,
    ManifestInvalid,
    NotInToml,
    convert_pipeline,
    load_project,
)
from hakiri.manifest.json_edit import json_document

PROJECT = '[project]\nname = "shop"\n'
BLOCK = """\
# About the issues.
[[pipeline]] # one
id = "issues"
source = { connector = "github", config = { repo = "o/r", since = 2010-01-01 } }
tables = ["issues"] # all "of" them
[pipeline.backfill]
# why so slow
window = "30d"
"""
OTHER = '[[pipeline]]\nid = "other"\nsource = { connector = "sql" }\ntables = ["t"] # stays\n'
IN_JSON = '{ "id": "issues", "source": { "connector": "sql" }, "tables": ["t"] }\n'


@pytest.mark.spec("HP-022")
def test_only_the_bytes_of_the_block_vanish_from_the_project_file(make_project) -> None:
    root = make_project({"hakiri.toml": f"{PROJECT}\n{BLOCK}\n{OTHER}"})
    spec = load_project(root).pipeline("issues")

    result = convert_pipeline(root, "issues", "json")

    assert result.path == root / "pipelines/issues.json"
    assert result.was == (Place("hakiri.toml", 5),)
    assert result.lost_comments == ("# About the issues.", "# one", '# all "of" them', "# why so slow")
    assert (root / "hakiri.toml").read_text(encoding="utf-8") == f"{PROJECT}\n{OTHER}"
    assert (
        result.path.read_text(encoding="utf-8")
        == """\
{
  "$schema": "https://hakiri.dev/schemas/v1/pipeline.json",
  "id": "issues",
  "source": { "connector": "github", "config": {"repo": "o/r", "since": "2010-01-01"} },
  "tables": ["issues"],
  "backfill": { "window": "30d" }
}
"""
    )
    assert load_project(root).pipeline("issues") == spec


@pytest.mark.spec("HP-022")
def test_a_file_becomes_a_file_of_the_other_format(make_project) -> None:
    root = make_project({"pipelines/old-name.json": IN_JSON})
    spec = load_project(root).pipeline("issues")

    result = convert_pipeline(root, "issues", "toml")

    assert result.path.read_text(encoding="utf-8") == (
        'id = "issues"\nsource = { connector = "sql" }\ntables = ["t"]\n'
    )
    assert [path.name for path in (root / "pipelines").iterdir()] == ["issues.toml"]
    assert load_project(root).pipeline("issues") == spec


def test_a_long_pipeline_reads_well_in_toml(make_project) -> None:
    data = {
        "id": "issues",
        "source": {"connector": "github", "config": {"repo": "o/r"}},
        "tables": [
            "pulls",
            {
                "name": "issues",
                "compaction": {"cluster_by": ["repo", "updated_at"], "partition_by": "month(updated_at)"},
                "indexes": [{"kind": "pk", "on": ["id"]}, {"kind": "fts", "columns": ["title", "body"]}],
            },
        ],
        "backfill": {"window": "30d", "parallelism": 4},
    }
    root = make_project({"pipelines/issues.json": json_document(data)})

    path = convert_pipeline(root, "issues", "toml").path

    assert (
        path.read_text(encoding="utf-8")
        == """\
id = "issues"
source = { connector = "github", config = { repo = "o/r" } }

[[tables]]
name = "pulls"

[[tables]]
name = "issues"
indexes = [{ kind = "pk", on = ["id"] }, { kind = "fts", columns = ["title", "body"] }]

[tables.compaction]
cluster_by = ["repo", "updated_at"]
partition_by = "month(updated_at)"

[backfill]
window = "30d"
parallelism = 4
"""
    )


@pytest.mark.parametrize(("file", "form"), [("pipelines/a.json", "json"), ("pipelines/a.toml", "toml")])
def test_a_conversion_to_the_same_format_is_refused(make_project, file: str, form: Any) -> None:
    text = IN_JSON if form == "json" else BLOCK
    root = make_project({file: text})

    with pytest.raises(AlreadyThatFormat) as caught:
        convert_pipeline(root, "issues", form)

    assert str(caught.value) == f"pipeline `issues` is written in {form.upper()} already"


def test_a_null_in_the_config_stops_a_conversion_to_toml(make_project) -> None:
    text = IN_JSON.replace('"sql"', '"sql", "config": { "a": [1, null] }')
    root = make_project({"pipelines/issues.json": text})

    with pytest.raises(NotInToml, match=r"`source.config.a\[1\]` is null"):
        convert_pipeline(root, "issues", "toml")

    assert (root / "pipelines/issues.json").read_text(encoding="utf-8") == text


def test_an_optional_key_that_is_null_is_left_out_of_toml(make_project) -> None:
    root = make_project({"pipelines/issues.json": IN_JSON.replace('"tables"', '"schedule": null, "tables"')})

    assert "schedule" not in convert_pipeline(root, "issues", "toml").path.read_text(encoding="utf-8")


@pytest.mark.spec("HP-017")
@pytest.mark.spec("HP-022")
@pytest.mark.parametrize("form", ["json", "toml"])
def test_equal_definitions_become_one_as_the_hint_promises(make_project, form: Any) -> None:
    block = 'id = "issues"\nsource = { connector = "sql" }\ntables = ["t"]\n'
    root = make_project(
        {"hakiri.toml": f"{PROJECT}\n[[pipeline]]\n{block}", "pipelines/issues.json": IN_JSON}
    )

    result = convert_pipeline(root, "issues", form)

    assert load_project(root).form_of("issues") == form
    assert result.path == root / ("pipelines/issues.json" if form == "json" else "hakiri.toml")


def test_two_equal_blocks_of_one_file_become_one_file(make_project) -> None:
    root = make_project({"hakiri.toml": f"{PROJECT}\n{BLOCK}\n{OTHER}\n{BLOCK}"})

    convert_pipeline(root, "issues", "json")

    assert [pipeline.id for pipeline in load_project(root).pipelines] == ["issues", "other"]


def test_definitions_that_differ_are_left_to_the_user(make_project) -> None:
    root = make_project({"hakiri.toml": f"{PROJECT}\n{BLOCK}", "pipelines/issues.json": IN_JSON})

    with pytest.raises(DefinitionsDiffer) as caught:
        convert_pipeline(root, "issues", "json")

    assert (
        str(caught.value) == "the definitions of pipeline `issues` differ in `source`, `tables`, `backfill`"
    )
    assert len(caught.value.places) == 2


def test_a_file_of_that_name_that_holds_another_pipeline_is_not_overwritten(make_project) -> None:
    root = make_project(
        {"hakiri.toml": f"{PROJECT}\n{BLOCK}", "pipelines/issues.json": IN_JSON.replace("issues", "x")}
    )

    with pytest.raises(FileInTheWay):
        convert_pipeline(root, "issues", "json")


def test_a_wrong_pipeline_is_not_converted(make_project) -> None:
    root = make_project({"hakiri.toml": f"{PROJECT}\n{BLOCK}parallelism = 0\n"})

    with pytest.raises(ManifestInvalid, match="`parallelism` must be at least 1"):
        convert_pipeline(root, "issues", "json")


START_OF_CONVERSIONS = {
    "from a block": ({"hakiri.toml": f"{PROJECT}\n{BLOCK}\n{OTHER}"}, "json"),
    "from a json file": ({"pipelines/issues.json": IN_JSON}, "toml"),
    "from a toml file": ({"pipelines/issues.toml": BLOCK}, "json"),
}


@pytest.mark.spec("HP-022")
@pytest.mark.parametrize("start", START_OF_CONVERSIONS)
def test_a_conversion_that_is_killed_leaves_exactly_one_definition(make_project, start: str) -> None:
    files, form = START_OF_CONVERSIONS[start]
    root = make_project(files)
    script = Path(__file__).with_name("die_converting.py")

    done = subprocess.run([sys.executable, script, root, form], capture_output=True, text=True, check=False)

    assert done.stderr == ""
    assert int(done.stdout) >= 4
