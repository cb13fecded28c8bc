"""Restoring small tables: what they were becomes what they are, and nothing of the past is lost by it."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.compaction.bench import ANNA, SCHEMA, Bench
from tests.store.workshop import ORDERS, PIPELINE, T0, open_workshop

from hakiri.compaction.collecting import Collector
from hakiri.compaction.errors import KeyChanged, TableBusy, TableMoved
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.runs import queue_of
from hakiri.compaction.steps import Step
from hakiri.core.ids import ChunkId, RunId
from hakiri.store.errors import NotThere, PastGone
from hakiri.store.files import LocalFiles
from hakiri.store.known_tables import known_table
from hakiri.store.past import withdrawn

KEPT = timedelta(days=1)
LAID_OUT = TableLayout(retain=KEPT)


def people(*numbers: int, name: str = "n") -> list[dict[str, Any]]:
    return [{"id": number, "name": f"{name}{number}"} for number in numbers]


def collector(bench: Bench) -> Collector:
    return Collector(
        catalog=bench.workshop.catalog,
        layout=bench.workshop.layout,
        clock=bench.clock,
        files=LocalFiles(),
    )


@pytest.mark.spec("HC-043")
@pytest.mark.parametrize("is_compacted", [True, False])
@pytest.mark.parametrize("key", [("id",), ()])
def test_a_table_is_what_it_was_and_what_lands_then_is_newer(
    bench: Bench, key: tuple[str, ...], is_compacted: bool
) -> None:
    bench.land(people(1, 2), SCHEMA, *key)
    if is_compacted:
        bench.compacted(LAID_OUT)
    at = bench.pass_time()
    bench.land(people(3), SCHEMA, *key)
    if is_compacted:
        bench.compacted(LAID_OUT)
    bench.land(people(4), SCHEMA, *key)
    bench.pass_time()

    plan = bench.restore(at, LAID_OUT)

    assert bench.rows() == [(1, "n1"), (2, "n2")]
    assert (len(plan.withdrawn), plan.returning) == (2, ())
    assert bench.restorer().plan(ORDERS, at).is_nothing
    bench.land(people(5), SCHEMA, *key)
    assert bench.rows() == [(1, "n1"), (2, "n2"), (5, "n5")]
    bench.compacted(LAID_OUT)
    assert bench.rows() == [(1, "n1"), (2, "n2"), (5, "n5")]


@pytest.mark.spec("HC-043")
def test_deleted_and_changed_rows_come_back(bench: Bench) -> None:
    bench.land(people(1, 2), SCHEMA, "id")
    at = bench.pass_time()
    bench.land([{"id": 1, "_op": "delete"}, *people(2, name="new ")], SCHEMA, "id")
    bench.compacted(LAID_OUT)
    assert bench.rows() == [(2, "new 2")]

    bench.restore(at, LAID_OUT)

    assert bench.rows() == [(1, "n1"), (2, "n2")]


@pytest.mark.spec("HC-043")
def test_a_restore_is_undone_by_another_one_while_files_are_kept(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    first = bench.pass_time()
    bench.land(people(2), SCHEMA, "id")
    second = bench.pass_time()
    bench.restore(first, LAID_OUT)
    assert bench.rows() == [(1, "n1")]
    bench.pass_time()

    plan = bench.restore(second, LAID_OUT)

    assert bench.rows() == [(1, "n1"), (2, "n2")]
    assert (plan.withdrawn, len(plan.returning)) == ((), 1)


def test_a_column_that_came_since_stays_and_is_null(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    at = bench.pass_time()
    wide = SCHEMA.append(SCHEMA.field("name").with_name("more"))
    bench.land([{"id": 1, "name": "b", "more": "m"}], wide, "id")

    bench.restore(at, LAID_OUT)

    assert bench.rows() == [(1, "n1", None)]


def test_what_a_withdrawn_chunk_had_replaced_gives_way_to_what_comes_in_its_place(bench: Bench) -> None:
    chunks, catalog = bench.workshop.catalog.chunks, bench.workshop.catalog
    first = ChunkId(bench.land(people(1)))
    at = bench.pass_time()
    (second,) = chunks.supersede(PIPELINE, [first], "again", T0)
    bench.workshop.work(people(1, name="second "), SCHEMA)
    bench.compacted(LAID_OUT)
    assert bench.rows() == [(1, "second 1")]

    bench.restore(at, LAID_OUT)
    assert bench.rows() == [(1, "n1")]
    bench.land(people(7))
    bench.compacted(LAID_OUT)
    assert bench.rows() == [(1, "n1"), (7, "n7")]
    known = known_table(catalog, ORDERS)
    assert known is not None
    assert [one.chunk for one in withdrawn(known.contents)] == [second]

    chunks.supersede(PIPELINE, [second], "again", T0)
    bench.workshop.work(people(1, name="third "), SCHEMA)
    bench.workshop.publish()
    assert bench.rows() == [(1, "third 1"), (7, "n7")]
    bench.compacted(LAID_OUT)
    assert bench.rows() == [(1, "third 1"), (7, "n7")]
    assert bench.compact(LAID_OUT) is None


def test_a_pass_that_was_under_way_goes_on_and_a_withdrawn_one_does_not_count(bench: Bench) -> None:
    bench.land(people(1), pass_number=1, pass_size=1)
    bench.land(people(2), pass_number=2, pass_size=2)
    at = bench.pass_time()
    bench.land(people(8), pass_number=3, pass_size=1)
    assert bench.rows() == [(8, "n8")]

    bench.restore(at, LAID_OUT)

    assert bench.rows() == [(1, "n1")]
    bench.land(people(3), pass_number=2, pass_size=2)
    assert bench.rows() == [(2, "n2"), (3, "n3")]


def test_a_table_is_not_restored_while_somebody_reads_a_chunk_of_it(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    at = bench.pass_time()
    bench.workshop.catalog.chunks.supersede(PIPELINE, [bench.workshop.chunks()[0].chunk], "again", T0)
    slow = bench.workshop.claim()

    with pytest.raises(TableBusy, match="`node-anna` reads a chunk of it for pipeline `shop`") as raised:
        bench.restorer().plan(ORDERS, at)

    assert raised.value.exit_code == 1
    bench.workshop.catalog.queue.give_back(slow, T0)
    assert bench.restorer().plan(ORDERS, at).is_nothing


def test_what_is_claimed_after_the_look_simply_counts(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    at = bench.pass_time()
    bench.land(people(1, name="bad "), SCHEMA, "id")
    restorer = bench.restorer()

    plan = restorer.plan(ORDERS, at)
    bench.land(people(2), SCHEMA, "id")
    restorer.work(plan, bench.new_run(), LAID_OUT, by=ANNA)

    assert bench.rows() == [(1, "n1"), (2, "n2")]


def test_who_compacts_meanwhile_wins(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    at = bench.pass_time()
    bench.land(people(2), SCHEMA, "id")
    restorer = bench.restorer()
    plan = restorer.plan(ORDERS, at)
    bench.compacted(LAID_OUT)

    with pytest.raises(TableMoved):
        restorer.work(plan, bench.new_run(), LAID_OUT, by=ANNA)

    assert bench.rows() == [(1, "n1"), (2, "n2")]
    assert bench.workshop.catalog.audit.page() == ()


def test_another_key_is_no_past_to_go_back_to(bench: Bench) -> None:
    bench.land(people(1, 1))
    at = bench.pass_time()
    bench.workshop.evolve(SCHEMA, "id")

    with pytest.raises(KeyChanged, match="had the primary key none then, and has `id` now"):
        bench.restorer().plan(ORDERS, at)


def test_a_table_that_was_not_there_or_of_which_files_are_gone_is_refused(bench: Bench) -> None:
    with pytest.raises(NotThere):
        bench.restorer().plan(ORDERS, T0)
    bench.land(people(1), SCHEMA, "id")
    at = bench.pass_time()
    bench.land(people(1, name="new "), SCHEMA, "id")
    bench.compacted(LAID_OUT)
    bench.pass_time(KEPT)
    collector(bench).collect(KEPT, tables=(ORDERS,))

    with pytest.raises(PastGone, match="its files of then were deleted"):
        bench.restorer().plan(ORDERS, at)


@pytest.mark.spec("HC-042")
def test_a_collection_at_the_same_time_leaves_what_is_read_and_takes_it_after_its_time(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    at = bench.pass_time()
    bench.land(people(1, name="new "), SCHEMA, "id")
    bench.compacted(LAID_OUT)
    collected: list[int] = []

    def reached(step: Step) -> None:
        if step is Step.INPUTS_SELECTED or step is Step.FOLDED:
            collected.append(len(collector(bench).collect(KEPT, tables=(ORDERS,)).deleted))

    restorer = bench.restorer(reached=reached)
    plan = restorer.plan(ORDERS, at)
    bench.pass_time(KEPT)
    restorer.work(plan, bench.new_run(), LAID_OUT, by=ANNA)

    assert bench.rows() == [(1, "n1")]
    assert collected[-1:] == [1]  # that of the later row, which nobody holds
    bench.pass_time(KEPT)
    found = collector(bench).collect(KEPT, tables=(ORDERS,))
    assert (len(found.deleted) > 1, found.in_use) == (True, ())
    assert bench.rows() == [(1, "n1")]


def test_a_file_that_goes_while_it_is_needed_is_told_as_that(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    at = bench.pass_time()
    bench.land(people(2), SCHEMA, "id")
    bench.compacted(LAID_OUT)
    restorer = bench.restorer()
    plan = restorer.plan(ORDERS, at)
    for file in bench.workshop.layout.data_folder(ORDERS).glob("runs/*/*/*/*/part-*"):
        file.unlink()

    with pytest.raises(PastGone):
        restorer.work(plan, bench.new_run(), LAID_OUT, by=ANNA)

    assert bench.rows() == [(1, "n1"), (2, "n2")]


def test_it_is_known_who_did_it_and_what_it_was_made_of(bench: Bench) -> None:
    bench.land(people(1), SCHEMA, "id")
    base = bench.compacted(LAID_OUT)
    at = bench.pass_time()
    bench.land(people(2), SCHEMA, "id")
    current = bench.compacted(LAID_OUT)
    bench.pass_time()

    bench.restore(at, LAID_OUT)

    catalog = bench.workshop.catalog
    (entry,) = catalog.audit.page(pipeline=PIPELINE)
    (run, *_) = catalog.runs.latest(queue_of(ORDERS))
    assert (entry.by, entry.action, entry.table) == (ANNA, "restore", ORDERS)
    assert json.loads(entry.before or "") == {"snapshot": current.snapshot}
    assert json.loads(entry.after or "") == {"at": "2026-05-11T08:00:00.123456Z", "run": run.run}
    parents = catalog.lineage.parents(run.run)
    assert [(edge.parent, edge.reason) for edge in parents] == [
        (base.run, "restored as of 2026-05-11T08:00:00.123456Z")
    ]
    row = catalog.snapshots.current(ORDERS)
    assert row is not None
    assert (json.loads(row.manifest)["base"], row.rows) == (current.snapshot, 1)


def restore_and_die(root: Path, at: Step) -> None:
    """What the process does that is killed."""

    def reached(step: Step) -> None:
        if step is at:
            os.kill(os.getpid(), signal.SIGKILL)

    with open_workshop(root) as workshop:
        bench = Bench(workshop)
        bench.pass_time(KEPT)
        restorer = bench.restorer(reached=reached)
        restorer.work(
            restorer.plan(ORDERS, T0),
            RunId("0196be00-0000-7000-9000-00000000dead"),
            TableLayout(retain=KEPT),
            by=ANNA,
        )


@pytest.mark.proof
@pytest.mark.spec("HC-043")
@pytest.mark.spec("HC-044")
@pytest.mark.parametrize(
    ("at", "is_new"),
    [(Step.FOLDED, False), (Step.MANIFEST_FINAL, False), (Step.DATA_RENAMED, False), (Step.COMMITTED, True)],
    ids=lambda value: value.name.lower() if isinstance(value, Step) else "",
)
def test_a_killed_restore_leaves_the_old_state_or_the_new_one(tmp_path: Path, at: Step, is_new: bool) -> None:
    root = tmp_path / "store"
    with open_workshop(root) as workshop:
        bench = Bench(workshop)
        bench.land(people(1), SCHEMA, "id")
        bench.pass_time()
        bench.land(people(1, 2, name="bad "), SCHEMA, "id")
        bench.compacted(LAID_OUT)
        child = multiprocessing.get_context("spawn").Process(target=restore_and_die, args=(root, at))
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL
        workshop.publish()

        assert bench.rows() == ([(1, "n1")] if is_new else [(1, "bad 1"), (2, "bad 2")])
        bench.pass_time(KEPT + timedelta(hours=1))  # after the lease of whoever is gone
        if not is_new:
            bench.restore(T0, LAID_OUT)
        assert bench.rows() == [(1, "n1")]
