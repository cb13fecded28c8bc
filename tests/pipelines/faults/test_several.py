"""Several pipelines and several tables: they share what they must, and leave each other alone."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.door import Door
from tests.support.runtime import Lab

from hakiri.core.clock import FixedClock
from hakiri.core.ids import PipelineId
from hakiri.pipelines.needs import Need

if TYPE_CHECKING:
    from hakiri.engine import EngineHome

pytestmark = pytest.mark.spark
HEAD = '[project]\nname = "shop"\n\n'
NOON = datetime(2026, 5, 12, 12, tzinfo=UTC)


def fill(root: Path, file: str, table: str, *ids: int, words: str = "") -> None:
    """Add or change rows of a table in a database file; their ids are what tells that they are new."""
    with closing(sqlite3.connect(root / file)) as database, database:
        database.execute(f"CREATE TABLE IF NOT EXISTS {table} (id INTEGER PRIMARY KEY, at TEXT, words TEXT)")
        database.executemany(
            f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)",
            [(number, f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z", words) for number in ids],
        )


def pipeline(name: str, file: str, *tables: str, more: str = "") -> str:
    listed = ", ".join(table if table.startswith("{") else f'"{table}"' for table in tables)
    return (
        f'[[pipeline]]\nid = "{name}"\n'
        f'source = {{ connector = "sql", config = {{ url = "sqlite:{file}" }} }}\n'
        f'tables = [{listed}]\nincremental = "id"\n{more}\n'
    )


def actions(hakiri: Door) -> dict[str, str]:
    return {row["id"]: row["action"] for row in hakiri.done("plan", "--json").data["pipelines"]}


@pytest.fixture
def hakiri(spark: Any, shared_home: EngineHome, tmp_path: Path) -> Door:
    return Door.beside(shared_home, tmp_path)


def test_two_pipelines_feed_one_table_and_the_newest_row_of_a_key_wins(lab: Lab) -> None:
    fill(lab.root, "east.db", "orders", *range(1, 11), words="east")
    fill(lab.root, "west.db", "orders", *range(11, 21), words="west")
    lab.write(pipeline("east", "east.db", "orders") + pipeline("west", "west.db", "orders"))

    assert [each.error for each in lab.apply()] == [None, None]

    assert lab.query("SELECT words, count(*) FROM orders GROUP BY ALL ORDER BY 1") == [
        ("east", 10), ("west", 10)
    ]  # fmt: skip

    # A row that both have is whose came last; each goes on from its own place.
    fill(lab.root, "west.db", "orders", 21, words="west again")
    fill(lab.root, "east.db", "orders", 21, words="east again")
    lab.ran("west")
    lab.ran("east")

    assert lab.query("SELECT words FROM orders WHERE id = 21") == [("east again",)]
    assert lab.query("SELECT count(*) FROM orders") == [(21,)]
    with lab.catalog() as catalog:
        cursors = {
            name: [json.loads(cursor.value)["id"] for cursor in catalog.cursors.all(PipelineId(name))]
            for name in ("east", "west")
        }
    assert cursors == {"east": [21], "west": [21]}


@pytest.mark.spec("HP-057")
def test_two_tables_of_a_pipeline_advance_each_by_its_own_cursor(lab: Lab) -> None:
    fill(lab.root, "shop.db", "orders", 1, 2, 3)
    fill(lab.root, "shop.db", "visits", *range(1, 51))
    lab.write(pipeline("shop", "shop.db", "orders", "visits"))
    lab.applied("shop")

    def cursors() -> dict[str, tuple[int, int]]:
        with lab.catalog() as catalog:
            found = catalog.cursors.all(PipelineId("shop"))
        return {cursor.table: (json.loads(cursor.value)["id"], cursor.seq) for cursor in found}

    before = cursors()
    fill(lab.root, "shop.db", "visits", 51, 52)
    ran = lab.ran("shop")

    after = cursors()
    assert (before["orders"][0], before["visits"][0]) == (3, 50)
    assert (after["orders"], after["visits"][0]) == (before["orders"], 52)
    assert ran.result is not None
    assert ran.result.run.rows == 2


@pytest.mark.spec("HP-034")
@pytest.mark.spec("HP-035")
@pytest.mark.spec("HP-054")
def test_one_pipeline_that_fails_keeps_no_other_from_being_applied(hakiri: Door) -> None:
    fill(hakiri.folder, "shop.db", "orders", 1, 2, 3)
    fill(hakiri.folder, "shop.db", "visits", 1)
    hakiri.write(
        "hakiri.toml",
        HEAD
        + pipeline("a-orders", "shop.db", "orders")
        + pipeline("b-broken", "shop.db", "refunds")
        + pipeline("c-visits", "shop.db", "visits"),
    )

    applied = hakiri("apply", "--json")

    assert applied.code == 1
    told = {row["id"]: (row["status"], row["error_code"]) for row in applied.data["pipelines"]}
    assert told == {
        "a-orders": ("success", None),
        "b-broken": ("failed", "sources.permanent"),
        "c-visits": ("success", None),
    }
    assert hakiri.query("SELECT count(*) FROM orders UNION ALL SELECT count(*) FROM visits") == [(3,), (1,)]

    # The failed one waits, and says so with every apply; by itself the others are fine.
    again = hakiri("apply")
    assert again.code == 1
    assert "pipeline `b-broken` failed and waits for a decision" in again.err
    assert hakiri("run", "b-broken").code == 1
    assert hakiri("apply", "a-orders").code == 0

    fill(hakiri.folder, "shop.db", "refunds", 7)
    hakiri.done("retry", "b-broken", "--as", "ada")
    hakiri.done("apply")
    assert hakiri.query("SELECT id FROM refunds") == [(7,)]


@pytest.mark.spec("HP-042")
def test_what_is_edited_in_the_manifest_is_what_plan_says_and_apply_does(hakiri: Door) -> None:
    fill(hakiri.folder, "shop.db", "orders", 1, 2, 3)
    fill(hakiri.folder, "shop.db", "visits", 1, 2)
    orders, visits = pipeline("orders", "shop.db", "orders"), pipeline("visits", "shop.db", "visits")
    hakiri.write("hakiri.toml", HEAD + orders + visits)
    assert actions(hakiri) == {"orders": "create", "visits": "create"}
    hakiri.done("apply")
    assert actions(hakiri) == {"orders": "nothing", "visits": "nothing"}

    # A table more in one, a knob in it, and the other is gone.
    fill(hakiri.folder, "shop.db", "refunds", 1, 2)
    hakiri.write("hakiri.toml", HEAD + pipeline("orders", "shop.db", "orders", "refunds", more="retries = 1"))

    planned = {row["id"]: row for row in hakiri.done("plan", "--json").data["pipelines"]}
    assert {name: row["action"] for name, row in planned.items()} == {"orders": "update", "visits": "remove"}
    assert {edit["key"]: (edit["before"], edit["after"]) for edit in planned["orders"]["edits"]} == {
        "retries": (None, 1),
        "tables.refunds": (None, {"name": "refunds"}),
    }
    assert [(table["store"], table["rows"]) for table in planned["orders"]["tables"]] == [
        ("orders", 0), ("refunds", 2)
    ]  # fmt: skip

    applied = hakiri.done("apply", "--json").data["pipelines"]

    assert [(row["id"], row["rows"]) for row in applied] == [("orders", 2)]
    assert hakiri.query("SELECT id FROM refunds ORDER BY id") == [(1,), (2,)]
    assert actions(hakiri) == {"orders": "nothing"}
    # What is gone from the manifest keeps its table, its history and its state.
    assert hakiri.query("SELECT count(*) FROM visits") == [(2,)]
    assert hakiri.done("runs", "--json").out.count('"visits"') == 1

    hakiri.write("hakiri.toml", HEAD + orders + visits)
    fill(hakiri.folder, "shop.db", "visits", 3)
    assert actions(hakiri) == {"orders": "update", "visits": "update"}
    hakiri.done("apply")
    hakiri.done("run", "visits")
    assert hakiri.query("SELECT count(*) FROM visits") == [(3,)]


@pytest.mark.spec("HP-039")
def test_apply_runs_again_only_what_its_schedule_has_come_for(lab: Lab) -> None:
    clock = lab.clock = FixedClock(NOON)
    fill(lab.root, "shop.db", "orders", 1)
    fill(lab.root, "shop.db", "visits", 1)
    lab.write(
        pipeline("often", "shop.db", "orders", more='schedule = "every 15m"')
        + pipeline("seldom", "shop.db", "visits", more='schedule = "0 */2 * * *"')
    )
    assert [each.need for each in lab.apply()] == [Need.NEW, Need.NEW]
    fill(lab.root, "shop.db", "orders", 2)
    fill(lab.root, "shop.db", "visits", 2)

    def counts() -> list[tuple[int]]:
        return lab.query("SELECT count(*) FROM orders UNION ALL SELECT count(*) FROM visits")

    clock.advance(timedelta(minutes=14, seconds=59))
    assert [each.need for each in lab.apply()] == [Need.NOTHING, Need.NOTHING]
    clock.advance(timedelta(seconds=1))
    assert [each.need for each in lab.apply()] == [Need.DUE, Need.NOTHING]
    assert counts() == [(2,), (1,)]
    assert [each.need for each in lab.apply()] == [Need.NOTHING, Need.NOTHING]
    clock.advance(timedelta(hours=1, minutes=45))
    assert [each.need for each in lab.apply()] == [Need.DUE, Need.DUE]
    assert counts() == [(2,), (2,)]


@pytest.mark.spec("HP-042")
def test_a_table_that_is_taken_out_while_it_fails_holds_up_no_other(lab: Lab) -> None:
    fill(lab.root, "shop.db", "orders", 1, 2)
    fill(lab.root, "shop.db", "visits", 1, 2)
    keyed = '{ name = "visits", primary_key = ["words"] }'
    with closing(sqlite3.connect(lab.root / "shop.db")) as database, database:
        database.execute("UPDATE visits SET words = NULL")
    lab.write(pipeline("shop", "shop.db", "orders", keyed))
    failed = lab.run("shop")
    assert failed.error is not None

    lab.write(pipeline("shop", "shop.db", "orders"))
    applied = lab.applied("shop")

    assert applied.result is not None
    assert applied.result.is_converged
    assert lab.query("SELECT id FROM orders ORDER BY id") == [(1,), (2,)]
    assert lab.applied("shop").need is Need.NOTHING

    # Once it is mended, it comes with all of its history.
    fill(lab.root, "shop.db", "visits", 1, 2, words="mended")
    lab.write(pipeline("shop", "shop.db", "orders", "visits"))
    lab.applied("shop")
    assert lab.query("SELECT id FROM visits ORDER BY id") == [(1,), (2,)]
