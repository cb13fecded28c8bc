"""When a table is due, on both sides of every edge, by a clock that the test turns."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.compaction.bench import SCHEMA, Bench
from tests.store.workshop import ORDERS, PIPELINE, T0

from hakiri.catalog.contract.chunks import NewChunk
from hakiri.compaction.layouts import compaction_of_table
from hakiri.compaction.triggers import Due, DueTables, Unfolded, due
from hakiri.core.ids import TableName
from hakiri.manifest import load_project
from hakiri.manifest.tables import CompactionSpec

HOUR = timedelta(hours=1)
TICK = timedelta(microseconds=1)


def rule(runs: int, interval: str = "6h") -> CompactionSpec:
    return CompactionSpec.model_validate({"trigger_run_count": runs, "trigger_interval": interval})


@pytest.mark.spec("HC-046")
@pytest.mark.parametrize(
    ("runs", "spec", "why"),
    [
        (49, CompactionSpec(), None),
        (50, CompactionSpec(), "50 runs to fold"),
        (51, CompactionSpec(), "51 runs to fold"),
        (2, rule(3), None),
        (3, rule(3), "3 runs to fold"),
    ],
)
def test_a_table_is_due_after_so_many_runs(runs: int, spec: CompactionSpec, why: str | None) -> None:
    assert due(Unfolded(runs=runs, since=T0), spec, T0) == Due(why=why, at=T0 + 6 * HOUR)


@pytest.mark.spec("HC-047")
@pytest.mark.parametrize(
    ("spec", "after", "why"),
    [
        (CompactionSpec(), 6 * HOUR - TICK, None),
        (CompactionSpec(), 6 * HOUR, "nothing folded for 6h"),
        (CompactionSpec(), 60 * HOUR, "nothing folded for 6h"),
        (rule(50, "90m"), 1.5 * HOUR - TICK, None),
        (rule(50, "90m"), 1.5 * HOUR, "nothing folded for 90m"),
    ],
)
def test_a_table_is_due_when_the_last_time_is_so_long_ago(
    spec: CompactionSpec, after: timedelta, why: str | None
) -> None:
    found = due(Unfolded(runs=1, since=T0), spec, T0 + after)

    assert found == Due(why=why, at=spec.trigger_interval.after(T0))


@pytest.mark.spec("HC-047")
def test_a_table_without_anything_to_fold_is_never_due() -> None:
    assert due(Unfolded(runs=0, since=T0), CompactionSpec(), T0 + 1000 * HOUR) == Due()


@pytest.mark.spec("HC-049")
def test_the_manifest_says_when_each_table_is_due(tmp_path: Any) -> None:
    (tmp_path / "hakiri.toml").write_text(
        '[project]\nname = "shop"\n\n[[pipeline]]\nid = "p"\n'
        'source = { connector = "sql", config = { url = "sqlite:///shop.db" } }\n\n'
        '[[pipeline.tables]]\nname = "orders"\n\n[pipeline.tables.compaction]\n'
        'trigger_run_count = 7\ntrigger_interval = "20m"\n\n[[pipeline.tables]]\nname = "others"\n'
    )
    project = load_project(tmp_path)

    said, silent = (compaction_of_table(project, TableName(name)) for name in ("orders", "others"))

    assert (said.trigger_run_count, str(said.trigger_interval)) == (7, "20m")
    assert (silent.trigger_run_count, str(silent.trigger_interval)) == (50, "6h")


def put(bench: Bench, count: int = 1) -> None:
    for number in range(count):
        bench.land([{"id": number, "name": "a"}], SCHEMA, "id")


def why_of(bench: Bench, spec: CompactionSpec, now: datetime = T0) -> str | None:
    return DueTables(bench.workshop.catalog).look(ORDERS, spec, now).why


@pytest.mark.spec("HC-046")
def test_runs_are_counted_from_the_last_snapshot_on(bench: Bench) -> None:
    put(bench, 2)
    before = why_of(bench, rule(3))
    put(bench)
    reached = why_of(bench, rule(3))
    bench.compacted()
    folded = why_of(bench, rule(3))
    put(bench, 2)
    again = why_of(bench, rule(3))
    put(bench)

    assert (before, reached, folded, again) == (None, "3 runs to fold", None, None)
    assert why_of(bench, rule(3)) == "3 runs to fold"


@pytest.mark.spec("HC-047")
def test_time_counts_from_the_first_chunk_and_then_from_the_last_snapshot(bench: Bench) -> None:
    spec = rule(50)
    put(bench, 2)
    first = [why_of(bench, spec, T0 + 6 * HOUR - TICK), why_of(bench, spec, T0 + 6 * HOUR)]
    bench.clock.advance(6 * HOUR)
    made = bench.compacted()
    folded = why_of(bench, spec, T0 + 100 * HOUR)
    put(bench)
    at = made.created_at + 6 * HOUR

    assert first == [None, "nothing folded for 6h"]
    assert folded is None
    assert [why_of(bench, spec, at - TICK), why_of(bench, spec, at)] == [None, "nothing folded for 6h"]


@pytest.mark.spec("HC-046")
def test_runs_that_brought_nothing_are_no_reason(bench: Bench) -> None:
    put(bench)
    for _ in range(5):
        bench.land([], SCHEMA, "id")

    assert why_of(bench, rule(2)) is None
    assert why_of(bench, rule(1)) == "1 runs to fold"


def test_what_a_compaction_could_not_fold_yet_does_not_count(bench: Bench) -> None:
    catalog = bench.workshop.catalog
    put(bench, 2)
    catalog.chunks.plan(PIPELINE, "slow", [NewChunk(table=ORDERS, predicate="{}")], T0)
    slow = bench.workshop.claim()
    put(bench, 2)
    held_back = (why_of(bench, rule(2)), why_of(bench, rule(3)))
    catalog.queue.give_back(slow, T0, retry=False)

    assert held_back == ("2 runs to fold", None)
    assert why_of(bench, rule(3)) == "4 runs to fold"


@dataclass
class Counting:
    """A real catalog, or a role of it, that counts what it is asked."""

    real: Any
    asked: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        if name in ("chunks", "snapshots"):
            return Counting(getattr(self.real, name), self.asked)
        self.asked.append(name)
        return getattr(self.real, name)


def test_a_table_that_did_not_change_is_not_read_again(bench: Bench) -> None:
    put(bench, 3)
    catalog: Any = Counting(bench.workshop.catalog)
    tables = DueTables(catalog)
    tables.look(ORDERS, rule(50), T0)
    catalog.asked.clear()

    tables.look(ORDERS, rule(50), T0 + HOUR)
    quiet = sorted(catalog.asked)
    put(bench)
    found = tables.look(ORDERS, rule(4), T0)

    assert quiet == ["current_id", "schemas", "version"]
    assert found.why == "4 runs to fold"


def test_a_table_that_the_store_does_not_have_is_not_due(bench: Bench) -> None:
    assert DueTables(bench.workshop.catalog).look(TableName("none"), rule(1), T0) == Due()
