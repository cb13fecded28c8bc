"""Two who want to compact one table, in one process and in several: one does, whatever becomes of it."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.compaction.bench import SCHEMA, Bench
from tests.store.workshop import ORDERS, T0, open_workshop

from hakiri.catalog.contract.chunks import ChunkStatus
from hakiri.catalog.contract.runs import RunStatus
from hakiri.compaction.claims import Claims
from hakiri.compaction.compacting import Compacted, Compactor
from hakiri.compaction.errors import CompactionUnderWay, TableMoved
from hakiri.compaction.recipes import TableLayout
from hakiri.compaction.runs import CompactionRun, queue_of
from hakiri.compaction.steps import Step
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, NodeId, RunId
from hakiri.pipelines.runtime.burying import bury_the_dead
from hakiri.store.nodes import known_node

ANNA, BERT = NodeId("anna"), NodeId("bert")
LEASE = timedelta(minutes=10)
QUEUE = queue_of(ORDERS)


def run_id(number: int) -> RunId:
    return RunId(f"0196be00-0000-7000-9000-{number:012d}")


def put(bench: Bench, *names: str) -> None:
    for number, name in enumerate(names):
        bench.land([{"id": number, "name": name}], SCHEMA, "id")


def compactor(bench: Bench, node: NodeId, reached: Callable[[Step], None] | None = None) -> Compactor:
    made = bench.compactor() if reached is None else bench.compactor(reached=reached)
    return replace(made, node=node)


def compacted(
    bench: Bench, node: NodeId, number: int, reached: Callable[[Step], None] | None = None, **how: Any
) -> Compacted | None:
    work = CompactionRun(
        compactor=compactor(bench, node, reached), table=ORDERS, laid_out=TableLayout(), **how
    )
    return work.work(run_id(number))


def chunks(bench: Bench) -> list[tuple[int, ChunkStatus, int]]:
    found = bench.workshop.catalog.chunks.page(QUEUE)
    return [(chunk.chunk, chunk.status, chunk.attempts) for chunk in found]


def statuses(bench: Bench) -> list[RunStatus]:
    return [run.status for run in reversed(bench.workshop.catalog.runs.latest(QUEUE))]


@pytest.mark.spec("HC-055")
def test_a_compaction_is_a_chunk_that_is_claimed_and_committed(bench: Bench) -> None:
    put(bench, "a", "b")
    frontier = bench.workshop.catalog.snapshots.frontier(ORDERS)
    version = bench.workshop.catalog.chunks.version(ORDERS)

    done = compacted(bench, ANNA, 1)

    (chunk,) = bench.workshop.catalog.chunks.page(QUEUE)
    assert done is not None
    assert (chunk.status, chunk.run, chunk.winning_attempt) == (ChunkStatus.DONE, run_id(1), "anna/attempt-1")
    assert (chunk.rows, chunk.bytes) == (2, done.manifest.bytes)
    assert json.loads(chunk.predicate) == {"after": None, "why": "by hand"}
    assert statuses(bench) == [RunStatus.SUCCESS]
    # Nothing of it is taken for rows of the table.
    assert bench.workshop.catalog.chunks.version(ORDERS) == version
    assert bench.workshop.catalog.snapshots.frontier(ORDERS) > frontier
    assert len(bench.workshop.chunks()) == 2
    assert bench.workshop.catalog.check() == ()


@pytest.mark.spec("HC-048")
@pytest.mark.spec("HC-055")
def test_whoever_comes_second_is_told_who_is_at_it_and_since_when(bench: Bench) -> None:
    put(bench, "a", "b")
    told: list[CompactionUnderWay] = []

    def reached(step: Step) -> None:
        if step is Step.FOLDED:
            bench.clock.advance(timedelta(minutes=3))
            with pytest.raises(CompactionUnderWay) as refused:
                compacted(bench, BERT, 2)
            told.append(refused.value)

    done = compacted(bench, ANNA, 1, reached)

    assert done is not None
    assert [(error.holder, error.since) for error in told] == [(ANNA, T0)]
    assert str(told[0]) == "table `orders` is being compacted by `anna` since 2026-05-11 08:00:00Z"
    assert statuses(bench) == [RunStatus.SUCCESS]
    assert compacted(bench, BERT, 3) is None


@pytest.mark.spec("HC-055")
def test_two_who_plan_at_once_plan_one_and_the_second_claims_none(bench: Bench) -> None:
    put(bench, "a")
    catalog = bench.workshop.catalog
    catalog.pipelines.declare(QUEUE, CursorKind.MONOTONIC, T0)
    anna, bert = (Claims(catalog=catalog, clock=bench.clock, node=node) for node in (ANNA, BERT))

    first, second = anna.take(ORDERS, run_id(1), None, "x"), bert.take(ORDERS, run_id(2), None, "y")

    assert first is not None
    assert second is None
    assert chunks(bench) == [(1, ChunkStatus.RUNNING, 1)]


def test_what_failed_is_given_back_and_taken_up_by_the_next(bench: Bench) -> None:
    put(bench, "a", "b")

    def reached(step: Step) -> None:
        if step is Step.FOLDED:
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full"):
        compacted(bench, ANNA, 1, reached)
    after_failure = chunks(bench)
    (chunk,) = bench.workshop.catalog.chunks.page(QUEUE)
    done = compacted(bench, BERT, 2)

    assert after_failure == [(1, ChunkStatus.PENDING, 1)]
    assert chunk.error_kind == "OSError"
    assert done is not None
    assert chunks(bench) == [(1, ChunkStatus.DONE, 2)]
    assert statuses(bench) == [RunStatus.FAILED, RunStatus.SUCCESS]
    assert not list(bench.workshop.layout.data_folder(ORDERS).glob("*.staging"))


def test_a_table_can_be_compacted_again_and_again_in_full(bench: Bench) -> None:
    put(bench, "a")

    made = [compacted(bench, ANNA, number, is_full=True) for number in (1, 2, 3)]

    assert None not in made
    assert [status for _, status, _ in chunks(bench)] == [ChunkStatus.DONE] * 3


@pytest.mark.spec("HC-055")
def test_a_claim_whose_lease_ran_out_is_taken_over_and_its_run_is_over(bench: Bench) -> None:
    put(bench, "a")
    catalog = bench.workshop.catalog
    claims = Claims(catalog=catalog, clock=bench.clock, node=ANNA, lease=LEASE)
    catalog.pipelines.declare(QUEUE, CursorKind.MONOTONIC, T0)
    catalog.runs.start(run_id(1), QUEUE, ANNA, T0, ttl=LEASE)
    assert claims.take(ORDERS, run_id(1), None, "x") is not None

    bench.clock.advance(LEASE - timedelta(microseconds=1))
    with pytest.raises(CompactionUnderWay):
        compacted(bench, BERT, 2)
    bench.clock.advance(timedelta(microseconds=1))
    done = compacted(bench, BERT, 3)

    assert done is not None
    assert chunks(bench) == [(1, ChunkStatus.DONE, 2)]
    gone = catalog.runs.get(run_id(1))
    assert gone is not None
    assert (gone.status, gone.error_kind) == (RunStatus.FAILED, "abandoned")


def test_a_claim_is_renewed_while_the_work_goes_on(bench: Bench) -> None:
    put(bench, "a")
    catalog = bench.workshop.catalog
    renewed = []

    def reached(step: Step) -> None:
        if step is not Step.FOLDED:
            return
        before = catalog.chunks.page(QUEUE)[0].leased_until
        while catalog.chunks.page(QUEUE)[0].leased_until == before:
            bench.clock.advance(timedelta(milliseconds=1))
        renewed.append(before)

    # As short as that, it is renewed ten times a second.
    claims = Claims(catalog=catalog, clock=bench.clock, node=ANNA, lease=timedelta(seconds=0.3))
    done = compacted(bench, ANNA, 1, reached, claims=claims)

    assert done is not None
    assert len(renewed) == 1


@pytest.mark.spec("HC-055")
def test_a_chunk_whose_snapshot_is_there_already_holds_up_nobody(bench: Bench) -> None:
    """As when its maker died between the commit of the snapshot and that of the chunk."""
    put(bench, "a", "b")
    catalog = bench.workshop.catalog

    def reached(step: Step) -> None:
        if step is Step.COMMITTED:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compacted(bench, ANNA, 1, reached)
    put(bench, "c")
    done = compacted(bench, BERT, 2)

    assert done is not None
    assert bench.rows() == [(0, "c"), (1, "b")]
    assert [status for _, status, _ in chunks(bench)] == [ChunkStatus.SKIPPED, ChunkStatus.DONE]
    assert catalog.check() == ()


def compact_and(root: Path, at: Step, deed: str, outcome: Any) -> None:
    """What a process does that is killed or frozen at a step; it says what became of it."""

    def reached(step: Step) -> None:
        if step is at:
            os.kill(os.getpid(), signal.SIGKILL if deed == "dies" else signal.SIGSTOP)

    with open_workshop(root) as workshop, known_node(workshop.layout.nodes, ANNA):
        try:
            compacted(Bench(workshop), ANNA, 1, reached)
        except (CompactionUnderWay, TableMoved) as error:
            outcome.put(type(error).__name__)
        else:
            outcome.put("done")


def child_of(root: Path, at: Step, deed: str) -> tuple[Any, Any]:
    context = multiprocessing.get_context("spawn")
    outcome = context.SimpleQueue()
    child = context.Process(target=compact_and, args=(root, at, deed, outcome))
    child.start()
    return child, outcome


@pytest.mark.proof
@pytest.mark.spec("HC-055")
def test_the_claim_of_a_process_that_was_killed_is_free_at_once(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with open_workshop(root) as workshop:
        bench = Bench(workshop)
        put(bench, "a", "b")
        rows = bench.rows()
        child, _ = child_of(root, Step.STAGED, "dies")
        child.join()
        with pytest.raises(CompactionUnderWay):
            compacted(bench, BERT, 2)

        bury_the_dead(workshop.catalog, workshop.layout.nodes, bench.clock)
        done = compacted(bench, BERT, 3)

        assert child.exitcode == -signal.SIGKILL
        assert done is not None
        assert bench.rows() == rows
        assert chunks(bench) == [(1, ChunkStatus.DONE, 2)]
        assert statuses(bench) == [RunStatus.FAILED, RunStatus.SUCCESS]


@pytest.mark.proof
@pytest.mark.spec("HC-055")
@pytest.mark.parametrize("at", [Step.MANIFEST_FINAL, Step.DATA_RENAMED])
@pytest.mark.parametrize("is_done", [True, False], ids=["done", "under_way"])
def test_a_compactor_that_was_frozen_past_its_lease_does_no_harm(
    tmp_path: Path, at: Step, *, is_done: bool
) -> None:
    root = tmp_path / "store"
    with open_workshop(root) as workshop:
        bench = Bench(workshop)
        put(bench, "a", "b", "c")
        rows = bench.rows()
        child, outcome = child_of(root, at, "freezes")
        assert os.waitid(os.P_PID, child.pid, os.WSTOPPED) is not None
        bench.clock.advance(timedelta(hours=1))
        claims = Claims(catalog=workshop.catalog, clock=bench.clock, node=BERT)
        if is_done:
            assert compacted(bench, BERT, 2) is not None
        else:
            assert claims.take(ORDERS, run_id(2), None, "x") is not None

        os.kill(child.pid, signal.SIGCONT)
        child.join()

        said = outcome.get()
        if is_done:
            assert said == "TableMoved"
        else:
            # Past the last question its run decides, which is over for others: its files may be gone.
            assert said == ("TableMoved" if at is Step.DATA_RENAMED else "CompactionUnderWay")
        assert bench.rows() == rows
        current = workshop.catalog.snapshots.current_id(ORDERS)
        folders = {path.name for path in workshop.layout.data_folder(ORDERS).glob("snapshot=*")}
        assert folders == ({f"snapshot={current}"} if current else set())
        chunk = workshop.catalog.chunks.get(QUEUE, ChunkId(1))
        assert chunk is not None
        assert (chunk.run, chunk.attempts) == (run_id(2), 2)
        assert workshop.catalog.check() == ()


def race(root: Path, node: str, number: int, start: Any, outcome: Any) -> None:
    with open_workshop(root) as workshop:
        bench = Bench(workshop)
        start.wait()
        try:
            done = compacted(bench, NodeId(node), number)
        except (CompactionUnderWay, TableMoved):
            outcome.put("left")
        else:
            outcome.put("nothing" if done is None else "compacted")


@pytest.mark.proof
@pytest.mark.spec("HC-055")
def test_of_two_workers_one_compacts(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with open_workshop(root) as workshop:
        bench = Bench(workshop)
        put(bench, "a", "b", "c")
        rows = bench.rows()
        context = multiprocessing.get_context("spawn")
        outcome, start = context.SimpleQueue(), context.Barrier(2)
        workers = [
            context.Process(target=race, args=(root, node, number, start, outcome))
            for number, node in enumerate((ANNA, BERT), start=1)
        ]
        for each in workers:
            each.start()
        for each in workers:
            each.join()

        said = sorted(outcome.get() for _ in workers)
        assert said[0] == "compacted"
        assert said[1] in ("left", "nothing")
        assert len(workshop.catalog.snapshots.all(ORDERS)) == 1
        assert bench.rows() == rows
