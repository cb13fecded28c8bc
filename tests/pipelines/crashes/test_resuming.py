"""A long history that is broken off: what is done is not fetched again."""

from __future__ import annotations

import signal

import pytest
from tests.support.counted import CountedSource, manifest, moments
from tests.support.crashes_spark import SEEN, Nursery, Worker, fetched_too_often
from tests.support.runtime import Lab

from hakiri.catalog.contract.chunks import ChunkStatus
from hakiri.core.ids import NodeId

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

CHUNKS = 312
KILLED_AT = 247


@pytest.mark.spec("HP-041")
@pytest.mark.spec("HP-126")
def test_a_history_of_312_chunks_killed_at_247_fetches_only_the_others(
    lab: Lab, source: CountedSource, nursery: Nursery, server: str
) -> None:
    source.put(moments(CHUNKS))
    lab.write(manifest("monotonic", config=', window = "1d", has_key = false'))
    worker = Worker(root=lab.root, server=server, node="node-1", dies_after=KILLED_AT)

    assert nursery.work(worker) == -signal.SIGKILL

    before = lab.chunks()
    done = [chunk for chunk in before if chunk.status is ChunkStatus.DONE]
    in_flight = [chunk for chunk in before if chunk.status is ChunkStatus.RUNNING]
    assert len(before) == CHUNKS
    assert len(done) >= KILLED_AT
    first_reads = len(source.reads())

    lab.applied(node=NodeId("node-2"))

    fetched = source.reads()[first_reads:]
    assert len(fetched) <= CHUNKS - len(done) + len(in_flight)
    assert len(fetched) >= CHUNKS - len(done)
    after = lab.chunks()
    assert [chunk for chunk in done if chunk not in after] == []
    assert [chunk for chunk in after if chunk.status is not ChunkStatus.DONE] == []
    assert fetched_too_often(source.reads(), after) == []
    assert lab.query(SEEN) == source.rows()
