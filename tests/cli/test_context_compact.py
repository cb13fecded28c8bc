"""`hakiri context compact`: what it says, also of what others do, and how far it is."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.test_progress import CONTROL, LOOK, on_terminal
from tests.compaction.bench import SCHEMA, Bench
from tests.store.workshop import ORDERS, open_workshop
from tests.support.own_spark import ENGINE
from tests.support.past import pipeline

from hakiri.cli.console import Console
from hakiri.cli.context.progress import CompactionDisplay
from hakiri.compaction.claims import Claims
from hakiri.compaction.exchange import Piece
from hakiri.compaction.fold_tasks import ScatterTask, WriteTask
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.runs import CompactionRun, queue_of
from hakiri.compaction.tasks import Recipe
from hakiri.core.clock import FixedClock, SystemClock
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import NodeId, RunId, TableName

if TYPE_CHECKING:
    from typing import TextIO

    from conftest import Run

HAKIRI = Path(sys.executable).parent / "hakiri"
STORE = Path(".hakiri/context/shop")
RUN = RunId("run-0196be00-0000-7000-9000-00000000beef")


def make_store(root: Path, *, more: str = "", is_compacted: bool = False) -> None:
    """A project whose store has a table of two runs, folded or not."""
    (root / "hakiri.toml").write_text(f'[project]\nname = "shop"\n\n{pipeline()}{more}')
    with open_workshop(root / STORE) as workshop:
        bench = Bench(workshop)
        bench.land([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], SCHEMA, "id")
        bench.land([{"id": 1, "name": "c"}], SCHEMA, "id")
        if is_compacted:
            work = CompactionRun(compactor=bench.compactor(), table=ORDERS, laid_out=TableLayout())
            assert work.work(RUN) is not None


def claim(root: Path, node: str) -> datetime:
    """Somebody else compacts the table from now on."""
    clock = FixedClock(datetime.now(UTC))
    with open_workshop(root / STORE) as workshop:
        workshop.catalog.pipelines.declare(queue_of(ORDERS), CursorKind.MONOTONIC, clock.now())
        workshop.catalog.runs.start(
            RUN, queue_of(ORDERS), NodeId(node), clock.now(), ttl=timedelta(minutes=10)
        )
        claims = Claims(catalog=workshop.catalog, clock=clock, node=NodeId(node))
        assert claims.take(ORDERS, RUN, None, "2 runs to fold") is not None
    return clock.now()


@pytest.mark.spec("HC-048")
@pytest.mark.spec("HC-055")
def test_a_table_that_another_compacts_is_left_to_them(run: Run, tmp_path: Path) -> None:
    make_store(tmp_path)
    since = claim(tmp_path, "anna")

    said = run("context", "compact", "orders")
    told = run("context", "compact", "--json")

    when = f"{since:%Y-%m-%d %H:%M:%S}Z"
    assert (said.code, said.err) == (0, "")
    assert said.out == f"orders: left alone, `anna` is compacting it since {when}\n"
    (table,) = told.data["tables"]
    assert (told.code, table["is_compacted"], table["held_by"]) == (0, False, "anna")
    assert datetime.fromisoformat(table["held_since"]) == since


def test_a_compacted_table_has_nothing_new_to_fold(run: Run, tmp_path: Path) -> None:
    make_store(tmp_path, is_compacted=True)

    outcome = run("context", "compact")

    assert (outcome.code, outcome.out, outcome.err) == (0, "orders: nothing new to fold\n", "")


def test_a_table_that_the_store_does_not_have_is_refused(run: Run, tmp_path: Path) -> None:
    make_store(tmp_path)

    outcome = run("context", "compact", "nope")

    assert outcome.code == 2
    assert "the store has no table `nope`\nhint: its tables are `orders`" in outcome.err


def test_compactions_are_listed_and_shown_among_the_runs(run: Run, tmp_path: Path) -> None:
    make_store(tmp_path, is_compacted=True)

    listed = run("runs", "list", "compaction:orders")
    shown = run("runs", "show", "0000beef")
    facts = run("runs", "show", "0000beef", "--json")
    status = run("status")

    assert re.search(r"0000beef +compaction:orders +success", listed.out)
    assert shown.code == 0
    assert "  pipeline  compaction:orders\n" in shown.out
    assert "  rows      2\n" in shown.out
    assert re.search(r" 1 +compaction:orders +by hand +done +1 +2 ", shown.out)
    assert shown.out.count("  compaction\n") == 2
    assert facts.data["chunks"][0]["predicate"] == {"after": None, "why": "by hand"}
    assert "compaction" not in status.out


RECIPE = Recipe(table="orders", schemas={}, primary_key=("id",), cluster_by=("name",), label="label")
SCATTER = ScatterTask(recipe=RECIPE, inputs=(), bounds=b"x", folder="")
WRITE = WriteTask(recipe=RECIPE, folder="", part=0, pieces=(Piece(path="a", range=0),), is_settled=True)


def watched(err: TextIO, *, is_shown: bool = True) -> None:
    """A compaction of three stages of ten tasks each, that is 10 s at the first and 20 s at the last."""
    clock = FixedClock(datetime(2026, 5, 12, 8, 0, tzinfo=UTC))
    console = Console(out=io.StringIO(), err=err, env={"TERM": "xterm-256color"})
    display = CompactionDisplay(console, clock, is_shown=is_shown)
    display.starting()
    display.ready(None, was_started=True)
    display.begin("orders")
    display.tasks([SCATTER] * 10, 0)
    clock.advance(timedelta(seconds=10))
    display.progress(replace(LOOK, tasks_done=3, tasks_total=10))
    clock.advance(timedelta(seconds=10))
    display.tasks([WRITE] * 10, 0)
    display.progress(replace(LOOK, tasks_done=5, tasks_total=10))
    display.close()


def test_a_terminal_shows_how_far_a_compaction_is_and_what_is_left() -> None:
    shown = CONTROL.sub("", on_terminal(watched))

    assert "starting Spark" in shown
    # A tenth of the whole took 10 s.
    assert "orders: reading" in shown
    assert "3/10 tasks, about 1 min 30 s left" in shown
    assert "orders: sorting and writing" in shown
    assert "5/10 tasks, about 4 s left" in shown


def test_a_file_or_a_program_is_told_nothing_of_it() -> None:
    err = io.StringIO()
    watched(err)
    shown = on_terminal(lambda screen: watched(screen, is_shown=False))

    assert (err.getvalue(), shown) == ("", "")


@pytest.mark.cluster
@pytest.mark.timeout(300)
@pytest.mark.spec("HC-048")
@pytest.mark.spec("HC-055")
@pytest.mark.spec("HC-056")
def test_a_real_compaction_takes_over_from_a_dead_process_and_leaves_a_trace(
    tmp_path: Path, spark_env: dict[str, str]
) -> None:
    make_store(tmp_path, more=ENGINE)
    claim(tmp_path, "anna")
    nodes = tmp_path / STORE / "nodes"
    nodes.mkdir()
    (nodes / "anna.lock").touch()

    done = subprocess.run(
        [HAKIRI, "context", "compact", "orders", "--json"],
        cwd=tmp_path,
        env=spark_env,
        capture_output=True,
        text=True,
        check=True,
    )

    (table,) = json.loads(done.stdout)["tables"]
    assert (table["is_compacted"], table["runs"], table["rows_read"], table["rows"]) == (True, 2, 3, 2)
    assert done.stderr == ""
    assert list(nodes.iterdir()) == []
    with open_workshop(tmp_path / STORE) as workshop:
        newest, former = workshop.catalog.runs.latest(queue_of(ORDERS))
        assert (former.run, former.error_kind) == (RUN, "abandoned")
    (line,) = (tmp_path / STORE / "traces" / f"{newest.trace}.jsonl").read_text().splitlines()
    span = json.loads(line)
    assert (span["name"], span["status"]) == ("hakiri.compaction", "ok")
    assert span["attributes"]["hakiri.compaction.rows_read"] == 3
    assert newest.started_at <= SystemClock().now()


def test_a_table_that_cannot_be_compacted_does_not_keep_the_others_from_it(run: Run, tmp_path: Path) -> None:
    items = """
[[pipeline]]
id = "more"
source = { connector = "files", config = { path = "x/*.csv", format = "csv" } }

[[pipeline.tables]]
name = "items"

[pipeline.tables.compaction]
cluster_by = ["nope"]

"""
    make_store(tmp_path, is_compacted=True)
    manifest = (tmp_path / "hakiri.toml").read_text()
    (tmp_path / "hakiri.toml").write_text(manifest.replace("[[pipeline]]", f"{items}\n[[pipeline]]", 1))
    with open_workshop(tmp_path / STORE) as workshop:
        workshop.plans = iter(range(1000, 1010))  # names that the store does not know yet
        workshop.land([{"id": 1, "name": "a"}], SCHEMA, "id", table=TableName("items"))

    outcome = run("context", "compact")

    assert outcome.out == "items: not compacted\norders: nothing new to fold\n"
    assert "table `items` cannot be laid out by column `nope`: it has no such column" in outcome.err
    assert outcome.code == 2
    told = json.loads(run("context", "compact", "--json").out)["tables"]
    assert [(each["table"], each["error_code"]) for each in told] == [
        ("items", "compaction.columns_not_sortable"),
        ("orders", None),
    ]
