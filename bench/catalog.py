"""How fast chunks are planned, claimed and committed, on each backend, with few and with many of them."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.support.postgres import PostgresServer

from bench.measure import Measured, medians_in_turn
from hakiri.catalog import Catalog, open_catalog
from hakiri.catalog.contract.chunks import ChunkCommit, NewChunk
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import NodeId, PipelineId, RunId, TableName

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TTL = timedelta(minutes=10)
FEW, MANY, PLANNED = 1_000, 1_000_000, 100_000
WORKERS = (1, 8, 64)
CHUNKS_A_RATE = 2_000
CLAIMS_A_ROUND = 50
ROUNDS = 11


def run() -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="hakiri-bench-") as folder, PostgresServer.start() as server:
        backends = {"SQLite": f"sqlite:///{folder}/meta.sqlite", "Postgres": server.url()}
        return [measured for backend, url in backends.items() for measured in _figures(backend, url)]


def _figures(backend: str, url: str) -> Iterator[Measured]:
    for workers in WORKERS:
        rate = _rate(url, workers)
        yield Measured(name=f"{backend}: claim + commit, {workers} processes", value=rate, unit="/s")
    with _opened(url) as catalog:
        seconds = _plan(catalog, "planned", PLANNED)
        yield Measured(name=f"{backend}: {PLANNED:,} chunks planned", value=seconds, unit="s", goal=3)
        _plan(catalog, "few", FEW)
        _plan(catalog, "many", MANY)
        # Let the server note that the table has grown, as it does within a minute by itself.
        few, many = medians_in_turn(ROUNDS, lambda: _claims(catalog, "few"), lambda: _claims(catalog, "many"))
        yield Measured(name=f"{backend}: a claim among {FEW:,} chunks", value=few * 1000, unit="ms")
        yield Measured(name=f"{backend}: … {MANY:,} / {FEW:,}", value=many / few, unit="", goal=1.3)
        (status,) = medians_in_turn(ROUNDS, lambda: _status(catalog, "many"))
        yield Measured(
            name=f"{backend}: status over {MANY:,} chunks", value=status * 1000, unit="ms", goal=50
        )


@contextmanager
def _opened(url: str) -> Iterator[Catalog]:
    with open_catalog(url, project="bench", base=Path(), now=NOW) as catalog:
        yield catalog


def _plan(catalog: Catalog, name: str, chunks: int) -> float:
    pipeline = PipelineId(name)
    catalog.pipelines.declare(pipeline, CursorKind.MONOTONIC, NOW)
    planned = [
        NewChunk(table=TableName("orders"), predicate=f'{{"from":{number},"to":{number + 1}}}')
        for number in range(chunks)
    ]
    began = time.perf_counter()
    catalog.chunks.plan(pipeline, "bench", planned, NOW)
    return time.perf_counter() - began


def _claims(catalog: Catalog, name: str) -> float:
    """Seconds a claim. What was claimed is committed outside the time, so that nothing piles up."""
    spent = 0.0
    for _ in range(CLAIMS_A_ROUND):
        began = time.perf_counter()
        attempt = catalog.queue.claim(PipelineId(name), RunId("run"), NodeId("node"), NOW, ttl=TTL)
        spent += time.perf_counter() - began
        if attempt is None:
            raise SystemExit(f"no chunk is left in {name}")
        catalog.queue.commit(attempt, _commit(attempt.chunk), NOW)
    return spent / CLAIMS_A_ROUND


def _status(catalog: Catalog, name: str) -> float:
    began = time.perf_counter()
    tally = catalog.chunks.tally(PipelineId(name))
    seconds = time.perf_counter() - began
    if tally.total != MANY:
        raise SystemExit(f"the status is wrong: {tally}")
    return seconds


def _rate(url: str, workers: int) -> float:
    """Chunks a second that so many processes claim and commit in one pipeline."""
    pipeline = f"rate-{workers}"
    with _opened(url) as catalog:
        _plan(catalog, pipeline, CHUNKS_A_RATE)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["bench.catalog"])
    ready, done = context.Barrier(workers + 1), context.Queue()
    processes = [
        context.Process(target=_work, args=(url, pipeline, number, ready, done)) for number in range(workers)
    ]
    for process in processes:
        process.start()
    ready.wait()
    began = time.perf_counter()
    counts: Sequence[int] = [done.get() for _ in processes]
    seconds = time.perf_counter() - began
    for process in processes:
        process.join()
    if sum(counts) != CHUNKS_A_RATE:
        raise SystemExit(f"{sum(counts)} chunks were done, not {CHUNKS_A_RATE}")
    return CHUNKS_A_RATE / seconds


def _work(url: str, pipeline: str, number: int, ready: Any, done: Any) -> None:
    count = 0
    with _opened(url) as catalog:
        catalog.chunks.tally(PipelineId(pipeline))
        ready.wait()
        while attempt := catalog.queue.claim(
            PipelineId(pipeline), RunId("run"), NodeId(f"node-{number}"), NOW, ttl=TTL
        ):
            catalog.queue.commit(attempt, _commit(attempt.chunk), NOW)
            count += 1
    done.put(count)


def _commit(chunk: int) -> ChunkCommit:
    return ChunkCommit(rows=1000, bytes=50_000, manifest='{"files":[]}', cursor=f'{{"id":{chunk}}}')
