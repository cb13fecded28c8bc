from __future__ import annotations

import json
import platform
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from hakiri.catalog.sql.migrations import Migration, migrations_of
from hakiri.catalog.sqlite import place as sqlite_place

if TYPE_CHECKING:
    from tests.support.postgres import PostgresServer

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


def catalog_of(outcome: Outcome) -> tuple[int, str, str, str]:
    row = checks(outcome)["catalog"]
    return outcome.code, row["status"], row["found"], row["hint"]


def test_without_a_catalog_one_is_tried_where_it_will_be_and_nothing_is_left(
    run: Run, tmp_path: Path
) -> None:
    run("init", "--name", "shop")
    before = sorted(tmp_path.rglob("*"))

    outcome = run("doctor", "--no-spark", "--json")

    found = f"SQLite {sqlite3.sqlite_version}; there is no catalog yet"
    assert catalog_of(outcome) == (0, "ok", found, "")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_catalog_is_opened_and_its_version_told(run: Run, tmp_path: Path) -> None:
    run("init", "--name", "shop")
    run("catalog", "migrate")
    file = tmp_path / ".hakiri" / "context" / "shop" / "meta.sqlite"
    before = file.read_bytes()

    outcome = run("doctor", "--no-spark", "--json")

    found = f"sqlite:///{file}, version 2, with the state of 0 pipelines"
    assert catalog_of(outcome) == (0, "ok", found, "")
    assert file.read_bytes() == before


def test_a_catalog_that_is_too_new_is_told(run: Run, tmp_path: Path) -> None:
    run("init", "--name", "shop")
    run("catalog", "migrate")
    file = tmp_path / ".hakiri" / "context" / "shop" / "meta.sqlite"
    with closing(sqlite3.connect(file)) as database:
        database.execute("INSERT INTO schema_version (id, applied_at) VALUES (99, '2027')")
        database.commit()

    outcome = run("doctor", "--no-spark", "--json")

    found = f"the catalog `sqlite:///{file}` has version 99, and this program knows versions up to 2"
    hint = "upgrade with `pip install --upgrade hakiri`"
    assert catalog_of(outcome) == (1, "failed", found, hint)


def test_a_catalog_that_is_older_is_a_warning(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("init", "--name", "shop")
    run("catalog", "migrate")
    later = Migration(3, "later", "CREATE TABLE later (id INTEGER PRIMARY KEY);\n")
    monkeypatch.setattr(sqlite_place, "migrations_of", lambda backend: (*migrations_of(backend), later))

    outcome = run("doctor", "--no-spark", "--json")

    file = tmp_path / ".hakiri" / "context" / "shop" / "meta.sqlite"
    found = f"sqlite:///{file} has version 2, and this program works with version 3"
    hint = "run `hakiri catalog migrate`, or leave it to the next run"
    assert catalog_of(outcome) == (0, "warning", found, hint)


def test_a_sqlite_that_is_too_old_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 37, 2))
    monkeypatch.setattr(sqlite3, "sqlite_version", "3.37.2")

    outcome = run("doctor", "--no-spark", "--json")

    found = "SQLite 3.37.2 is too old for a catalog"
    assert catalog_of(outcome) == (1, "failed", found, "use SQLite 3.38.0 or newer")


def test_a_catalog_url_that_means_nothing_is_told(run: Run) -> None:
    outcome = run("doctor", "--no-spark", "--json", "--set", "catalog.url=mongodb://host/db")

    found = "there is no catalog for `mongodb://` URLs"
    hint = "write `sqlite:///path/to/meta.sqlite` or `postgresql://user@host/database`"
    assert catalog_of(outcome) == (1, "failed", found, hint)


def test_a_postgres_without_its_driver_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in [name for name in sys.modules if name.startswith("hakiri.catalog.postgres.")]:
        monkeypatch.delitem(sys.modules, name)

    outcome = run("doctor", "--no-spark", "--json", "--set", "catalog.url=postgresql://host/db")

    found = "a catalog at a `postgresql://` URL needs an optional part"
    assert catalog_of(outcome) == (1, "failed", found, "pip install 'hakiri[postgres]'")


def test_a_postgres_that_nobody_answers_for_is_told(run: Run) -> None:
    outcome = run("doctor", "--no-spark", "--json", "--set", "catalog.url=postgresql://127.0.0.1:1/db")

    code, status, found, hint = catalog_of(outcome)
    assert (code, status) == (1, "failed")
    assert found.startswith("the catalog `postgresql://127.0.0.1:1/db#hakiri_` cannot be reached: ")
    assert hint.startswith("check host, database, user and password of `catalog.url` and that the server")


@pytest.fixture
def database(postgres_server: PostgresServer) -> Iterator[str]:
    name = postgres_server.create_database()
    yield name
    postgres_server.drop_database(name)


def test_a_postgres_is_asked_for_real(run: Run, postgres_server: PostgresServer, database: str) -> None:
    url = postgres_server.url(database, over="tcp")
    there = ("--json", "--set", f"catalog.url={url}")
    server = "postgresql://{}:{}/{}".format(*postgres_server.tcp_address, database)
    run("init", "--name", "shop")

    empty = run("doctor", "--no-spark", *there)
    run("catalog", "migrate", *there)
    made = run("doctor", "--no-spark", *there)
    read_only = run(
        *("doctor", "--no-spark", "--json", "--set"),
        f"catalog.url={url}&options=-c%20default_transaction_read_only%3Don",
    )

    assert catalog_of(empty) == (0, "ok", f"{server} answers; there is no catalog in it yet", "")
    found = f"{server}#hakiri_shop, version 2, with the state of 0 pipelines"
    assert catalog_of(made) == (0, "ok", found, "")
    found = f"the catalog `{server}#hakiri_shop` cannot be written to"
    hint = "give this user the right to write it, or run as the user who owns it"
    assert catalog_of(read_only) == (1, "failed", found, hint)


def test_a_postgres_that_does_not_let_us_at_the_catalog_is_told(
    run: Run, postgres_server: PostgresServer, database: str
) -> None:
    import psycopg

    run("init", "--name", "shop")
    run("catalog", "migrate", "--set", f"catalog.url={postgres_server.url(database)}")
    with psycopg.connect(postgres_server.url(database), autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS stranger")
        connection.execute("CREATE ROLE stranger LOGIN")
    asked = ("doctor", "--no-spark", "--json", "--set")

    stranger = run(*asked, f"catalog.url={postgres_server.url(database, user='stranger')}")
    unknown = run(*asked, f"catalog.url={postgres_server.url(database, user='nobody')}")

    code, status, found, hint = catalog_of(stranger)
    assert (code, status) == (1, "failed")
    assert found.endswith("#hakiri_shop` denies access: permission denied for schema hakiri_shop")
    assert hint == "check the user and password of `catalog.url` and the rights of that user"
    code, status, found, _ = catalog_of(unknown)
    assert (code, status) == (1, "failed")
    assert found.endswith('role "nobody" does not exist')


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
