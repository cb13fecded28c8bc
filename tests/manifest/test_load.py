"""Loading whole projects: what is found, in which order, and how it is merged."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from hakiri.core.errors import ExitCode, Place
from hakiri.core.grammar import Cron, Duration, Every, Rate
from hakiri.core.settings import SETTINGS, resolve_settings
from hakiri.manifest import (
    BloomIndex,
    DestinationSpec,
    FtsIndex,
    ManifestInvalid,
    NoProject,
    PipelineSpec,
    PkIndex,
    ProjectFile,
    UnknownPipeline,
    VectorIndex,
    index_id,
    load_project,
    parse_pipeline,
)

DOCUMENTS = Path(__file__).parent / "documents"
HEAD = '[[pipeline]]\nid = "github-issues"\nsource = { connector = "github" }\n'
JSON = '{ "id": "%s", "source": { "connector": "sql" }, "tables": ["t"] }'
TOML = 'id = "%s"\nsource = { connector = "sql" }\ntables = ["t"]\n'


def printed(name: str) -> str:
    return (DOCUMENTS / name).read_text(encoding="utf-8")


@pytest.mark.spec("HP-001")
@pytest.mark.spec("HP-003")
@pytest.mark.spec("HP-005")
@pytest.mark.spec("HP-028")
def test_the_project_file_of_the_document_loads_as_printed(make_project) -> None:
    project = load_project(make_project({"hakiri.toml": printed("hakiri-000.toml")}))

    assert (project.name, project.file.project.version) == ("openhackers-warehouse", "0.1.0")
    assert project.settings == {
        "context": {"path": ".hakiri/context", "default_destination": "context"},
        "sync": {
            "bucket": "r2://oh-context",
            "endpoint": "https://<accountid>.r2.cloudflarestorage.com",
            "region": "auto",
        },
    }
    assert [pipeline.id for pipeline in project.pipelines] == ["github-issues", "shopify-orders"]
    issues, orders = project.pipelines
    assert issues.source.config == {"repo": "OpenHackersClub/gctrl"}
    assert [table.name for table in issues.tables] == ["issues", "pull_requests", "comments"]
    assert issues.schedule == Every(Duration.parse("15m"))
    assert issues.incremental == "updated_at"
    assert orders.secrets == ("SHOPIFY_TOKEN",)
    assert orders.schedule == Cron("0 */2 * * *")


@pytest.mark.spec("HP-007")
@pytest.mark.spec("HP-014")
@pytest.mark.spec("HP-028")
def test_the_json_of_the_document_equals_its_toml(make_project) -> None:
    in_toml = load_project(make_project({"hakiri.toml": printed("hakiri-000.toml")})).pipeline(
        "github-issues"
    )
    files = {
        "hakiri.toml": '[project]\nname = "x"\n',
        "pipelines/github-issues.json": printed("github-issues-000.json"),
    }

    in_json = load_project(make_project(files)).pipeline("github-issues")

    assert in_json == in_toml


@pytest.mark.spec("HP-028")
@pytest.mark.parametrize("is_inline", [True, False])
def test_the_backfill_of_the_document_loads_as_printed(make_project, is_inline: bool) -> None:
    text = printed("backfill-000.toml")
    files = (
        {"hakiri.toml": '[project]\nname = "x"\n' + text} if is_inline else {"pipelines/history.toml": text}
    )

    backfill = load_project(make_project(files)).pipeline("github-issues-historical").backfill

    assert backfill.window == Duration.parse("30d")
    assert backfill.rate_budget == Rate.parse("60/min")
    assert backfill.start_from is not None
    assert backfill.start_from.at.isoformat() == "2010-01-01T00:00:00+00:00"
    assert (backfill.parallelism, backfill.max_chunks_per_tick) == (4, 8)


@pytest.mark.spec("HC-049")
@pytest.mark.spec("HP-028")
def test_the_compaction_of_the_document_loads_as_printed(make_project) -> None:
    project = load_project(make_project({"pipelines/p.toml": HEAD + printed("compaction-001.toml")}))

    [table] = project.pipeline("github-issues").tables
    compaction = table.compaction

    assert table.name == "github_issues"
    assert compaction.trigger_run_count == 50
    assert compaction.trigger_interval == Duration.parse("6h")
    assert compaction.cluster_by == ("repo", "updated_at")
    assert compaction.partition_by is not None
    assert (compaction.partition_by.unit, compaction.partition_by.column) == ("month", "updated_at")
    assert compaction.retain_runs == Duration.parse("7d")


@pytest.mark.spec("HC-065")
@pytest.mark.spec("HP-028")
def test_the_indexes_of_the_document_load_as_printed(make_project) -> None:
    project = load_project(make_project({"pipelines/p.toml": HEAD + printed("indexes-001.toml")}))

    indexes = project.pipeline("github-issues").tables[0].indexes

    assert indexes == (
        PkIndex(kind="pk", on=("id",)),
        VectorIndex(
            kind="vector",
            column="body",
            model="bge-large-en-v1.5",
            dim=1024,
            metric="cosine",
            m=32,
            ef_construction=200,
        ),
        FtsIndex(kind="fts", columns=("title", "body"), analyzer="english"),
        BloomIndex(kind="bloom", on=("author_id",)),
    )
    assert [index_id(index) for index in indexes] == [
        "pk-id",
        "vec-body-bge-large-en-v1.5",
        "fts-title-body",
        "bloom-author_id",
    ]


@pytest.mark.spec("HP-006")
@pytest.mark.spec("HP-016")
def test_pipelines_come_from_all_three_places_in_the_order_of_their_ids(make_project) -> None:
    root = make_project(
        {
            "hakiri.toml": '[project]\nname = "x"\n[[pipeline]]\n' + TOML % "middle",
            "pipelines/z.toml": TOML % "first",
            "pipelines/a.json": JSON % "last",
            "pipelines/block.toml": "[[pipeline]]\n" + TOML % "block",
        }
    )

    project = load_project(root)

    assert [pipeline.id for pipeline in project.pipelines] == ["block", "first", "last", "middle"]
    assert project.place_of("middle") == Place("hakiri.toml", 3)
    assert project.place_of("first") == Place("pipelines/z.toml", 1)
    assert project.place_of("last") == Place("pipelines/a.json", 1)
    assert (project.form_of("first"), project.form_of("last")) == ("toml", "json")


def test_everything_in_a_pipeline_has_a_place(make_project) -> None:
    text = (
        '[project]\nname = "x"\n'
        '[[pipeline]]\nid = "a"\nsource = { connector = "sql" }\n'
        '[[pipeline.tables]]\nname = "t"\n'
        'expect = [\n  { column = "a", not_null = true },\n  { predicate = "b > 0" },\n]\n'
    )
    project = load_project(make_project({"hakiri.toml": text, "pipelines/b.json": JSON % "b"}))

    assert project.place_in("a", "tables", 0, "expect", 1) == Place("hakiri.toml", 10)
    assert project.place_in("a", "tables", 0, "expect", 1, "predicate") == Place("hakiri.toml", 10)
    assert project.place_in("b", "tables", 0) == Place("pipelines/b.json", 1)


def test_compiled_transforms_hidden_files_and_other_files_are_no_pipelines(make_project) -> None:
    root = make_project(
        {
            "pipelines/a.json": JSON % "a",
            "pipelines/a.transforms.json": "{}",
            "pipelines/.b.json.x.tmp": "{",
            "pipelines/.hidden.json": "{",
            "pipelines/README.md": "words",
            "pipelines/deeper/c.json": "{",
        }
    )

    assert [pipeline.id for pipeline in load_project(root).pipelines] == ["a"]


@pytest.mark.spec("HP-002")
@pytest.mark.spec("HP-011")
def test_a_pipeline_without_a_destination_gets_the_default_one(make_project) -> None:
    text = '[project]\nname = "x"\n[context]\ndefault_destination = "lake"\n[[pipeline]]\n' + TOML % "a"
    text += '[[pipeline]]\ndestination = { connector = "context" }\n' + TOML % "b"
    project = load_project(make_project({"hakiri.toml": text}))

    without, explicit = project.pipelines

    assert project.destination_of(without) == DestinationSpec(connector="lake")
    assert project.destination_of(without, default="other") == DestinationSpec(connector="other")
    assert project.destination_of(explicit) == DestinationSpec(connector="context")


def test_without_any_setting_the_destination_is_the_context_store(make_project) -> None:
    project = load_project(make_project({"pipelines/a.toml": TOML % "a"}))

    assert project.destination_of(project.pipeline("a")) == DestinationSpec(connector="context")


def test_an_unknown_pipeline_is_refused_with_the_nearest_one(make_project) -> None:
    project = load_project(make_project({"pipelines/a.toml": TOML % "orders"}))

    with pytest.raises(UnknownPipeline) as caught:
        project.pipeline("order")

    assert (str(caught.value), caught.value.hint) == (
        "no pipeline has the id `order`",
        "did you mean `orders`?",
    )


def test_a_folder_without_a_project_file_is_refused_with_the_way_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(NoProject) as caught:
        load_project(tmp_path)

    assert str(caught.value) == f"no `hakiri.toml` in `{tmp_path}`"
    assert caught.value.hint == "run `hakiri init` to make a project"
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_project_file_that_is_a_folder_or_a_dead_link_is_told(tmp_path: Path) -> None:
    (tmp_path / "hakiri.toml").symlink_to("nowhere.toml")

    with pytest.raises(ManifestInvalid, match="is a link to nothing"):
        load_project(tmp_path)


def test_the_sections_of_the_manifest_are_the_settings_that_are_no_secrets() -> None:
    in_manifest = {
        f"{section}.{key}"
        for section in ("engine", "context", "sync", "catalog", "encryption", "runtime")
        for key in ProjectFile.model_fields[section].annotation.model_fields
    }

    assert in_manifest == {spec.key for spec in SETTINGS if not spec.is_secret}


def test_the_settings_of_a_project_resolve_with_their_places(make_project) -> None:
    text = (
        '[project]\nname = "x"\n[engine]\nidle_timeout = "5m"\nconf = { spark.sql.shuffle.partitions = 8 }\n'
    )
    text += 'driver_memory = "2g"\n[encryption]\nkey_source = "env:HAKIRI_KEY"\n'
    project = load_project(make_project({"hakiri.toml": text}))

    settings = resolve_settings(
        flags={}, env={}, manifest=project.settings, manifest_places=project.setting_places()
    )

    assert settings.engine.idle_timeout == Duration.parse("5m")
    assert settings.engine.conf == {"spark.sql.shuffle.partitions": "8"}
    assert settings.encryption.key_source == "env:HAKIRI_KEY"
    assert project.setting_places()["engine.idle_timeout"] == Place("hakiri.toml", 4)


@pytest.mark.spec("HP-010")
def test_secrets_are_names_only() -> None:
    data = {"id": "a", "source": {"connector": "sql"}, "tables": ["t"], "secrets": ["PG_PASSWORD", "TOKEN_2"]}

    assert parse_pipeline(data).secrets == ("PG_PASSWORD", "TOKEN_2")


@pytest.mark.spec("HP-009")
def test_what_is_left_out_has_its_default() -> None:
    spec = parse_pipeline({"id": "a", "source": {"connector": "sql"}, "tables": ["t"]})

    assert (spec.destination, spec.schedule, spec.incremental, spec.transforms) == (None, None, None, ())
    assert spec.source.config == {}
    assert spec.tables[0].compaction.trigger_interval == Duration.parse("6h")


@pytest.mark.spec("HP-009")
def test_a_missing_field_of_plain_values_fails_with_its_path() -> None:
    with pytest.raises(ManifestInvalid) as caught:
        parse_pipeline({"id": "a", "source": {}, "tables": ["t"]}, origin="command line")

    [problem] = caught.value.problems
    assert (problem.path, problem.place) == ("source.connector", Place("command line"))


def test_a_hundred_pipelines_in_a_hundred_files_load_fast(make_project) -> None:
    files: dict[str, str | bytes] = {f"pipelines/p{n}.json": JSON % f"p{n}" for n in range(50)}
    files |= {
        f"pipelines/p{n}.toml": TOML % f"p{n}" + 'schedule = "0 */2 * * *"\n[backfill]\nwindow = "30d"\n'
        for n in range(50, 100)
    }
    root = make_project(files)

    started = time.process_time()
    project = load_project(root)
    seconds = time.process_time() - started

    assert len(project.pipelines) == 100
    assert seconds < 1


def test_loading_needs_no_library_for_editing_or_running() -> None:
    code = "import sys, hakiri.manifest; print({'tomlkit', 'pyspark', 'duckdb', 'grpc'} & set(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "set()"


def test_pipelines_are_specs_of_one_type(make_project) -> None:
    project = load_project(make_project({"pipelines/a.toml": TOML % "a", "pipelines/b.json": JSON % "b"}))

    assert {type(pipeline) for pipeline in project.pipelines} == {PipelineSpec}
