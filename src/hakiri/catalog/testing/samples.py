"""What the tests of the contract work with: moments, names, and values with something in every field."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit, ChunkStatus, ChunkTally, NewChunk
from hakiri.catalog.contract.lineage import Edge, EdgeKind
from hakiri.catalog.contract.runs import Run, RunOutcome, RunStatus
from hakiri.catalog.contract.schemas import SchemaStep
from hakiri.catalog.contract.snapshots import DoomedFile, Sidecar, Snapshot
from hakiri.catalog.errors import CatalogError
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, IndexId, NodeId, PipelineId, RunId, SnapshotId, TableName

Result = TypeVar("Result")

T0 = datetime(2026, 5, 11, 8, 0, 0, 123456, tzinfo=UTC)
TICK = timedelta(microseconds=1)  # the finest step of time that a catalog keeps apart
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
TTL = timedelta(minutes=10)

PIPELINE = PipelineId("github-issues")
OTHER_PIPELINE = PipelineId("shopify-orders")
TABLE = TableName("github_issues")
OTHER_TABLE = TableName("shopify_orders")
ANNA = NodeId("node-anna")
BEN = NodeId("node-ben")
SNAPSHOT = SnapshotId("2026-05-11T08-00-00Z-node-anna")
VECTORS = IndexId("vector-body-small")
KEYS = IndexId("pk-id")
THREADS = 8


def run_id(number: int) -> RunId:
    """Ids that sort by their number, as those of real runs sort by their time."""
    return RunId(f"0196be00-0000-7000-8000-{number:012d}")


RUN = run_id(1)
SUCCESS = RunOutcome(status=RunStatus.SUCCESS, rows=3, bytes=300)


def ended_run(number: int, status: RunStatus = RunStatus.SUCCESS, *, minute: int = 0) -> Run:
    """A run as a replica recorded it, started and ended at that minute."""
    return Run(
        run=run_id(number),
        pipeline=PIPELINE,
        node=BEN,
        status=status,
        started_at=T0 + minute * MINUTE,
        ended_at=T0 + minute * MINUTE + SECOND,
        rows=number,
        bytes=number * 100,
        error_kind=None if status is RunStatus.SUCCESS else "SourceGone",
        error_message=None if status is RunStatus.SUCCESS else "410 Gone — «für immer»",
        trace="4bf92f3577b34da6a3ce929d0e0e4736",
    )


def new_chunks(count: int, table: TableName = TABLE) -> list[NewChunk]:
    return [NewChunk(table=table, predicate=f'{{"part": {number}}}') for number in range(1, count + 1)]


def planned(
    catalog: Catalog, count: int, pipeline: PipelineId = PIPELINE, kind: CursorKind = CursorKind.MONOTONIC
) -> None:
    """Declare the pipeline and plan so many chunks of it."""
    catalog.pipelines.declare(pipeline, kind, T0)
    catalog.chunks.plan(pipeline, "backfill", new_chunks(count), T0)


def planned_in(catalog: Catalog, *tables: TableName) -> None:
    """Declare the pipeline and plan a chunk for each of the tables, in their order."""
    catalog.pipelines.declare(PIPELINE, CursorKind.MONOTONIC, T0)
    chunks = [NewChunk(table=table, predicate=f'"{place}"') for place, table in enumerate(tables)]
    catalog.chunks.plan(PIPELINE, "backfill", chunks, T0)


def claimed(
    catalog: Catalog,
    *,
    at: datetime = T0,
    node: NodeId = ANNA,
    run: RunId = RUN,
    pipeline: PipelineId = PIPELINE,
    ttl: timedelta = TTL,
) -> ChunkAttempt:
    """Claim a chunk that must be there."""
    attempt = catalog.queue.claim(pipeline, run, node, at, ttl=ttl)
    assert attempt is not None
    return attempt


def claimed_some(catalog: Catalog, limit: int) -> tuple[ChunkAttempt, ...]:
    """Claim so many chunks at once, or as many as there are."""
    return catalog.queue.claim_some(PIPELINE, RUN, ANNA, T0, ttl=TTL, limit=limit)


def committed(catalog: Catalog, rows: int = 10) -> ChunkAttempt:
    """Claim the next chunk and commit it."""
    attempt = claimed(catalog)
    catalog.queue.commit(attempt, done(rows=rows), T0)
    return attempt


def done(
    *,
    rows: int = 10,
    cursor: str | None = None,
    schema: SchemaStep | None = None,
    edges: tuple[Edge, ...] = (),
) -> ChunkCommit:
    manifest = f'{{"files": ["part-00000.parquet"], "rows": {rows}}}'
    return ChunkCommit(
        rows=rows, bytes=rows * 100, manifest=manifest, cursor=cursor, schema=schema, edges=edges
    )


def counted(catalog: Catalog, pipeline: PipelineId = PIPELINE) -> ChunkTally:
    """The tally by counting every chunk, page by page."""
    counts = dict.fromkeys(ChunkStatus, 0)
    rows = size = 0
    after: ChunkId | None = None
    while page := catalog.chunks.page(pipeline, after=after, limit=7):
        for chunk in page:
            counts[chunk.status] += 1
            if chunk.status is ChunkStatus.DONE:
                rows, size = rows + (chunk.rows or 0), size + (chunk.bytes or 0)
        after = page[-1].chunk
    return ChunkTally(**{status.value: count for status, count in counts.items()}, rows=rows, bytes=size)


def arrow_schema(version: int) -> str:
    return f'{{"fields": [{{"name": "c{version}", "type": "int64"}}]}}'


def step(based_on: int, table: TableName = TABLE, decided_by: str = "auto") -> SchemaStep:
    """The step from a version to the next; the schema tells which version it is of."""
    return SchemaStep(
        table=table,
        based_on=based_on,
        change_kind="add_column" if based_on else "create",
        after=arrow_schema(based_on + 1),
        primary_key=("id",),
        decided_by=decided_by,
    )


def edge(
    child: int,
    parent: int,
    kind: EdgeKind = EdgeKind.COMPACTION,
    *,
    record: str | None = None,
    reason: str | None = None,
) -> Edge:
    return Edge(child=run_id(child), parent=run_id(parent), kind=kind, at=T0, record=record, reason=reason)


def sidecar(index: IndexId = VECTORS, snapshot: SnapshotId = SNAPSHOT) -> Sidecar:
    return Sidecar(snapshot=snapshot, index=index, manifest_hash=f"sha256:{index}", bytes=4096)


def snapshot_of(
    based_on: int,
    *,
    snapshot: SnapshotId = SNAPSHOT,
    indexes: tuple[IndexId, ...] = (),
    table: TableName = TABLE,
    created_at: datetime = T0,
) -> Snapshot:
    return Snapshot(
        snapshot=snapshot,
        table=table,
        created_at=created_at,
        includes_runs=(run_id(1), run_id(2)),
        indexes=indexes,
        rows=1234,
        based_on=based_on,
        manifest='{"files":  ["part-00000.parquet"]}',
        key_version="v3",
    )


def doomed(name: str, keep_until: datetime = T0, table: TableName = TABLE) -> DoomedFile:
    return DoomedFile(
        path=f"tables/{table}/data/{name}.parquet", table=table, reason="folded", keep_until=keep_until
    )


def at_once(work: Callable[[int], Result], threads: int = THREADS) -> list[Result]:
    """What `work` returns to each of the threads, which all begin at the same moment."""
    gate = threading.Barrier(threads)

    def begin(number: int) -> Result:
        gate.wait()
        return work(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(begin, range(threads)))


def tried(work: Callable[[], Result]) -> Result | CatalogError:
    """What `work` returns, or the error with which the catalog refuses it."""
    try:
        return work()
    except CatalogError as refusal:
        return refusal
