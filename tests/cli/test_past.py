"""`hakiri query --at` and `hakiri context restore`: what was, and making it what is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.cli.test_cursor import Typed
from tests.cli.test_schemas import validate
from tests.pipelines.operations.scenes import stop_the_clock
from tests.store.workshop import ORDERS, PIPELINE, T0, Workshop, open_workshop
from tests.support.past import SQL
from tests.support.terminal import terminal

from hakiri.catalog.contract.chunks import NewChunk
from hakiri.core.canonical import canonical_json
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import TableName

if TYPE_CHECKING:
    from conftest import Run

MINUTE = timedelta(minutes=1)
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
EVENTS = TableName("events")
FIRST, SECOND = "2026-05-11T08:00:00.123456Z", "2026-05-11T08:01:00.123456Z"


def rows_of(*numbers: int) -> list[dict[str, Any]]:
    return [{"id": number, "name": f"n{number}"} for number in numbers]


def land(
    workshop: Workshop, rows: list[dict[str, Any]], table: TableName, window: dict[str, Any], *key: str
) -> None:
    """Rows that were read as this window."""
    catalog, predicate = workshop.catalog, canonical_json({"kind": "window", "window": window})
    catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
    catalog.chunks.plan(PIPELINE, predicate, [NewChunk(table=table, predicate=predicate)], T0)
    workshop.work(rows, SCHEMA, *key, table=table)


@pytest.fixture
def workshop(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workshop]:
    """No orders at first and two of them a minute later, and events that came with these; now is later."""
    stop_the_clock(monkeypatch, T0 + timedelta(hours=1))
    (tmp_path / "hakiri.toml").write_text(
        f'[project]\nname = "shop"\n\n[[pipeline]]\nid = "shop"\n{SQL}\ntables = ["orders", "events"]\n'
    )
    with open_workshop(tmp_path / ".hakiri" / "context" / "shop") as made:
        land(made, [], ORDERS, {"field": "id", "until": 1}, "id")
        made.now += MINUTE
        land(made, rows_of(1, 2), ORDERS, {"field": "id", "since": 1, "until": 100}, "id")
        land(made, rows_of(7), EVENTS, {"field": "id"})
        made.publish(TableName("orders"), EVENTS)
        yield made


@pytest.mark.spec("HC-043")
@pytest.mark.parametrize(
    ("when", "rows"), [(FIRST, []), (SECOND, [1, 2]), ("59m", [1, 2]), ("P1D", None), ("30m", [1, 2])]
)
def test_a_question_is_answered_as_of_a_moment(
    run: Run, workshop: Workshop, when: str, rows: list[int] | None
) -> None:
    outcome = run("query", "--at", when, "--json", "SELECT id FROM orders ORDER BY id")

    if rows is None:
        assert outcome.code == 2
        assert (
            "error[store.not_there]: there was no table `orders` at 2026-05-10T09:00:00.123456Z"
            in outcome.err
        )
        return
    assert outcome.code == 0
    assert [row["id"] for row in outcome.data["rows"]] == rows
    assert "as of 2026-05-11T08:" in outcome.err


def test_the_list_of_tables_is_that_of_the_moment_too(run: Run, workshop: Workshop) -> None:
    words = ("--csv", "SELECT table_name, rows FROM hakiri.tables ORDER BY 1", "--quiet")

    assert run("query", "--at", FIRST, *words).out == "table_name,rows\norders,0\n"
    assert run("query", *words).out == "table_name,rows\nevents,1\norders,2\n"


def test_a_table_whose_files_are_gone_is_refused_and_others_are_not(run: Run, workshop: Workshop) -> None:
    for file in workshop.layout.data_folder(EVENTS).rglob("part-*"):
        file.unlink()

    gone = run("query", "--at", SECOND, "FROM events")
    there = run("query", "--at", SECOND, "--csv", "SELECT count(*) AS n FROM orders", "--quiet")

    assert gone.code == 1
    assert gone.err.startswith("error[store.past_gone]: table `events` cannot be seen as of " + SECOND)
    assert (there.code, there.out) == (0, "n\n2\n")


@pytest.mark.parametrize(
    ("when", "says"),
    [
        ("yesterday", "error[store.bad_moment]: `yesterday` is neither a time"),
        ("2030-01-01", "error[store.bad_moment]: `2030-01-01` lies in the future"),
        ("2026-05-1", "error[grammar.bad_text]: "),
        ("2026-05-11T08-00-00Z-x", "is no snapshot that the catalog knows"),
    ],
)
@pytest.mark.parametrize("command", [("query", "FROM orders"), ("context", "restore", "--yes")])
def test_a_bad_moment_ends_with_2_and_says_how_to_write_one(
    run: Run, workshop: Workshop, command: tuple[str, ...], when: str, says: str
) -> None:
    outcome = run(*command, "--at", when)

    assert outcome.code == 2
    assert says in outcome.err
    assert "hint: write a " in outcome.err


def test_without_a_store_there_was_nothing(run: Run, tmp_path: Path) -> None:
    run("init", "--name", "empty")

    outcome = run("query", "--at", "2h", "SELECT 1 AS one")

    assert (outcome.code, "as of " in outcome.err) == (0, True)


@pytest.mark.spec("HC-043")
def test_a_rehearsal_says_what_would_change_and_changes_nothing(run: Run, workshop: Workshop) -> None:
    outcome = run("context", "restore", "orders", "--at", FIRST, "--dry-run")

    assert outcome.out == "orders: would have 0 rows in place of 2; 1 chunk withdrawn, 0 seen again\n"
    assert f"hakiri context restore orders --at {FIRST} --reread --yes && hakiri apply shop" in outcome.err
    assert workshop.query("SELECT count(*) FROM orders") == [(2,)]
    assert workshop.catalog.audit.page() == ()


def test_a_rehearsal_needs_nobody_to_decide_and_a_restore_does(
    run: Run, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("USER", "LOGNAME"):
        monkeypatch.delenv(variable, raising=False)
    words = ("context", "restore", "orders", "--at", FIRST)

    rehearsal, restore = run(*words, "--dry-run", "--json"), run(*words, "--yes")

    assert (rehearsal.code, rehearsal.data["by"]) == (0, None)
    assert restore.code == 2
    assert restore.err.startswith("error[usage]: nobody says who decides\n")


def test_a_table_that_cannot_be_read_is_restored_to_what_can(run: Run, workshop: Workshop) -> None:
    for file in workshop.layout.data_folder(ORDERS).rglob("part-*.parquet"):
        file.unlink()

    outcome = run("context", "restore", "orders", "--at", FIRST, "--yes")

    assert outcome.out.startswith("orders: has 0 rows in place of what cannot be read; 1 chunk withdrawn, ")
    assert workshop.query("SELECT count(*) FROM orders") == [(0,)]


@pytest.mark.spec("HC-043")
def test_all_tables_are_restored_but_for_those_that_were_not_there(run: Run, workshop: Workshop) -> None:
    outcome = run("context", "restore", "--at", FIRST, "--yes", "--json", "--as", "agent:max")

    validate("context-restore", outcome)
    report = outcome.data
    assert (report["by"], report["at"], report["not_there"]) == ("agent:max", FIRST, ["events"])
    (table,) = report["tables"]
    assert (table["table"], table["is_changed"], table["rows_before"], table["rows"]) == (
        "orders",
        True,
        2,
        0,
    )
    assert workshop.query("SELECT count(*) FROM orders") == [(0,)]
    (part,) = report["withdrawn"]
    assert (part["pipeline_id"], part["chunks"], part["planned"]) == ("shop", 1, 0)
    (entry,) = workshop.catalog.audit.page(pipeline=PIPELINE)
    assert (entry.by, entry.action) == ("agent:max", "restore")
    assert "restore orders" in run("cursor", "log", "shop").out

    again = run("context", "restore", "orders", "--at", FIRST)

    assert (again.code, again.out) == (0, f"orders: as it was at {FIRST}\n")


def test_a_table_that_the_manifest_feeds_no_longer_is_restored_with_all_others(
    run: Run, workshop: Workshop, tmp_path: Path
) -> None:
    manifest = tmp_path / "hakiri.toml"
    manifest.write_text(manifest.read_text().replace('["orders", "events"]', '["events"]'))

    outcome = run("context", "restore", "--at", FIRST, "--yes", "--reread", "--json")

    report = outcome.data
    assert (report["not_there"], [table["table"] for table in report["tables"]]) == (["events"], ["orders"])
    assert workshop.query("SELECT count(*) FROM orders") == [(0,)]
    assert [(part["planned"], part["command"]) for part in report["withdrawn"]] == [(0, "")]
    assert "its tables are `events`, `orders`\n" in run("context", "restore", "x", "--at", FIRST).err

    again = run("context", "restore", "orders", "--at", FIRST)

    assert "of pipeline `shop` not in `orders` any more; the manifest feeds it no longer\n" in again.err


def test_what_was_withdrawn_is_planned_anew_when_it_is_wished(run: Run, workshop: Workshop) -> None:
    outcome = run("context", "restore", "orders", "--at", FIRST, "--yes", "--reread")

    assert outcome.code == 0
    assert "1 chunk of pipeline `shop` planned anew; run `hakiri apply shop`" in outcome.err
    chunks = workshop.catalog.chunks.page(PIPELINE)
    assert (chunks[-1].status.value, chunks[-1].predicate) == ("pending", chunks[1].predicate)
    assert chunks[-1].reread is not None
    assert chunks[-1].reread.reason == f"table `orders` was restored as of {FIRST}"

    again = run("context", "restore", "orders", "--at", FIRST, "--yes", "--reread", "--json")

    assert again.data["withdrawn"] == []


def test_nobody_is_asked_where_nobody_is(run: Run, workshop: Workshop) -> None:
    outcome = run("context", "restore", "orders", "--at", FIRST)

    assert outcome.code == 2
    assert outcome.err == (
        "error[usage]: this changes tables, and there is nobody to ask\nhint: add `--yes` if it is meant\n"
    )


def test_on_a_terminal_a_restore_asks(run: Run, workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal() as screen:
        monkeypatch.setattr(sys, "stdin", Typed("n\n"))
        monkeypatch.setattr(sys, "stderr", screen.stream)
        outcome = run("context", "restore", "orders", "--at", FIRST)
        shown = screen.wait_for("nothing was changed")

    assert (outcome.code, outcome.out) == (0, "")
    assert f"make `orders` what it was at {FIRST}, 0 rows in place of 2? [y/N] " in shown
    assert workshop.query("SELECT count(*) FROM orders") == [(2,)]


@pytest.mark.parametrize(
    ("table", "code", "says"),
    [
        ("nope", 2, "the store has no table `nope`"),
        ("events", 2, "error[store.not_there]: there was no table `events`"),
    ],
)
def test_a_table_that_is_not_or_was_not_there_is_refused(
    run: Run, workshop: Workshop, table: str, code: int, says: str
) -> None:
    outcome = run("context", "restore", table, "--at", FIRST, "--yes")

    assert (outcome.code, says in outcome.err) == (code, True)


def test_while_somebody_works_on_it_a_table_is_not_restored(run: Run, workshop: Workshop) -> None:
    workshop.catalog.chunks.supersede(PIPELINE, [workshop.chunks()[1].chunk], "again", T0)
    workshop.claim()

    outcome = run("context", "restore", "orders", "--at", FIRST, "--yes")

    assert outcome.code == 1
    assert "error[compaction.table_busy]: table `orders` cannot be restored while `node-anna`" in outcome.err
