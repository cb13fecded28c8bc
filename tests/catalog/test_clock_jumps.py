"""Clocks that jump: an hour back costs waiting at most, an hour ahead a takeover, and neither costs a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.support.grounds import T0, TTL, new_ground, opened
from tests.support.writes import change, declared, planned, route

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit, ChunkStatus, NewChunk
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.push import Answer, PushTally, Verdict
from hakiri.catalog.contract.runs import RunOutcome, RunStatus
from hakiri.catalog.errors import LeaseLost
from hakiri.core.ids import NodeId, PipelineId, RunId, TableName

ANNA, BERT = NodeId("anna"), NodeId("bert")
TABLE = TableName("t")
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
STEPS = 16


@pytest.fixture(params=["sqlite", "postgres"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalog]:
    with opened(new_ground(request.param, request, tmp_path)) as catalog:
        yield catalog


@dataclass(slots=True)
class Shift:
    """Two nodes that work on a pipeline one after the other, each step a minute after the one before."""

    catalog: Catalog
    pipeline: PipelineId
    jump_after: int
    steps: int = 0
    attempts: list[ChunkAttempt] = field(default_factory=list)
    cursor_times: list[datetime] = field(default_factory=list)

    def now(self) -> datetime:
        """The time of the next step; the clock has jumped back an hour after one of them."""
        self.look()
        jumped = HOUR if self.steps > self.jump_after else timedelta()
        self.steps += 1
        return T0 + self.steps * MINUTE - jumped

    def look(self) -> None:
        if cursor := self.catalog.cursors.get(self.pipeline, TABLE):
            self.cursor_times.append(cursor.updated_at)

    def work(self, node: NodeId, chunks: int) -> None:
        run = RunId(f"{self.pipeline}-{node}")
        lease = self.catalog.runs.start(run, self.pipeline, node, self.now(), ttl=TTL).lease
        assert lease is not None, f"{node} got no lease at step {self.steps}"
        for _ in range(chunks):
            lease = self.do_a_chunk(run, lease)
        self.catalog.runs.end(run, RunOutcome(status=RunStatus.SUCCESS), self.now())
        self.catalog.leases.release(lease)

    def do_a_chunk(self, run: RunId, lease: Lease) -> Lease:
        queue = self.catalog.queue
        attempt = queue.claim(self.pipeline, run, lease.holder, self.now(), ttl=TTL, under=lease)
        assert attempt is not None, f"{lease.holder} got no chunk at step {self.steps}"
        self.attempts.append(attempt)
        lease = self.catalog.leases.renew(lease, self.now(), TTL)
        attempt = queue.renew(attempt, self.now(), TTL)
        queue.commit(
            attempt,
            ChunkCommit(rows=1, bytes=1, manifest="{}", cursor=str(attempt.chunk)),
            self.now(),
            lease,
        )
        return lease


@pytest.mark.spec("AD-001")
def test_a_clock_that_jumps_back_between_any_two_steps_turns_nothing_back(catalog: Catalog) -> None:
    for jump_after in range(STEPS):
        pipeline = PipelineId(f"p{jump_after}")
        catalog.chunks.plan(pipeline, "first", [NewChunk(table=TABLE, predicate="{}")] * 3, T0)
        shift = Shift(catalog, pipeline, jump_after)

        shift.work(ANNA, chunks=2)
        shift.work(BERT, chunks=1)

        shift.look()
        assert shift.steps == STEPS
        chunks = catalog.chunks.page(pipeline)
        assert [(chunk.status, chunk.attempts) for chunk in chunks] == [(ChunkStatus.DONE, 1)] * 3
        assert [attempt.seq for attempt in shift.attempts] == sorted(
            attempt.seq for attempt in shift.attempts
        )
        claimed_at = [attempt.claimed_at for attempt in shift.attempts]
        assert claimed_at == sorted(claimed_at)
        assert shift.cursor_times == sorted(shift.cursor_times)
        cursor = catalog.cursors.get(pipeline, TABLE)
        assert cursor is not None
        assert (cursor.value, cursor.run) == ("3", f"{pipeline}-bert")
    assert catalog.check() == ()


@pytest.mark.spec("AD-019")
def test_nobody_takes_over_because_a_clock_jumped_back(catalog: Catalog) -> None:
    pipeline = planned(catalog, "p", 1)
    attempt = catalog.queue.claim(pipeline, RunId("r"), ANNA, T0, ttl=TTL)
    lease = catalog.leases.acquire(pipeline, ANNA, T0, TTL)
    assert attempt is not None
    assert lease is not None

    assert catalog.queue.claim(pipeline, RunId("r"), BERT, T0 - HOUR, ttl=TTL) is None
    assert catalog.leases.acquire(pipeline, BERT, T0 - HOUR, TTL) is None

    assert catalog.queue.renew(attempt, T0 - HOUR, TTL).leased_until == attempt.leased_until
    assert catalog.leases.renew(lease, T0 - HOUR, TTL).expires_at == lease.expires_at


def commit(catalog: Catalog, attempt: ChunkAttempt, now: datetime, under: Lease | None = None) -> None:
    cursor = f'"{attempt.node}"'
    catalog.queue.commit(attempt, ChunkCommit(rows=1, bytes=1, manifest="{}", cursor=cursor), now, under)


@pytest.mark.spec("AD-019")
@pytest.mark.spec("HP-122")
def test_a_clock_that_jumps_ahead_lets_another_take_the_chunk_and_only_that_one_commits(
    catalog: Catalog,
) -> None:
    pipeline = planned(catalog, "p", 1)
    first = catalog.queue.claim(pipeline, RunId("r"), ANNA, T0, ttl=TTL)
    second = catalog.queue.claim(pipeline, RunId("r"), BERT, T0 + HOUR, ttl=TTL)
    assert first is not None
    assert second is not None

    with pytest.raises(LeaseLost) as failed:
        commit(catalog, first, T0)
    commit(catalog, second, T0)
    with pytest.raises(LeaseLost):
        commit(catalog, first, T0 + HOUR)

    assert (first.number, second.number) == (1, 2)
    chunk = catalog.chunks.get(pipeline, first.chunk)
    cursor = catalog.cursors.get(pipeline, first.table)
    assert chunk is not None
    assert cursor is not None
    assert (chunk.winning_attempt, cursor.value) == ("bert/attempt-2", '"bert"')
    assert catalog.chunks.tally(pipeline).rows == 1
    assert str(failed.value) == (
        "the lease on chunk 1 of pipeline `p` with fence 1 is lost: `bert` works on attempt 2"
    )
    assert failed.value.hint == ("drop the work of this attempt; whoever holds the lease now does it again")


@pytest.mark.spec("HP-125")
def test_a_late_commit_wins_when_nobody_has_taken_over(catalog: Catalog) -> None:
    pipeline = planned(catalog, "p", 1)
    attempt = catalog.queue.claim(pipeline, RunId("r"), ANNA, T0, ttl=TTL)
    assert attempt is not None

    commit(catalog, attempt, T0 + HOUR)

    assert catalog.queue.claim(pipeline, RunId("r"), BERT, T0 + 2 * HOUR, ttl=TTL) is None
    chunk = catalog.chunks.get(pipeline, attempt.chunk)
    assert chunk is not None
    assert (chunk.winning_attempt, chunk.attempts) == ("anna/attempt-1", 1)


@pytest.mark.spec("AD-019")
def test_a_clock_that_jumps_ahead_lets_another_take_the_lease_and_only_that_one_writes(
    catalog: Catalog,
) -> None:
    pipeline = PipelineId("p")
    catalog.chunks.plan(pipeline, "first", [NewChunk(table=TABLE, predicate="{}")], T0)
    old = catalog.runs.start(RunId("r1"), pipeline, ANNA, T0, ttl=TTL).lease
    attempt = catalog.queue.claim(pipeline, RunId("r1"), ANNA, T0, ttl=2 * HOUR, under=old)
    assert old is not None
    assert attempt is not None
    new = catalog.runs.start(RunId("r2"), pipeline, BERT, T0 + HOUR, ttl=TTL).lease
    assert new is not None

    writes: list[Callable[[], object]] = [
        lambda: commit(catalog, attempt, T0, old),
        lambda: catalog.cursors.put(pipeline, TABLE, "1", run=RunId("r1"), now=T0, under=old),
        lambda: catalog.queue.claim(pipeline, RunId("r1"), ANNA, T0, ttl=TTL, under=old),
        lambda: catalog.leases.renew(old, T0, TTL),
    ]
    for write in writes:
        with pytest.raises(LeaseLost):
            write()
    catalog.leases.release(old)
    catalog.cursors.put(pipeline, TABLE, "2", run=RunId("r2"), now=T0, under=new)

    assert (old.fence, new.fence) == (1, 2)
    assert catalog.leases.current(pipeline) == new
    assert [cursor.value for cursor in catalog.cursors.all(pipeline)] == ["2"]


def test_a_batch_is_settled_once_whatever_the_clock_does(catalog: Catalog) -> None:
    catalog.push.enqueue(route("m"), [change(1)], T0)
    first = catalog.push.claim(route("m"), ANNA, T0, limit=1, ttl=TTL)
    assert first is not None
    answers = {change(1).key: Answer(verdict=Verdict.OK)}

    assert catalog.push.claim(route("m"), BERT, T0 - HOUR, limit=1, ttl=TTL) is None
    second = catalog.push.claim(route("m"), BERT, T0 + HOUR, limit=1, ttl=TTL)
    assert second is not None
    with pytest.raises(LeaseLost):
        catalog.push.settle(first, answers, T0)
    catalog.push.settle(second, answers, T0 - HOUR)

    assert catalog.push.tally(route("m")) == PushTally(delivered=1)


def test_a_cursor_written_by_a_clock_that_is_behind_counts_all_the_same(catalog: Catalog) -> None:
    pipeline = declared(catalog, "p")
    catalog.cursors.put(pipeline, TABLE, "1", run=RunId("r1"), now=T0)

    put = catalog.cursors.put(pipeline, TABLE, "2", run=RunId("r2"), now=T0 - HOUR)

    assert (put.value, put.updated_at) == ("2", T0)
    assert catalog.cursors.get(pipeline, TABLE) == put
