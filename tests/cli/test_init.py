from __future__ import annotations

import csv
import json
import os
import stat
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from hakiri.cli.scaffold.sample import COLUMNS, sample_orders
from hakiri.cli.scaffold.writing import FilesInTheWay, place_files

if TYPE_CHECKING:
    from conftest import Run

FILES = [
    ".gitignore",
    ".hakiri/schema/pipeline.json",
    ".hakiri/schema/project.json",
    ".taplo.toml",
    ".vscode/extensions.json",
    ".vscode/settings.json",
    "AGENTS.md",
    "README.md",
    "data/orders/orders-2026-01.csv",
    "data/orders/orders-2026-02.csv",
    "hakiri.toml",
    "pipelines/orders.transforms.json",
    "queries/revenue_by_country.sql",
    "transforms/orders.py",
]


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_init_makes_every_file_and_says_what_to_type_next(run: Run, tmp_path: Path) -> None:
    outcome = run("init", "my shop")

    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == (
        f"made project `my-shop` in {tmp_path}/my shop (14 files)\n"
        "next:\n  cd 'my shop'\n  hakiri doctor\n  hakiri plan\n  hakiri preview orders\n  hakiri apply\n"
    )
    assert files_below(tmp_path / "my shop") == FILES
    assert os.listdir(tmp_path) == ["my shop"]


def test_the_manifest_of_a_new_project_fits_the_schema_beside_it(run: Run, tmp_path: Path) -> None:
    run("init", "--name", "shop")

    text = (tmp_path / "hakiri.toml").read_text()
    schema = json.loads((tmp_path / ".hakiri/schema/project.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(tomllib.loads(text))
    assert text.startswith("#:schema ./.hakiri/schema/project.json\n")
    assert tomllib.loads(text)["project"]["name"] == "shop"


def test_the_editor_settings_point_at_schemas_that_are_there(run: Run, tmp_path: Path) -> None:
    run("init")

    settings = json.loads((tmp_path / ".vscode/settings.json").read_text())
    taplo = tomllib.loads((tmp_path / ".taplo.toml").read_text())
    urls = [entry["url"] for entry in settings["json.schemas"]]
    paths = [rule["schema"]["path"] for rule in taplo["rule"]]
    assert all((tmp_path / path).is_file() for path in [*urls, *paths])


def test_the_transform_of_a_new_project_is_python(run: Run, tmp_path: Path) -> None:
    run("init")

    source = (tmp_path / "transforms/orders.py").read_text()
    assert compile(source, "orders.py", "exec")


def test_the_transform_of_a_new_project_is_compiled(run: Run) -> None:
    """After a change to the sample: `hakiri init`, `hakiri compile`, and copy the file to the scaffold."""
    run("init")

    assert run("compile", "--check").out.startswith("unchanged pipelines/orders.transforms.json")


def test_the_sample_data_is_two_hundred_orders_in_two_files() -> None:
    tables = [list(csv.DictReader(text.splitlines())) for text in sample_orders().values()]

    rows = [row for table in tables for row in table]
    assert [len(table) for table in tables] == [105, 95]
    assert {tuple(row) for row in rows} == {COLUMNS}
    assert len({row["order_id"] for row in rows}) == 200
    assert rows == sorted(rows, key=lambda row: row["ordered_at"])
    assert {row["status"] for row in rows} == {"paid", "shipped", "cancelled", "refunded"}


def test_init_reports_as_json(run: Run, tmp_path: Path) -> None:
    outcome = run("init", "--name", "shop", "--json")

    assert outcome.err == ""
    assert outcome.data == {
        "schema_version": 1,
        "project": "shop",
        "folder": str(tmp_path),
        "files": FILES,
        "overwritten": [],
        "next": ["hakiri doctor", "hakiri plan", "hakiri preview orders", "hakiri apply"],
    }


def test_init_refuses_a_folder_that_holds_its_files_and_leaves_it_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    (tmp_path / "hakiri.toml").write_text("mine")

    outcome = run("init")

    assert outcome.code == 2
    assert outcome.err == (
        f"error[init.files_in_the_way]: `{tmp_path}` holds 2 files that the project would overwrite\n"
        "  --> README.md\n"
        "  --> hakiri.toml\n"
        "hint: choose an empty folder, or overwrite only these with `--force`\n"
    )
    assert files_below(tmp_path) == ["README.md", "hakiri.toml"]


def test_force_overwrites_the_files_of_a_project_and_no_others(run: Run, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    (tmp_path / "notes.md").write_text("mine")

    outcome = run("init", "--force", "--json")

    assert (outcome.code, outcome.data["overwritten"]) == (0, ["README.md"])
    assert (tmp_path / "notes.md").read_text() == "mine"
    assert (tmp_path / "README.md").read_text() != "mine"
    assert files_below(tmp_path) == sorted([*FILES, "notes.md"])


def test_old_schemas_are_no_reason_to_refuse(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".hakiri/schema").mkdir(parents=True)
    (tmp_path / ".hakiri/schema/project.json").write_text("{}")

    assert run("init").code == 0
    assert (tmp_path / ".hakiri/schema/project.json").read_text() != "{}"


def test_init_in_a_project_above_makes_a_project_of_its_own(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("init")
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")

    assert run("init").code == 0
    assert files_below(tmp_path / "inner") == FILES


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("init", "--name", "a b"), "`a b` is not a project name"),
        (("init", "--name", ""), "is not a project name"),
        (("init", "+++"), "gives no name for a project"),
        (("init", "file"), "file` is a file"),
    ],
)
def test_init_refuses_what_cannot_be_a_project(
    run: Run, tmp_path: Path, args: tuple[str, ...], message: str
) -> None:
    (tmp_path / "file").touch()

    outcome = run(*args)

    assert outcome.code == 2
    assert message in outcome.err
    assert files_below(tmp_path) == ["file"]


def test_a_folder_where_a_file_belongs_cannot_be_forced(tmp_path: Path) -> None:
    (tmp_path / "a.txt").mkdir()
    (tmp_path / "b").touch()

    with pytest.raises(FilesInTheWay) as caught:
        place_files(tmp_path, {"a.txt": "1", "b/c.txt": "2", "d": "3"}, may_overwrite=True, generated=".x")

    assert caught.value.paths == ("a.txt", "b/c.txt")
    assert caught.value.hint == "move them away, or choose another folder"


def test_a_failure_in_the_middle_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    # No folder can be made where the link stands, which shows only when the files are moved into place.
    texts = {"a.txt": "new", "fresh/b.txt": "new", "dangling/c.txt": "new"}

    with pytest.raises(FileExistsError):
        place_files(tmp_path, texts, may_overwrite=True, generated=".x")

    assert (tmp_path / "a.txt").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "dangling"]


def test_a_new_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="File name too long"):
        place_files(tmp_path / "a/b", {"x": "1", "y" * 300: "2"}, may_overwrite=False, generated=".x")

    assert os.listdir(tmp_path) == []


def test_the_folder_of_a_new_project_has_ordinary_permissions(run: Run, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()

    run("init", "shop")

    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "shop")]
    assert modes[0] == modes[1]
