from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

if TYPE_CHECKING:
    from conftest import Run

MANIFEST = """\
[project]
name = "shop"

[engine]
idle_timeout = "20m"
conf = { "spark.a" = "1" }

[context]
path = "store"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "hakiri.toml").write_text(MANIFEST)
    return tmp_path


def rows(run: Run, *args: str) -> dict[str, tuple[str | None, str, str]]:
    settings = run("config", "--json", *args).data["settings"]
    return {row["key"]: (row["value"], row["origin"], row["where"]) for row in settings}


def test_every_setting_is_shown_with_where_its_value_came_from(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAKIRI_CONTEXT_PATH", "elsewhere")

    shown = rows(run, "--set", "engine.master=local[2]")

    assert shown["engine.master"] == ("local[2]", "flag", "--set")
    assert shown["context.path"] == ("elsewhere", "environment", "HAKIRI_CONTEXT_PATH")
    assert shown["engine.idle_timeout"] == ("20m", "manifest", "hakiri.toml:5")
    assert shown["engine.conf.spark.a"] == ("1", "manifest", "hakiri.toml:6")
    assert shown["sync.region"] == ("auto", "default", "default")
    assert shown["sync.bucket"] == (None, "default", "default")


def test_the_table_names_value_and_source(run: Run, project: Path) -> None:
    outcome = run("config")

    lines = [line.split(maxsplit=2) for line in outcome.out.splitlines()]
    assert lines[0] == ["setting", "value", "from"]
    assert ["engine.idle_timeout", "20m", "manifest (hakiri.toml:5)"] in lines
    assert ["engine.archive", "true", "default"] in lines


def test_secrets_are_never_shown(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAKIRI_SYNC_KEY_SECRET", "hunter2hunter2")
    monkeypatch.setenv("HAKIRI_CATALOG_URL", "postgresql://me:hunter2hunter2@host/db")

    outcomes = [run("config"), run("config", "--json"), run("-v", "config", "get", "sync.key_secret")]

    assert not any("hunter2" in outcome.out + outcome.err for outcome in outcomes)
    assert outcomes[2].out == "***\n"


def test_get_prints_one_value_and_nothing_else(run: Run, project: Path) -> None:
    outcome = run("config", "get", "engine.idle_timeout")

    assert (outcome.code, outcome.out, outcome.err) == (0, "20m\n", "")


def test_get_prints_a_whole_section(run: Run, project: Path) -> None:
    outcome = run("config", "get", "context")

    assert outcome.out == (
        "setting                      value\ncontext.path                 store\n"
        "context.default_destination  context\ncontext.rename               true\n"
    )


def test_a_mistyped_key_names_the_nearest(run: Run, project: Path) -> None:
    outcome = run("config", "get", "engine.mastr")

    assert outcome.code == 2
    assert outcome.err == (
        "error[settings.unknown_key]: `engine.mastr` in the command is not a setting\n"
        "hint: did you mean `engine.master`?\n"
    )


def test_several_wrong_settings_are_told_at_once(run: Run, project: Path) -> None:
    outcome = run("config", "--set", "engine.archive=perhaps", "--set", "nosuch=1", "--json")

    assert outcome.code == 2
    assert outcome.err.count("error[") == 2
    problems = outcome.data["error"]["problems"]
    assert {(problem["code"], problem["field"]) for problem in problems} == {
        ("settings.bad_value", "engine.archive"),
        ("settings.unknown_key", "nosuch"),
    }


def test_a_variable_that_is_nearly_a_setting_is_warned_of(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAKIRI_ENGINE_MASTR", "x")

    outcome = run("config", "--json")

    assert outcome.err == (
        "warning: `HAKIRI_ENGINE_MASTR` is not a setting, did you mean `HAKIRI_ENGINE_MASTER`?\n"
    )
    assert len(outcome.data["warnings"]) == 1


def test_settings_are_shown_without_a_project_too(run: Run) -> None:
    assert rows(run)["engine.master"] == ("local[*]", "default", "default")


@pytest.mark.spec("HP-015")
def test_schema_export_writes_schemas_that_a_stock_validator_takes(run: Run, project: Path) -> None:
    outcome = run("schema", "export", "--json")

    assert outcome.data["files"] == [".hakiri/schema/pipeline.json", ".hakiri/schema/project.json"]
    schema = json.loads((project / ".hakiri/schema/pipeline.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    pipeline = {
        "$schema": "https://hakiri.dev/schemas/v1/pipeline.json",
        "id": "github-issues",
        "source": {"connector": "github", "config": {"repo": "OpenHackersClub/gctrl"}},
        "tables": ["issues", "pull_requests", "comments"],
        "schedule": "every 15m",
        "incremental": "updated_at",
    }
    assert validator.is_valid(pipeline)
    assert not validator.is_valid({**pipeline, "tabels": []})


def test_init_writes_the_same_schemas_as_schema_export(run: Run, tmp_path: Path) -> None:
    run("init", "--name", "shop")
    files = sorted((tmp_path / ".hakiri/schema").iterdir())
    before = [file.read_bytes() for file in files]

    run("schema", "export")

    assert [file.read_bytes() for file in files] == before
    assert len(files) == 2
