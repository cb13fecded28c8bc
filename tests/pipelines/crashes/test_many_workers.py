"""Several workers, each a process of its own, on one catalog in Postgres."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.counted import CountedSource, manifest, moments
from tests.support.crashes import UNHARMED, Kill
from tests.support.crashes_spark import SEEN, Nursery, Worker, fetched_too_often
from tests.support.postgres import PostgresServer
from tests.support.runtime import Lab

from hakiri.catalog.contract.chunks import Chunk, ChunkStatus
from hakiri.core.ids import NodeId, PipelineId
from hakiri.pipelines.runtime.steps import Step

pytestmark = pytest.mark.spark

PARALLELISM = 3
CHUNKS = 16
SHORT_LEASE = timedelta(seconds=1.5)
LOOK_SECONDS = 0.02
LONGEST_SECONDS = 40.0


@pytest.fixture
def lab(tmp_path: Path, spark: Any, postgres_server: PostgresServer) -> Iterator[Lab]:
    database = postgres_server.create_database()
    yield Lab(root=tmp_path, spark=spark, catalog_url=postgres_server.url(database))
    postgres_server.drop_database(database)


def worker_on(lab: Lab, server: str, number: int, **changes: Any) -> Worker:
    return Worker(root=lab.root, server=server, node=f"node-{number}", catalog_url=lab.catalog_url, **changes)


def wait_until(is_so: Callable[[], bool]) -> None:
    waited = 0.0
    while not is_so():
        assert waited < LONGEST_SECONDS, "it never came to that"
        threading.Event().wait(LOOK_SECONDS)
        waited += LOOK_SECONDS


def most_at_once(chunks: list[Chunk]) -> int:
    """How many were worked on at the same time, by when each was claimed and done."""
    spans = [(chunk.started_at, chunk.completed_at) for chunk in chunks]
    moments = [(begun, 1) for begun, _ in spans if begun] + [(done, -1) for _, done in spans if done]
    at_once = most = 0
    for _, change in sorted(moments):
        at_once += change
        most = max(most, at_once)
    return most


@pytest.fixture
def history(lab: Lab, source: CountedSource) -> CountedSource:
    """A history of many small chunks, of which only some may be worked on at once."""
    source.put(moments(CHUNKS))
    more = f"backfill = {{ parallelism = {PARALLELISM} }}\n"
    lab.write(manifest("monotonic", config=', window = "1d", has_key = false', more=more))
    return source


@pytest.mark.parametrize("kills", [(UNHARMED,) * 2, (Kill(step=Step.COMMIT_STARTED), *(UNHARMED,) * 3)])
@pytest.mark.spec("HP-128")
@pytest.mark.spec("HP-129")
def test_workers_share_the_chunks_and_each_is_done_once(
    lab: Lab, history: CountedSource, nursery: Nursery, server: str, kills: tuple[Kill, ...]
) -> None:
    running = set()
    with lab.catalog() as catalog:
        started = []
        for number, kill in enumerate(kills, start=1):
            started.append(nursery.start(worker_on(lab, server, number, kill=kill, chunks_at_once=1)))
            if kill is not UNHARMED:  # it has a chunk before the others can take them all
                wait_until(lambda: catalog.chunks.tally(PipelineId("p")).running > 0)
        while not all(nursery.has_ended(pid) for pid in started):
            running.add(catalog.chunks.tally(PipelineId("p")).running)
            threading.Event().wait(LOOK_SECONDS)
    ends = [nursery.ended(pid) for pid in started]
    lab.applied(node=NodeId("the-last"))

    chunks = lab.chunks()
    assert ends == [0 if kill is UNHARMED else -signal.SIGKILL for kill in kills]
    assert max(running) <= PARALLELISM
    assert most_at_once(chunks) <= PARALLELISM
    assert len({chunk.winning_attempt for chunk in chunks}) > 1
    assert {chunk.status for chunk in chunks} == {ChunkStatus.DONE}
    assert sum(chunk.attempts - 1 for chunk in chunks) <= sum(kill is not UNHARMED for kill in kills)
    assert fetched_too_often(history.reads(), chunks) == []
    assert lab.query(SEEN) == history.rows()
    with lab.catalog() as catalog:
        assert catalog.check() == ()


@pytest.mark.parametrize("kind", ["monotonic", "snapshot-id"])
@pytest.mark.spec("HP-122")
@pytest.mark.spec("HP-125")
def test_a_worker_that_sleeps_past_its_lease_cannot_commit(
    lab: Lab, source: CountedSource, nursery: Nursery, server: str, kind: str
) -> None:
    source.put(moments(4))
    lab.write(manifest(kind))
    sleeper = nursery.start(worker_on(lab, server, 1, lease=SHORT_LEASE, stops_at=Step.COMMIT_STARTED))
    wait_until(lambda: nursery.is_stopped(sleeper))
    (held,) = lab.chunks()
    assert (held.status, held.holder, held.attempts) == (ChunkStatus.RUNNING, "node-1", 1)
    wait_until(lambda: held.leased_until is not None and lab.clock.now() > held.leased_until)

    lab.applied(node=NodeId("node-2"))
    done = lab.chunks()
    os.kill(sleeper, signal.SIGCONT)

    assert nursery.ended(sleeper) == 0
    assert done[0].winning_attempt == "node-2/attempt-2"
    assert lab.chunks()[: len(done)] == done
    assert lab.query(SEEN) == source.rows()


@pytest.mark.spec("HP-125")
def test_what_a_sleeping_worker_has_committed_is_not_done_again(
    lab: Lab, source: CountedSource, nursery: Nursery, server: str
) -> None:
    source.put(moments(4))
    lab.write(manifest("monotonic"))
    sleeper = nursery.start(worker_on(lab, server, 1, lease=SHORT_LEASE, stops_at=Step.COMMITTED))
    wait_until(lambda: nursery.is_stopped(sleeper))
    ends = lab.clock.now() + SHORT_LEASE
    wait_until(lambda: lab.clock.now() > ends)

    lab.applied(node=NodeId("node-2"))
    os.kill(sleeper, signal.SIGCONT)

    assert nursery.ended(sleeper) == 0
    (first, *_) = lab.chunks()
    assert (first.winning_attempt, first.attempts) == ("node-1/attempt-1", 1)
    assert fetched_too_often(source.reads(), lab.chunks()) == []
    assert lab.query(SEEN) == source.rows()
