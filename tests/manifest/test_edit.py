"""Creating and changing pipelines: only the bytes that must change do, and nothing wrong is ever written."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from hakiri.manifest import (
    REMOVE,
    BadChange,
    DuplicatePipeline,
    FileInTheWay,
    ManifestInvalid,
    PipelineExists,
    UnknownPipeline,
    create_pipeline,
    edit_pipeline,
    load_project,
    parse_pipeline,
    value_from_text,
)

INLINE = """\
# The shop.
[project]
name = "shop"   # do not rename

# --- pipelines ---

[[pipeline]]
id   = 'issues'      # the first
source = { connector = "github", config = { repo = "o/r" } }
tables = [
    "issues",   # all of them
    "pulls",
]
backfill.window = "30d"

# About the orders.
[[pipeline]]
id = "orders"
source = { connector = "sql" }
[pipeline.backfill]
parallelism = 2 # gently

[[pipeline.tables]]
name = "orders"

# The end.
"""
IN_JSON = """\
{
    "id": "users",
    "schedule": "every 15m",
    "source": {"connector": "sql"},
    "tables": [
        "users",
        {"name": "roles", "primary_key": ["id"]}
    ]
}
"""
SPEC = parse_pipeline(
    {
        "id": "new",
        "source": {"connector": "github", "config": {"repo": "o/r"}},
        "tables": ["issues"],
        "schedule": "every 5m",
    }
)


def edited(root: Path, pipeline: str, changes: dict[str, Any]) -> str:
    return edit_pipeline(root, pipeline, changes).path.read_bytes().decode()


@pytest.mark.spec("HP-018")
def test_a_new_pipeline_is_json_in_a_file_of_its_own(make_project) -> None:
    root = make_project()

    path = create_pipeline(root, SPEC)

    assert path == root / "pipelines/new.json"
    assert (
        path.read_text(encoding="utf-8")
        == """\
{
  "$schema": "https://hakiri.dev/schemas/v1/pipeline.json",
  "id": "new",
  "source": { "connector": "github", "config": {"repo": "o/r"} },
  "tables": ["issues"],
  "schedule": "every 5m"
}
"""
    )
    assert load_project(root).pipeline("new") == SPEC


@pytest.mark.spec("HP-019")
@pytest.mark.parametrize("before", [INLINE, INLINE.rstrip("\n"), INLINE.replace("\n", "\r\n")])
def test_a_new_toml_pipeline_is_added_to_the_end_of_the_project_file(make_project, before: str) -> None:
    root = make_project({"hakiri.toml": before})

    path = create_pipeline(root, SPEC, "toml")

    after = path.read_bytes().decode()
    newline = "\r\n" if "\r\n" in before else "\n"
    assert after.startswith(before)
    assert after[len(before) :].lstrip("\r\n").split(newline) == [
        "[[pipeline]]",
        'id = "new"',
        'source = { connector = "github", config = { repo = "o/r" } }',
        'tables = ["issues"]',
        'schedule = "every 5m"',
        "",
    ]
    assert load_project(root).pipeline("new") == SPEC


@pytest.mark.parametrize("form", ["json", "toml"])
def test_an_id_that_is_taken_is_refused_and_nothing_is_written(make_project, form: Any) -> None:
    root = make_project({"hakiri.toml": INLINE.replace('"orders"', '"new"', 1)})

    with pytest.raises(PipelineExists) as caught:
        create_pipeline(root, SPEC, form)

    assert str(caught.value.places[0]) == "hakiri.toml:17"
    assert sorted(path.name for path in root.iterdir()) == ["hakiri.toml"]


def test_a_file_that_would_be_overwritten_is_refused(make_project) -> None:
    root = make_project({"pipelines/new.json": IN_JSON})

    with pytest.raises(FileInTheWay):
        create_pipeline(root, SPEC)

    assert (root / "pipelines/new.json").read_text(encoding="utf-8") == IN_JSON


def test_a_block_is_not_added_to_pipelines_that_are_an_inline_list(make_project) -> None:
    root = make_project({"hakiri.toml": 'pipeline = []\n[project]\nname = "x"\n'})

    with pytest.raises(BadChange, match="cannot be added to"):
        create_pipeline(root, SPEC, "toml")


@pytest.mark.spec("HP-020")
@pytest.mark.spec("HP-021")
@pytest.mark.parametrize(
    ("pipeline", "changes", "old", "new"),
    [
        ("issues", {"source.config.repo": "x/y"}, '{ repo = "o/r" }', '{ repo = "x/y" }'),
        ("issues", {"source.config.token": 1}, '{ repo = "o/r" }', '{ repo = "o/r", token = 1 }'),
        ("issues", {"backfill.window": "7d"}, 'window = "30d"', 'window = "7d"'),
        (
            "issues",
            {"backfill.parallelism": 4},
            'backfill.window = "30d"\n',
            'backfill.window = "30d"\nbackfill.parallelism = 4\n',
        ),
        ("issues", {"backfill": REMOVE}, 'backfill.window = "30d"\n', ""),
        (
            "issues",
            {"schedule": "every 5m"},
            'backfill.window = "30d"\n',
            'backfill.window = "30d"\nschedule = "every 5m"\n',
        ),
        ("issues", {"tables.pulls": "comments"}, '"pulls"', '"comments"'),
        ("issues", {"tables[0].as": "tickets"}, '"issues",', '{ name = "issues", as = "tickets" },'),
        ("issues", {"tables.issues": REMOVE}, '"issues",   # all of them\n    "pulls"', '"pulls"'),
        ("issues", {"id": "issues-2"}, "'issues'", '"issues-2"'),
        ("orders", {"backfill.parallelism": 8}, "parallelism = 2 # gently", "parallelism = 8 # gently"),
        ("orders", {"backfill": REMOVE}, "[pipeline.backfill]\nparallelism = 2 # gently\n", ""),
        (
            "orders",
            {"tables.orders.primary_key": ["id"]},
            'name = "orders"\n',
            'name = "orders"\nprimary_key = ["id"]\n',
        ),
    ],
)  # fmt: skip
def test_an_edit_of_toml_changes_the_edited_bytes_only(
    make_project, pipeline: str, changes: dict[str, Any], old: str, new: str
) -> None:
    assert INLINE.count(old) == 1
    for newline in ("\n", "\r\n"):
        root = make_project({"hakiri.toml": INLINE.replace("\n", newline)})

        after = edited(root, pipeline, changes)

        assert after == INLINE.replace(old, new).replace("\n", newline)


@pytest.mark.spec("HP-021")
def test_a_list_under_headers_of_its_own_is_replaced_and_the_comments_around_it_stay(make_project) -> None:
    root = make_project({"hakiri.toml": INLINE})

    after = edited(root, "orders", {"tables": ["a", "b"]})

    before_the_list, _ = INLINE.split("[pipeline.backfill]")
    assert (
        after
        == before_the_list
        + """\
tables = ["a", "b"]
[pipeline.backfill]
parallelism = 2 # gently

# The end.
"""
    )


@pytest.mark.spec("HP-020")
@pytest.mark.parametrize(
    ("changes", "old", "new"),
    [
        ({"schedule": "every 5m"}, '"every 15m"', '"every 5m"'),
        ({"schedule": REMOVE}, '    "schedule": "every 15m",\n', ""),
        ({"source.config.u": "x"}, '{"connector": "sql"}', '{"connector": "sql", "config": { "u": "x" }}'),
        ({"tables.roles.as": "groups"}, '["id"]}', '["id"], "as": "groups"}'),
        ({"tables.users": REMOVE}, '"users",\n        {', "{"),
        ({"tables.users.as": "u"}, '        "users",', '        { "name": "users", "as": "u" },'),
        ({"backfill.window": "30d"}, "    ]\n}", '    ],\n    "backfill": { "window": "30d" }\n}'),
    ],
)  # fmt: skip
def test_an_edit_of_json_keeps_order_and_indentation(
    make_project, changes: dict[str, Any], old: str, new: str
) -> None:
    assert IN_JSON.count(old) == 1
    root = make_project({"pipelines/users.json": IN_JSON})

    assert edited(root, "users", changes) == IN_JSON.replace(old, new)


def test_several_changes_are_made_in_one_step(make_project) -> None:
    root = make_project({"pipelines/users.json": IN_JSON})

    result = edit_pipeline(
        root, "users", {"backfill.window": "30d", "backfill.parallelism": 2, "schedule": REMOVE}
    )

    assert result.is_changed
    assert result.spec == load_project(root).pipeline("users")
    assert json.loads(result.path.read_text(encoding="utf-8"))["backfill"] == {
        "window": "30d",
        "parallelism": 2,
    }


def test_a_change_to_what_is_there_already_writes_nothing(make_project) -> None:
    root = make_project({"pipelines/users.json": IN_JSON})
    before = (root / "pipelines/users.json").stat()

    result = edit_pipeline(root, "users", {"schedule": "every 15m"})

    assert not result.is_changed
    assert (root / "pipelines/users.json").stat().st_ino == before.st_ino


@pytest.mark.parametrize("pipeline", ["issues", "users"])
def test_an_edit_that_would_be_wrong_is_told_and_not_written(make_project, pipeline: str) -> None:
    root = make_project({"hakiri.toml": INLINE, "pipelines/users.json": IN_JSON})
    before = [(root / name).read_bytes() for name in ("hakiri.toml", "pipelines/users.json")]

    with pytest.raises(ManifestInvalid, match="is not a schedule"):
        edit_pipeline(root, pipeline, {"schedule": "often"})

    assert [(root / name).read_bytes() for name in ("hakiri.toml", "pipelines/users.json")] == before


@pytest.mark.parametrize(
    "changes",
    [
        {"": 1},
        {"a..b": 1},
        {"schedule": REMOVE},
        {"tables.nothing.as": "x"},
        {"tables[7]": "x"},
        {"id.inner": "x"},
        {"source.connector.deep": "x"},
    ],
)
@pytest.mark.parametrize("pipeline", ["issues", "orders", "users"])
def test_a_change_that_fits_nowhere_is_refused(make_project, pipeline: str, changes: dict[str, Any]) -> None:
    root = make_project(
        {"hakiri.toml": INLINE, "pipelines/users.json": IN_JSON.replace('    "schedule": "every 15m",\n', "")}
    )

    with pytest.raises(BadChange):
        edit_pipeline(root, pipeline, changes)


def test_an_id_is_not_changed_to_one_that_is_taken(make_project) -> None:
    root = make_project({"hakiri.toml": INLINE, "pipelines/users.json": IN_JSON})

    for pipeline, taken in (("users", "orders"), ("issues", "orders"), ("issues", "users")):
        with pytest.raises(PipelineExists):
            edit_pipeline(root, pipeline, {"id": taken})


def test_only_a_pipeline_that_is_defined_once_can_be_edited(make_project) -> None:
    root = make_project(
        {"hakiri.toml": INLINE, "pipelines/again.json": IN_JSON.replace('"users",', '"orders",', 1)}
    )

    with pytest.raises(UnknownPipeline):
        edit_pipeline(root, "nobody", {"schedule": "every 5m"})
    with pytest.raises(DuplicatePipeline):
        edit_pipeline(root, "orders", {"schedule": "every 5m"})


def test_problems_of_other_files_do_not_stop_an_edit(make_project) -> None:
    root = make_project({"pipelines/users.json": IN_JSON, "pipelines/broken.json": "{"})

    assert edit_pipeline(root, "users", {"schedule": "every 5m"}).is_changed


def test_a_written_file_keeps_its_permissions_and_its_link(make_project) -> None:
    root = make_project({"elsewhere/users.json": IN_JSON})
    target = root / "elsewhere/users.json"
    target.chmod(0o640)
    (root / "pipelines").mkdir()
    (root / "pipelines/users.json").symlink_to(target)

    edit_pipeline(root, "users", {"schedule": "every 5m"})

    assert (root / "pipelines/users.json").is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert '"every 5m"' in target.read_text(encoding="utf-8")
    assert [path.name for path in (root / "elsewhere").iterdir()] == ["users.json"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("30d", "30d"),
        ("4", 4),
        ("true", True),
        ('["a", "b"]', ["a", "b"]),
        ('"4"', "4"),
        ("every 15m", "every 15m"),
        ("NaN", "NaN"),
        ("", ""),
        ('{"a": 1}', {"a": 1}),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_a_value_of_the_command_line_is_json_or_a_text(text: str, value: Any) -> None:
    assert value_from_text(text) == value
