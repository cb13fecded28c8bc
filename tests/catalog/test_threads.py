"""Many threads on one handle: more of them than connections, and none waits for another for ever."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from tests.support.grounds import T0, TTL, Ground, PostgresGround, new_ground, opened
from tests.support.sessions import backends, session_on
from tests.support.writes import planned

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkCommit
from hakiri.catalog.postgres.connections import MOST_CONNECTIONS
from hakiri.core.ids import NodeId, PipelineId, RunId

THREADS = 32
CHUNKS = 96


@pytest.fixture(params=["sqlite", "postgres"])
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Ground:
    return new_ground(request.param, request, tmp_path)


def work_off(catalog: Catalog, pipeline: PipelineId, node: NodeId, begin: Callable[[], object]) -> list[int]:
    """Claim, look at all kinds of things, commit, until nothing is left; the chunks that were done."""
    begin()
    done: list[int] = []
    while attempt := catalog.queue.claim(pipeline, RunId("r"), node, T0, ttl=TTL):
        assert catalog.check() == ()
        assert catalog.chunks.get(pipeline, attempt.chunk) is not None
        catalog.queue.commit(attempt, ChunkCommit(rows=1, bytes=1, manifest="{}", cursor="1"), T0)
        done.append(attempt.chunk)
    return done


@pytest.mark.spec("AD-003")
@pytest.mark.spec("AD-009")
@pytest.mark.spec("AD-011")
def test_more_threads_than_connections_share_one_handle(ground: Ground) -> None:
    with opened(ground) as catalog, ThreadPoolExecutor(THREADS) as pool:
        pipeline = planned(catalog, "p", CHUNKS)
        begin = Barrier(THREADS)

        workers = [
            pool.submit(work_off, catalog, pipeline, NodeId(f"n{n}"), begin.wait) for n in range(THREADS)
        ]

        done = [chunk for worker in workers for chunk in worker.result(timeout=50)]
        assert sorted(done) == list(range(1, CHUNKS + 1))
        assert catalog.chunks.tally(pipeline).rows == CHUNKS
        if isinstance(ground, PostgresGround):
            with session_on(ground) as session:
                assert 1 < backends(session) <= MOST_CONNECTIONS < THREADS
