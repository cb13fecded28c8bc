from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

if TYPE_CHECKING:
    from conftest import Outcome, Run
    from hakiri.engine import EngineHome

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "schemas" / "doctor.json"
ALL_BUT_SPARK = ["python", "memory", "manifest", "disk", "catalog", "java", "duckdb"]


def checks(outcome: Outcome) -> dict[str, dict[str, str]]:
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(outcome.data)
    return {row["name"]: row for row in outcome.data["checks"]}


def failed(outcome: Outcome) -> list[str]:
    return [name for name, row in checks(outcome).items() if row["status"] == "failed"]


@pytest.mark.spark
def test_a_healthy_machine_runs_a_job_whose_result_duckdb_reads(
    run: Run, spark: Any, shared_home: EngineHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAKIRI_RUNTIME_DIR", str(shared_home.runtime))
    monkeypatch.setenv("HAKIRI_CACHE_DIR", str(shared_home.cache))
    run("init", "--name", "shop")

    outcome = run("doctor", "--json", "--set", "engine.master=local[2]", "--set", "engine.driver_memory=1GiB")

    found = checks(outcome)
    assert (outcome.code, outcome.data["is_healthy"], outcome.err) == (0, True, "")
    assert [*found] == [*ALL_BUT_SPARK[:-1], "spark", "duckdb"]
    assert found["spark"]["found"].startswith("Spark 4.3.0 on local[2] ran a job in ")
    assert found["duckdb"]["found"].endswith("reads what Spark wrote, 1000 rows")
    assert {row["hint"] for row in found.values()} == {""}


def test_without_spark_everything_else_is_checked(run: Run) -> None:
    run("init", "--name", "shop")

    outcome = run("doctor", "--no-spark", "--json")

    assert (outcome.code, outcome.err) == (0, "")
    assert [*checks(outcome)] == ALL_BUT_SPARK
    assert checks(outcome)["manifest"]["found"] == "project `shop` with 1 pipeline"


def test_a_person_reads_one_line_a_check(run: Run) -> None:
    run("init", "--name", "shop")

    outcome = run("doctor", "--no-spark")

    lines = outcome.out.splitlines()
    assert [line[:19].rstrip() for line in lines[:-1]] == [f"[ok]      {name}" for name in ALL_BUT_SPARK]
    assert lines[0] == f"[ok]      python    Python {platform.python_version()}"
    assert lines[2] == "[ok]      manifest  project `shop` with 1 pipeline"
    assert lines[-1] == "everything that was checked works"


def test_no_java_is_told_with_what_to_do_and_spark_is_not_tried(run: Run) -> None:
    outcome = run("doctor", "--set", "engine.java=/no/such/java")

    assert outcome.code == 1
    assert (
        "[failed]  java      Spark needs Java 17 or newer, and none was found "
        "(engine.java: `/no/such/java` is no Java)\n"
        "                    hint: pip install 'hakiri[java]', or install a JDK and set JAVA_HOME\n"
        "[ok]      duckdb    DuckDB "
    ) in outcome.out
    assert " spark " not in outcome.out
    assert "everything" not in outcome.out


@pytest.mark.parametrize("path", ["/proc/hakiri", "a-file/store"])
def test_a_store_that_cannot_be_written_is_told(run: Run, tmp_path: Path, path: str) -> None:
    (tmp_path / "a-file").touch()  # not by its mode: the user who runs this may be above modes
    there = {"/proc/hakiri": "/proc", "a-file/store": str(tmp_path / "a-file")}[path]

    outcome = run("doctor", "--no-spark", "--json", "--set", f"context.path={path}")

    assert (outcome.code, failed(outcome)) == (1, ["disk", "catalog"])
    disk, catalog = checks(outcome)["disk"], checks(outcome)["catalog"]
    assert disk["found"].startswith(f"{there} cannot be written to (")
    assert disk["hint"] == "set context.path to a folder that you may write to"
    assert catalog["found"].startswith(f"SQLite cannot keep a write-ahead log at {there} (")


def test_a_store_that_is_not_there_yet_is_looked_for_above(run: Run, tmp_path: Path) -> None:
    outcome = run("doctor", "--no-spark", "--json", "--set", "context.path=not/yet/there")

    assert outcome.code == 0
    assert checks(outcome)["disk"]["found"].endswith(f" free at {tmp_path}, which can be written to")
    assert [*tmp_path.iterdir()] == []


def test_a_catalog_elsewhere_is_told_as_not_checked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAKIRI_CATALOG_URL", "postgresql://db/x")

    outcome = run("doctor", "--no-spark", "--json")

    assert (outcome.code, checks(outcome)["catalog"]["status"]) == (0, "warning")


def test_no_project_is_a_warning(run: Run) -> None:
    outcome = run("doctor", "--no-spark", "--json")

    assert outcome.code == 0
    assert checks(outcome)["manifest"] == {
        "name": "manifest",
        "status": "warning",
        "found": "there is no hakiri.toml here or above",
        "hint": "make a project with `hakiri init`, or name its folder with -C",
    }


def test_a_broken_manifest_keeps_nothing_else_from_being_checked(run: Run, tmp_path: Path) -> None:
    (tmp_path / "hakiri.toml").write_text('[project]\nnmae = "shop"\n')

    outcome = run("doctor", "--no-spark", "--json", "--set", "engine.java=/no/such/java")

    assert (outcome.code, failed(outcome), [*checks(outcome)]) == (1, ["manifest", "java"], ALL_BUT_SPARK)
    assert checks(outcome)["manifest"]["hint"] == "run `hakiri plan` for all of it"


def test_a_wrong_setting_keeps_nothing_else_from_being_checked(run: Run) -> None:
    outcome = run("doctor", "--no-spark", "--json", "--set", "engine.mastr=x")

    wanted = [name.replace("manifest", "settings") for name in ALL_BUT_SPARK]
    assert (outcome.code, failed(outcome), [*checks(outcome)]) == (1, ["settings"], wanted)
    assert checks(outcome)["settings"]["found"] == "`engine.mastr` in --set is not a setting"
    assert checks(outcome)["settings"]["hint"] == "run `hakiri config` for all of it"


def test_a_wrong_master_is_told(run: Run) -> None:
    outcome = run("doctor", "--json", "--set", "engine.master=lokal")

    assert (outcome.code, failed(outcome)) == (1, ["java"])
    assert checks(outcome)["java"]["found"] == "`lokal` is not a Spark master"


def test_a_spark_elsewhere_that_nobody_answers_for_is_told(run: Run) -> None:
    outcome = run("doctor", "--json", "--set", "engine.master=sc://127.0.0.1:1")

    found = checks(outcome)
    assert (outcome.code, failed(outcome)) == (1, ["spark"])
    assert found["java"]["found"] == "not needed: Spark runs elsewhere"
    assert found["spark"]["found"] == (
        "no Spark Connect server answers at `sc://127.0.0.1:1`: Connection refused"
    )
    assert found["duckdb"]["found"].endswith(" answers")
