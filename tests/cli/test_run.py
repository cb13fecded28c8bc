"""`hakiri run`: one run, told and ended so that whoever triggered it knows."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.test_schemas import validate
from tests.support.past import Shop, pipeline

if TYPE_CHECKING:
    from conftest import Run


@pytest.mark.spec("HP-047")
@pytest.mark.spec("HP-048")
@pytest.mark.spec("HP-054")
def test_a_run_that_fails_ends_with_1_and_waits_for_a_decision(run: Run, tmp_path: Path) -> None:
    Shop.make(tmp_path, pipeline(table='"ordres"'))

    failed = run("run", "orders")

    assert (failed.code, failed.out) == (1, "1 pipeline did not make it.\n")
    assert (
        "error[sources.permanent]: pipeline `orders`: the database has no table `ordres`\n"
        "  --> hakiri.toml:4\n"
        "hint: did you mean `orders`?\n"
    ) in failed.err

    again = run("run", "orders")

    assert again.code == 1
    assert again.err.startswith("error[pipelines.waits_for_decision]: ")
    assert run("plan", "--offline").out.endswith("Plan for shop: 1 waiting for a decision.\n")


@pytest.mark.spec("HP-054")
def test_a_failed_run_as_json_has_the_error_and_the_hint(run: Run, tmp_path: Path) -> None:
    Shop.make(tmp_path, pipeline(table='"ordres"'))

    outcome = run("run", "orders", "--json")

    validate("run", outcome)
    (row,) = outcome.data["pipelines"]
    assert (row["need"], row["status"], row["phase"]) == ("asked", "failed", "planning")
    assert (row["error_code"], row["error"], row["hint"]) == (
        "sources.permanent",
        "the database has no table `ordres`",
        "did you mean `orders`?",
    )
    assert row["run"].startswith("run-")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (pipeline(table='{ name = "orders", lag = 5 }', more=""), "pipelines.lag_unsound"),
        (pipeline(table='{ name = "orders", lag = "2h" }'), "chunks.lag_misfit"),
        (pipeline(table='{ name = "orders", deletes = "missing" }'), "pipelines.deletes_unsound"),
    ],
)
def test_a_declaration_that_cannot_work_ends_with_2_and_waits_for_nobody(
    run: Run, tmp_path: Path, text: str, code: str
) -> None:
    shop = Shop.make(tmp_path, text)

    outcome = run("run", "orders")

    assert outcome.code == 2
    assert f"error[{code}]: " in outcome.err
    shop.write(pipeline(table='"ordres"'))
    assert run("plan", "--offline", "--json").data["pipelines"][0]["action"] != "wait"


@pytest.mark.parametrize("command", ["apply", "run"])
def test_an_unknown_connector_is_a_mistake_in_the_manifest(run: Run, tmp_path: Path, command: str) -> None:
    Shop.make(tmp_path, pipeline().replace('"sql"', '"sqll"'))

    outcome = run(command, "orders")

    assert outcome.code == 2
    assert "hint: did you mean `sql`?" in outcome.err


def test_a_run_names_its_pipeline(run: Run, tmp_path: Path) -> None:
    Shop.make(tmp_path)

    outcome = run("run")

    assert (outcome.code, outcome.out) == (2, "")
    assert "missing argument `ID`" in outcome.err


def test_a_catalog_of_a_later_version_is_not_touched(run: Run, tmp_path: Path) -> None:
    Shop.make(tmp_path)
    run("catalog", "migrate")
    catalog = sqlite3.connect(tmp_path / ".hakiri" / "context" / "shop" / "meta.sqlite")
    catalog.execute("INSERT INTO schema_version (id, applied_at) VALUES (99, '2030-01-01')")
    catalog.commit()
    catalog.close()

    for words in (("run", "orders"), ("apply",), ("plan",)):
        outcome = run(*words)
        assert (outcome.code, outcome.out) == (2, ""), words
        assert outcome.err.startswith("error[catalog.too_new]: "), words
