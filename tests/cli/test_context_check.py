"""`hakiri context check` and `hakiri schema regen-view`: what a person is told, and how commands end."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from tests.compaction.bench import SCHEMA
from tests.store.workshop import ORDERS, Workshop, open_workshop

from hakiri.core.ids import TableName

if TYPE_CHECKING:
    from conftest import Outcome, Run

DOCS = Path(__file__).resolve().parents[2] / "docs"
MANIFEST = """\
[project]
name = "shop"

[[pipeline]]
id = "shop"
source = { connector = "files", config = { path = "orders.csv" } }
tables = [{ name = "orders", primary_key = ["id"] }]
"""


@pytest.fixture
def shop(run: Run, tmp_path: Path) -> Iterator[Workshop]:
    """A project whose store has two orders."""
    (tmp_path / "hakiri.toml").write_text(MANIFEST)
    (tmp_path / "orders.csv").write_text("id,name\n1,Ada\n")
    with open_workshop(tmp_path / ".hakiri" / "context" / "shop") as workshop:
        workshop.land([{"id": 1, "name": "Ada"}], SCHEMA, "id")
        workshop.land([{"id": 2, "name": "Bo"}], SCHEMA, "id")
        workshop.publish()
        yield workshop


def validated(name: str, outcome: Outcome) -> Any:
    schema = json.loads((DOCS / "schemas" / f"{name}.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(outcome.data)
    assert outcome.data.keys() == schema["properties"].keys()
    return outcome.data


def part_of(workshop: Workshop) -> Path:
    return min(workshop.layout.root.rglob("part-*.parquet"))


def test_a_store_that_is_whole_is_said_to_be(run: Run, shop: Workshop) -> None:
    outcome = run("context", "check")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("the store is whole: 1 table, 4 files, ")


def test_a_quick_check_says_that_it_was_one(run: Run, shop: Workshop) -> None:
    outcome = run("context", "check", "--quick", "orders")

    assert outcome.code == 0
    assert outcome.out.startswith("every file is there and has its size: 1 table, 4 files, ")


def test_what_is_damaged_is_told_with_what_to_do_next(run: Run, shop: Workshop) -> None:
    file = part_of(shop)
    file.write_bytes(file.read_bytes()[:-1] + b"?")

    outcome = run("context", "check")

    assert outcome.code == 1
    head, row = outcome.out.splitlines()
    assert head.split() == ["file", "found", "next"]
    assert row.startswith(f"damage  {shop.layout.relative(file)}  its SHA-256 is ")
    assert row.endswith(
        "put it back from a copy of the store; until then the table cannot be read as a whole"
    )
    assert outcome.err.startswith("the store is not whole: 1 finding in 4 files, ")


def test_a_program_gets_the_findings_as_json(run: Run, shop: Workshop) -> None:
    file = part_of(shop)
    file.unlink()

    outcome = run("context", "check", "--json")

    report = validated("context-check", outcome)
    assert (outcome.code, report["is_whole"], report["tables"]) == (1, False, ["orders"])
    assert {(row["kind"], row["severity"], row["path"], row["table"]) for row in report["findings"]} >= {
        ("file_missing", "damage", shop.layout.relative(file), "orders")
    }


def test_what_can_be_mended_is_mended(run: Run, shop: Workshop) -> None:
    shop.layout.view_file(ORDERS).write_text("SELECT 1")
    shop.layout.config_file.write_text("version = ")
    assert run("context", "check").code == 1

    outcome = run("context", "check", "--repair")

    assert outcome.code == 0
    assert "mended  config.toml " in outcome.out
    assert "mended  views/orders.sql " in outcome.out
    assert outcome.err == "2 findings mended\n"
    assert run("context", "check").code == 0


def test_a_table_that_is_not_there_is_refused(run: Run, shop: Workshop) -> None:
    outcome = run("context", "check", "ordres")

    assert (outcome.code, outcome.err) == (
        2,
        "error[usage]: the store has no table `ordres`\nhint: its tables are `orders`\n",
    )


def test_a_project_without_a_store_is_told_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "hakiri.toml").write_text(MANIFEST)

    outcome = run("context", "check")

    assert outcome.code == 2
    assert outcome.err.startswith("error[catalog.too_old]: there is no catalog at ")


def test_a_truncated_file_gives_no_wrong_answer(run: Run, shop: Workshop) -> None:
    file = part_of(shop)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    outcome = run("query", "SELECT count(*) FROM orders")

    assert outcome.code == 1
    assert (
        f"error[store.damaged_file]: `{shop.layout.relative(file)}` of the store cannot be read"
        in outcome.err
    )
    assert "hint: `hakiri context check` says" in outcome.err


# Versions ---------------------------------------------------------------------------------------------------

OPENING = [
    ("query", "FROM orders"),
    ("plan",),
    ("apply",),
    ("context", "compact"),
    ("context", "gc"),
    ("context", "check"),
    ("context", "check", "--repair"),
    ("schema", "regen-view"),
    ("schema", "accept", "--pipeline", "shop", "--as", "ada"),
    ("status",),
    ("backfill", "chunks", "shop"),
]


@pytest.mark.spec("HC-010")
@pytest.mark.parametrize("words", OPENING, ids=" ".join)
def test_a_store_of_a_newer_version_is_refused_by_every_command_that_opens_it(
    run: Run, shop: Workshop, words: tuple[str, ...]
) -> None:
    config = shop.layout.config_file
    config.write_text(config.read_text().replace("version = 1", "version = 7"))

    outcome = run(*words)

    assert outcome.code == 2
    assert "error[store.too_new]: the store has version 7, says `config.toml`" in outcome.err
    assert "hint: upgrade with `pip install --upgrade hakiri`" in outcome.err
    assert "version = 7" in config.read_text()


def test_a_store_whose_config_is_damaged_is_refused_until_it_is_mended(run: Run, shop: Workshop) -> None:
    shop.layout.config_file.write_text("version = ")

    refused = run("query", "FROM orders")

    assert refused.code == 1
    assert "error[store.unreadable_config]: `config.toml` of the store cannot be read" in refused.err
    assert "hint: it was damaged or edited; `hakiri context check --repair` writes it anew" in refused.err
    assert run("context", "check", "--repair").code == 0
    assert run("query", "SELECT count(*) AS n FROM orders").out == "n\n2\n"


# Views ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("HC-017")
def test_views_are_written_anew(run: Run, shop: Workshop) -> None:
    view, before = shop.layout.view_file(ORDERS), shop.layout.view_file(ORDERS).read_text()
    view.write_text("SELECT 1")
    shop.layout.duck_db.unlink()

    outcome = run("schema", "regen-view", "orders")

    assert (outcome.code, view.read_text()) == (0, before)
    assert outcome.out == (
        "duck.db was out of step with the catalog\nviews/orders.sql was out of step with the catalog\n"
    )
    assert outcome.err == "wrote the views of 1 table anew\n"
    assert shop.query("SELECT count(*) FROM orders") == [(2,)]


@pytest.mark.spec("HC-017")
@pytest.mark.spec("HC-018")
def test_whether_views_are_out_of_step_can_be_asked(run: Run, shop: Workshop) -> None:
    assert run("schema", "regen-view", "--check").code == 0
    view = shop.layout.view_file(ORDERS)
    edited = view.read_text().replace("UNION", "union").replace('SELECT "id"', 'SELECT "id" + 1 AS "id"')
    view.write_text(edited)

    outcome = run("schema", "regen-view", "--check", "--json")

    report = validated("schema-regen-view", outcome)
    assert outcome.code == 1
    assert report == {
        "schema_version": 1,
        "is_check": True,
        "tables": ["orders"],
        "changed": ["views/orders.sql"],
        "not_made": [],
    }
    assert view.read_text() == edited


def test_a_view_that_cannot_be_made_is_told(run: Run, shop: Workshop) -> None:
    part_of(shop).unlink()

    outcome = run("schema", "regen-view")

    assert outcome.code == 1
    assert "error[store.view_not_made]: the view of table `orders` cannot be made" in outcome.err


@pytest.mark.spec("HC-017")
@pytest.mark.parametrize("how", ["moved", "copied"])
def test_a_store_elsewhere_is_read_where_it_is(run: Run, shop: Workshop, tmp_path: Path, how: str) -> None:
    shop.catalog.close()
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(tmp_path / "hakiri.toml", other)
    if how == "moved":
        (tmp_path / ".hakiri").rename(other / ".hakiri")
    else:
        shutil.copytree(tmp_path / ".hakiri", other / ".hakiri")
        with open_workshop(tmp_path / ".hakiri" / "context" / "shop") as original:
            original.plans = iter(range(100, 200))
            original.land([{"id": 3, "name": "only in the original"}], SCHEMA, "id")
            original.publish()

    first = run("-C", "other", "query", "SELECT count(*) AS n FROM orders")
    assert run("-C", "other", "schema", "regen-view", "--check").code == 1
    again = run("-C", "other", "schema", "regen-view")
    second = run("-C", "other", "query", "SELECT count(*) AS n FROM orders")

    assert (first.code, first.out) == (0, "n\n2\n")
    assert first.err.startswith(f"warning: the store was moved here from `{shop.layout.root}`")
    assert "hint: run `hakiri schema regen-view` once" in first.err
    assert again.code == 0
    assert (second.out, second.err) == ("n\n2\n", "")
    assert run("-C", "other", "context", "check").code == 0


def test_a_damaged_file_keeps_only_its_own_table_from_being_read_elsewhere(
    run: Run, shop: Workshop, tmp_path: Path
) -> None:
    shop.land([{"id": 1, "name": "an event"}], SCHEMA, table=TableName("events"))
    shop.publish(TableName("events"))
    shop.catalog.close()
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(tmp_path / "hakiri.toml", other)
    (tmp_path / ".hakiri").rename(other / ".hakiri")
    next((other / ".hakiri").rglob("tables/events/**/part-*.parquet")).write_bytes(b"")

    asked = [run("-C", "other", "query", sql) for sql in ("SELECT 1 AS n", "SELECT id AS n FROM orders")]
    damaged = run("-C", "other", "query", "--quiet", "FROM events")
    again = run("-C", "other", "schema", "regen-view")

    assert [(outcome.code, outcome.out.splitlines()[0].strip()) for outcome in asked] == [(0, "n"), (0, "n")]
    assert damaged.code == 1
    assert damaged.err.startswith("error[store.damaged_file]: `tables/events/")
    assert again.code == 1
    assert "error[store.view_not_made]: the view of table `events` cannot be made" in again.err
    assert "wrote the views of 1 table anew" in again.err
    assert f'"{other}' in (other / ".hakiri/context/shop/views/orders.sql").read_text()
