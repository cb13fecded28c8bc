from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hakiri.manifest import load_project

if TYPE_CHECKING:
    from conftest import Run

NEW = ("pipeline", "create", "issues", "--connector", "github", "--config", "repo=a/b", "--table", "issues")
ISSUES = {
    "id": "issues",
    "source": {"connector": "github", "config": {"repo": "a/b"}},
    "tables": ["issues"],
}


@pytest.fixture
def project(run: Run, tmp_path: Path) -> Path:
    """A new project in the current folder."""
    assert run("init", "--name", "shop").code == 0
    return tmp_path


@pytest.fixture
def snapshot(project: Path) -> dict[str, bytes]:
    return texts_of(project)


def texts_of(project: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(project)): path.read_bytes() for path in project.rglob("*") if path.is_file()
    }


def test_list_shows_every_pipeline_and_where_it_is_written(run: Run, project: Path) -> None:
    run(*NEW)

    outcome = run("pipeline", "list")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "pipeline  connector  tables  schedule    written in\n"
        "issues    github     issues  when asked  pipelines/issues.json:1\n"
        "orders    files      orders  every 15m   hakiri.toml:16\n"
    )


def test_list_finds_the_project_from_a_folder_inside(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "data" / "orders")

    assert run("pipeline", "list", "--json").data["project"] == "shop"


def test_quiet_leaves_the_report_and_nothing_else(run: Run, project: Path) -> None:
    created, listed = run(*NEW, "-q"), run("-q", "pipeline", "list")

    assert (created.code, created.out, created.err) == (0, "", "")
    assert listed.out.startswith("pipeline ")


def test_an_empty_project_says_how_to_begin(run: Run, tmp_path: Path) -> None:
    (tmp_path / "hakiri.toml").write_text('[project]\nname = "x"\n')

    outcome = run("pipeline", "list")

    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "the project has no pipelines yet\nhint: run `hakiri pipeline create --help`\n"


def test_without_a_project_the_error_says_how_to_make_one(run: Run, tmp_path: Path) -> None:
    outcome = run("pipeline", "list")

    assert outcome.code == 2
    assert outcome.err == (
        f"error[manifest.no_project]: no `hakiri.toml` in `{tmp_path}`\n"
        "hint: run `hakiri init` to make a project\n"
    )


def test_describe_shows_all_fields_of_one_pipeline(run: Run, project: Path) -> None:
    outcome = run("pipeline", "describe", "orders")

    assert outcome.out == (
        "field       value\n"
        "id          orders\n"
        'source      {"connector": "files", "config": {"format": "csv", "path": "data/orders/*.csv"}}\n'
        'tables      ["orders"]\n'
        "schedule    every 15m\n"
        "written in  hakiri.toml:16\n"
    )


def test_a_mistyped_id_names_the_nearest(run: Run, project: Path) -> None:
    outcome = run("pipeline", "describe", "order")

    assert outcome.code == 2
    assert outcome.err == (
        "error[manifest.unknown_pipeline]: no pipeline has the id `order`\nhint: did you mean `orders`?\n"
    )


@pytest.mark.spec("HP-017")
def test_an_id_that_is_defined_twice_is_refused_with_both_places(run: Run, tmp_path: Path) -> None:
    blocks = '[project]\nname = "w"\n\n[[pipeline]]\nid = "github-issues"\n'
    blocks += 'source = { connector = "github", config = { repo = "a/b" } }\ntables = ["issues"]\n'
    (tmp_path / "hakiri.toml").write_text(blocks)
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines/github-issues.json").write_text(json.dumps({**ISSUES, "id": "github-issues"}))

    outcome = run("pipeline", "list")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error[manifest.duplicate_pipeline]: pipeline `github-issues` defined in two places:\n"
        "  hakiri.toml:4\n"
        "  pipelines/github-issues.json:1\n"
        "  hint: keep one source of truth; run `hakiri pipeline convert github-issues --to json` to migrate\n"
    )


def test_all_problems_of_a_manifest_are_told_at_once_and_as_data(run: Run, tmp_path: Path) -> None:
    (tmp_path / "hakiri.toml").write_text('[project]\nname = "w"\nverison = "1"\n\n[engin]\n')

    outcome = run("pipeline", "list", "--json")

    assert outcome.code == 2
    assert outcome.err.count("error[manifest.unknown_key]") == 2
    problems = outcome.data["error"]["problems"]
    assert [(problem["field"], problem["places"][0]["line"]) for problem in problems] == [
        ("project.verison", 3),
        ("engin", 5),
    ]


@pytest.mark.spec("HP-018")
def test_create_writes_a_json_file_that_names_its_schema_and_loads(run: Run, project: Path) -> None:
    outcome = run(*NEW, "--schedule", "every 15m", "--incremental", "updated_at", "--secret", "GITHUB_TOKEN")

    written = json.loads((project / "pipelines/issues.json").read_text())
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "created pipeline `issues` in pipelines/issues.json\n"
    assert written == {
        "$schema": "https://hakiri.dev/schemas/v1/pipeline.json",
        **ISSUES,
        "secrets": ["GITHUB_TOKEN"],
        "schedule": "every 15m",
        "incremental": "updated_at",
    }
    assert load_project(project).pipeline("issues").secrets == ("GITHUB_TOKEN",)


@pytest.mark.spec("HP-019")
def test_create_as_toml_appends_a_block_and_changes_no_byte_before_it(run: Run, project: Path) -> None:
    before = (project / "hakiri.toml").read_bytes()

    outcome = run(*NEW, "--format=toml")

    after = (project / "hakiri.toml").read_bytes()
    assert outcome.err == "created pipeline `issues` in hakiri.toml\n"
    assert after.startswith(before)
    assert b"[[pipeline]]" in after[len(before) :]
    assert not list((project / "pipelines").glob("*.toml"))
    assert load_project(project).pipeline("issues").id == "issues"


@pytest.mark.parametrize(
    ("args", "spec"),
    [
        (("--from", "-"), ISSUES),
        (("issues", "--from", "-"), {key: value for key, value in ISSUES.items() if key != "id"}),
    ],
)
def test_create_takes_a_whole_pipeline_from_stdin(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], spec: dict[str, object]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(spec)))

    outcome = run("pipeline", "create", *args, "--json")

    assert (outcome.code, outcome.data["spec"], outcome.data["file"]) == (0, ISSUES, "pipelines/issues.json")


def test_create_takes_a_whole_pipeline_from_a_file_beside_the_caller(run: Run, project: Path) -> None:
    (project / "data/spec.json").write_text(json.dumps(ISSUES))

    assert run("pipeline", "create", "--from", "data/spec.json").code == 0
    assert load_project(project).pipeline("issues").id == "issues"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "error[manifest.syntax]: not valid JSON"),
        ("[]", "error[manifest.wrong_type]"),
        ("", "error[manifest.empty_file]"),
        ('{"id": "other"}', "error[usage]: the pipeline in stdin has the id `other`, not `issues`"),
        ('{"tabels": []}', "hint: did you mean `tables`?"),
    ],
)
def test_create_writes_nothing_when_the_pipeline_from_stdin_is_wrong(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    before = texts_of(project)
    monkeypatch.setattr("sys.stdin", io.StringIO(text))

    outcome = run("pipeline", "create", "issues", "--from", "-")

    assert outcome.code == 2
    assert message in outcome.err
    assert texts_of(project) == before


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (
            ("x", "--config", "a=1"),
            (
                "error[usage]: a new pipeline needs `--connector`, `--table`\n"
                "hint: add what is missing, or give a whole pipeline with `--from`\n"
            ),
        ),
        (
            ("x", "--from", "-", "--table", "t"),
            (
                "error[usage]: `--from` brings the whole pipeline, so it cannot stand beside `--table`\n"
                "hint: leave out one or the other\n"
            ),
        ),
        (
            ("x", "--connector", "files", "--table", "t", "--config", "path"),
            "error[usage]: `--config path` has no value\nhint: write `--config KEY=VALUE`\n",
        ),
        (
            ("orders", "--connector", "files", "--table", "t"),
            (
                "error[manifest.pipeline_exists]: pipeline `orders` exists already\n"
                "  --> hakiri.toml:16\n"
                "hint: change it with `hakiri pipeline edit orders`, or choose another id\n"
            ),
        ),
    ],
)
def test_create_refuses_what_cannot_be_meant(
    run: Run, snapshot: dict[str, bytes], tmp_path: Path, args: tuple[str, ...], error: str
) -> None:
    outcome = run("pipeline", "create", *args)

    assert (outcome.code, outcome.err) == (2, error)
    assert texts_of(tmp_path) == snapshot


def test_an_unknown_format_is_a_usage_error_that_names_the_known(run: Run, project: Path) -> None:
    outcome = run(*NEW, "--format", "yaml")

    assert outcome.code == 2
    assert outcome.err.startswith("error[usage]: invalid value for `--format`: ")
    assert "json" in outcome.err


def test_config_values_are_json_where_they_can_be(run: Run, project: Path) -> None:
    config = ("--config", "limit=5", "--config", 'list=["a"]', "--config", 'text="5"', "--config", "url=a=b")

    outcome = run("pipeline", "create", "x", "--connector", "rest", "--table", "t", *config, "--json")

    assert outcome.data["spec"]["source"]["config"] == {"limit": 5, "list": ["a"], "text": "5", "url": "a=b"}


@pytest.mark.spec("HP-020")
@pytest.mark.parametrize(
    ("pipeline_id", "file"), [("orders", "hakiri.toml"), ("issues", "pipelines/issues.json")]
)
def test_edit_keeps_the_format_of_the_file(run: Run, project: Path, pipeline_id: str, file: str) -> None:
    run(*NEW, "--schedule", "every 15m")
    before = texts_of(project)

    outcome = run("pipeline", "edit", pipeline_id, "--field", "schedule=every 1h")

    assert outcome.code == 0
    assert texts_of(project) == {**before, file: before[file].replace(b'"every 15m"', b'"every 1h"')}


@pytest.mark.spec("HP-021")
def test_an_edit_of_toml_touches_the_edited_key_only_and_shows_the_difference(
    run: Run, project: Path
) -> None:
    text = (project / "hakiri.toml").read_text()

    outcome = run("pipeline", "edit", "orders", "--field", "schedule=every 1h")

    assert (project / "hakiri.toml").read_text() == text.replace('"every 15m"', '"every 1h"')
    assert outcome.out == (
        "--- hakiri.toml\n"
        "+++ hakiri.toml\n"
        "@@ -19,2 +19,2 @@\n"
        ' tables = ["orders"]\n'
        '-schedule = "every 15m"           # or cron: "0 */2 * * *"\n'
        '+schedule = "every 1h"           # or cron: "0 */2 * * *"\n'
    )


def test_an_edit_sets_and_unsets_several_fields_at_once(run: Run, project: Path) -> None:
    outcome = run(
        "pipeline", "edit", "orders", "--field", "backfill.window=30d", "--unset", "schedule", "--json"
    )

    assert outcome.data["is_changed"]
    assert outcome.data["spec"]["backfill"] == {"window": "30d"}
    assert "schedule" not in outcome.data["spec"]


def test_an_edit_that_says_nothing_new_writes_nothing(
    run: Run, snapshot: dict[str, bytes], tmp_path: Path
) -> None:
    outcome = run("pipeline", "edit", "orders", "--field", "schedule=every 15m")

    assert (outcome.code, outcome.out, outcome.err) == (0, "", "pipeline `orders` says that already\n")
    assert texts_of(tmp_path) == snapshot


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "error[usage]: there is nothing to change\nhint: give `--field PATH=VALUE` or `--unset PATH`\n"),
        (("--field", "schedule"), "error[usage]: `--field schedule` has no value"),
        (("--field", "schedul=every 1h"), "hint: did you mean `schedule`?"),
        (("--field", "schedule=sometimes"), "error[manifest."),
        (("--unset", "incremental"), "error[manifest.bad_change]: there is no `incremental` to remove"),
    ],
)
def test_an_edit_that_would_be_wrong_writes_nothing(
    run: Run, snapshot: dict[str, bytes], tmp_path: Path, args: tuple[str, ...], message: str
) -> None:
    outcome = run("pipeline", "edit", "orders", *args)

    assert outcome.code == 2
    assert message in outcome.err
    assert texts_of(tmp_path) == snapshot


@pytest.mark.spec("HP-022")
def test_convert_moves_the_definition_and_leaves_no_duplicate(run: Run, project: Path) -> None:
    outcome = run("pipeline", "convert", "orders", "--to", "json")

    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == (
        'warning: JSON cannot hold the comment `# or cron: "0 */2 * * *"`\n'
        "moved pipeline `orders` from hakiri.toml:16 to pipelines/orders.json\n"
    )
    assert "[[pipeline]]" not in (project / "hakiri.toml").read_text()
    listed = run("pipeline", "list", "--json").data["pipelines"]
    assert [row["place"] for row in listed] == [{"file": "pipelines/orders.json", "line": 1}]


@pytest.mark.spec("HP-022")
def test_convert_puts_a_duplicate_right_as_the_hint_says(run: Run, project: Path) -> None:
    spec = run("pipeline", "describe", "orders", "--json").data["spec"]
    (project / "pipelines").mkdir(exist_ok=True)
    (project / "pipelines/orders.json").write_text(json.dumps(spec))
    assert run("pipeline", "list").code == 2

    assert run("pipeline", "convert", "orders", "--to", "json").code == 0
    assert run("pipeline", "list").code == 0


@pytest.mark.spec("HP-023")
def test_a_pipeline_converted_there_and_back_says_the_same(run: Run, project: Path) -> None:
    before = load_project(project).pipeline("orders")

    for form in ("json", "toml", "json"):
        assert run("pipeline", "convert", "orders", "--to", form).code == 0

    assert load_project(project).pipeline("orders") == before
