"""Every kind of write of the contract, each with a stage to do it on, for tests that make it fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.grounds import T0, TTL

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit, ChunkError, NewChunk
from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.files import ScannedFile, Selection, file_id
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.lineage import Edge, EdgeKind
from hakiri.catalog.contract.pipelines import Decision, Failure, Phase
from hakiri.catalog.contract.push import Answer, Change, ChangeKey, PushBatch, Route, Verdict
from hakiri.catalog.contract.revocations import Scope
from hakiri.catalog.contract.runs import Run, RunOutcome, RunStatus, StartedRun
from hakiri.catalog.contract.schemas import SchemaStep
from hakiri.catalog.contract.snapshots import DoomedFile, Sidecar, Snapshot
from hakiri.catalog.errors import RunExists
from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Rate
from hakiri.core.ids import (
    ChunkId,
    IndexId,
    NodeId,
    PipelineId,
    RunId,
    SelectionId,
    SnapshotId,
    SpecId,
    TableName,
)

NODE = NodeId("n1")
RATE = Rate.parse("60/min")
INDEXES = (IndexId("pk-id"), IndexId("vector-text"))


@dataclass(frozen=True, slots=True)
class Write:
    """A write on a stage of its own, whose names all begin with the one given. The stage can be pickled."""

    name: str
    prepare: Callable[[Catalog, str], Any]
    do: Callable[[Catalog, Any], object]


def declared(catalog: Catalog, name: str) -> PipelineId:
    """A pipeline that needs no lease."""
    pipeline = PipelineId(name)
    catalog.pipelines.declare(pipeline, CursorKind.MONOTONIC, T0)
    return pipeline


def planned(catalog: Catalog, name: str, chunks: int = 2) -> PipelineId:
    pipeline = declared(catalog, name)
    catalog.chunks.plan(pipeline, "first", [new_chunk(name)] * chunks, T0)
    return pipeline


def new_chunk(name: str) -> NewChunk:
    return NewChunk(table=table_of(name), predicate="{}")


def table_of(name: str) -> TableName:
    return TableName(f"{name}_rows")


def claimed(catalog: Catalog, name: str) -> ChunkAttempt:
    pipeline = planned(catalog, name)
    attempt: ChunkAttempt = sure(catalog.queue.claim(pipeline, RunId(f"{name}-run"), NODE, T0, ttl=TTL))
    return attempt


def sure(value: Any) -> Any:
    assert value is not None
    return value


def leased(catalog: Catalog, name: str) -> Lease:
    lease: Lease = sure(catalog.leases.acquire(PipelineId(name), NODE, T0, TTL))
    return lease


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldChunk:
    attempt: ChunkAttempt
    lease: Lease
    commit: ChunkCommit


def held_chunk(catalog: Catalog, name: str) -> HeldChunk:
    """A chunk of a pipeline that needs its lease, about to be committed with all that can come with it."""
    run = RunId(f"{name}-run")
    catalog.chunks.plan(PipelineId(name), "first", [new_chunk(name)] * 2, T0)
    lease = sure(catalog.runs.start(run, PipelineId(name), NODE, T0, ttl=TTL).lease)
    attempt = sure(catalog.queue.claim(PipelineId(name), run, NODE, T0, ttl=TTL, under=lease))
    commit = ChunkCommit(
        rows=5,
        bytes=70,
        manifest='{"files": 1}',
        cursor='{"page": 2}',
        schema=step(name),
        edges=(edge(name, "parent-1"), edge(name, "parent-2")),
    )
    return HeldChunk(attempt=attempt, lease=lease, commit=commit)


def step(name: str) -> SchemaStep:
    return SchemaStep(table=table_of(name), based_on=0, change_kind="create", after='{"fields": []}')


def edge(name: str, parent: str) -> Edge:
    return Edge(child=RunId(f"{name}-run"), parent=RunId(f"{name}-{parent}"), kind=EdgeKind.CHUNK, at=T0)


def done_chunks(catalog: Catalog, name: str) -> PipelineId:
    pipeline = planned(catalog, name)
    while attempt := catalog.queue.claim(pipeline, RunId(f"{name}-run"), NODE, T0, ttl=TTL):
        catalog.queue.commit(attempt, ChunkCommit(rows=1, bytes=2, manifest="{}"), T0)
    return pipeline


def failed_chunk(catalog: Catalog, name: str) -> PipelineId:
    attempt = claimed(catalog, name)
    catalog.queue.give_back(attempt, T0, ChunkError(kind="oops", message="no"), retry=False)
    return attempt.pipeline


def claimed_some(catalog: Catalog, name: str) -> tuple[ChunkAttempt, ...]:
    run = RunId(f"{name}-run")
    return catalog.queue.claim_some(planned(catalog, name, 3), run, NODE, T0, ttl=TTL, limit=2)


def committed_some(catalog: Catalog, attempts: tuple[ChunkAttempt, ...]) -> None:
    """Commit all of them, the first with all that can come with it."""
    name = attempts[0].pipeline
    first = ChunkCommit(
        rows=5, bytes=70, manifest="{}", cursor="2", schema=step(name), edges=(edge(name, "parent"),)
    )
    rest = ChunkCommit(rows=1, bytes=2, manifest="{}", cursor="3", stream=TableName(f"{name}#part=2"))
    catalog.queue.commit_some([(attempts[0], first), *((each, rest) for each in attempts[1:])], T0)


def left_behind(catalog: Catalog, name: str) -> NodeId:
    """A node with an open run, a chunk and the lease of a pipeline."""
    node = NodeId(f"{name}-node")
    run = RunId(f"{name}-run")
    catalog.chunks.plan(PipelineId(name), "first", [new_chunk(name)] * 2, T0)
    lease = sure(catalog.runs.start(run, PipelineId(name), node, T0, ttl=TTL).lease)
    sure(catalog.queue.claim(PipelineId(name), run, node, T0, ttl=TTL, under=lease))
    return node


def failure(name: str) -> Failure:
    return Failure(run=RunId(f"{name}-run"), kind="oops", message="no", at=T0, spec_hash=None)


def failed_pipeline(catalog: Catalog, name: str) -> PipelineId:
    pipeline = failed_chunk(catalog, name)
    catalog.pipelines.fail(pipeline, failure(name), T0)
    return pipeline


def applied(catalog: Catalog, name: str) -> PipelineId:
    return catalog.pipelines.note_applied(PipelineId(name), "{}", "sha256:1", T0).pipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedSnapshot:
    snapshot: Snapshot
    drops: tuple[DoomedFile, ...]


def sidecar(name: str, index: IndexId) -> Sidecar:
    return Sidecar(snapshot=SnapshotId(name), index=index, manifest_hash="abc", bytes=3)


def doomed(name: str, count: int = 3) -> tuple[DoomedFile, ...]:
    return tuple(
        DoomedFile(path=f"{name}/{n}.parquet", table=table_of(name), reason="folded", keep_until=T0 + n * TTL)
        for n in range(count)
    )


def doomed_files(catalog: Catalog, name: str) -> str:
    catalog.garbage.doom(doomed(name), T0)
    return name


def staged_snapshot(catalog: Catalog, name: str) -> StagedSnapshot:
    """A snapshot whose two sidecars are durable, and three files that it makes superfluous."""
    for index in INDEXES:
        catalog.snapshots.note_sidecar(sidecar(name, index), T0)
    snapshot = Snapshot(
        snapshot=SnapshotId(name),
        table=table_of(name),
        created_at=T0,
        includes_runs=(RunId(f"{name}-run"),),
        indexes=INDEXES,
        rows=9,
        based_on=catalog.snapshots.revision(table_of(name)),
        manifest="{}",
    )
    return StagedSnapshot(snapshot=snapshot, drops=doomed(name))


def start_run(catalog: Catalog, name: str) -> StartedRun | None:
    """A run of a pipeline that needs its lease; None if it was started before."""
    try:
        return catalog.runs.start(RunId(f"{name}-run"), PipelineId(name), NODE, T0, ttl=TTL)
    except RunExists:
        return None


def started(catalog: Catalog, name: str) -> RunId:
    run: Run = sure(start_run(catalog, name)).run
    return run.run


def adopted_run(name: str) -> Run:
    return Run(
        run=RunId(f"{name}-run"),
        pipeline=PipelineId(name),
        node=NodeId("elsewhere"),
        status=RunStatus.SUCCESS,
        started_at=T0,
        ended_at=T0,
        rows=1,
        bytes=1,
    )


def known_run(catalog: Catalog, name: str) -> Cursor:
    """The cursor of a successful run that another replica recorded."""
    declared(catalog, name)
    catalog.runs.adopt(adopted_run(name), T0)
    return Cursor(
        pipeline=PipelineId(name),
        table=table_of(name),
        value="7",
        run=RunId(f"{name}-run"),
        seq=3,
        updated_at=T0,
    )


def scanned(name: str, path: str = "a.csv") -> ScannedFile:
    return ScannedFile(source=name, path=path, size=1, modified_at=T0)


def noted_file(catalog: Catalog, name: str) -> str:
    catalog.files.note([scanned(name)], [], T0)
    return name


def selection(name: str) -> Selection:
    return Selection(
        selection=SelectionId(name),
        spec=SpecId(name),
        snapshot_hash="abc",
        logical_date="2026-05-11",
        watermark=None,
        created_at=T0,
    )


def scope(name: str) -> Scope:
    return Scope(project=name, tenant="t", principal_class="agent")


def change(row: int, snapshot: str = "s1") -> Change:
    return Change(key=ChangeKey(row, "insert"), snapshot=SnapshotId(snapshot), payload="{}")


def route(name: str) -> Route:
    return Route(sink="crm", model=name)


def queued(catalog: Catalog, name: str) -> Route:
    catalog.push.enqueue(route(name), [change(1), change(2), change(3)], T0)
    return route(name)


def batch(catalog: Catalog, name: str) -> PushBatch:
    taken: PushBatch = sure(catalog.push.claim(queued(catalog, name), NODE, T0, limit=3, ttl=TTL))
    return taken


VERDICTS = {
    ChangeKey(1, "insert"): Answer(verdict=Verdict.OK),
    ChangeKey(2, "insert"): Answer(verdict=Verdict.ERROR, message="later"),
    ChangeKey(3, "insert"): Answer(verdict=Verdict.REJECT, message="never"),
}


def rejected(catalog: Catalog, name: str) -> Route:
    catalog.push.settle(batch(catalog, name), VERDICTS, T0)
    return route(name)


def named(_: Catalog, name: str) -> str:
    return name


# Done a second time, each of these changes nothing.
REPEATABLE = (
    Write(
        "queue.commit",
        held_chunk,
        lambda catalog, held: catalog.queue.commit(held.attempt, held.commit, T0, held.lease),
    ),
    Write("queue.commit_some", claimed_some, committed_some),
    Write(
        "pipelines.decide",
        failed_pipeline,
        lambda catalog, name: catalog.pipelines.decide(name, Decision.RETRY, "operator:ada", T0),
    ),
    Write(
        "snapshots.commit",
        staged_snapshot,
        lambda catalog, staged: catalog.snapshots.commit(staged.snapshot, T0, staged.drops),
    ),
    Write(
        "chunks.plan",
        declared,
        lambda catalog, pipeline: catalog.chunks.plan(pipeline, "first", [new_chunk(pipeline)] * 3, T0),
    ),
    Write(
        "chunks.supersede",
        done_chunks,
        lambda catalog, pipeline: catalog.chunks.supersede(
            pipeline, [ChunkId(1), ChunkId(2)], "why", T0, into=[new_chunk(pipeline)], by="operator:ada"
        ),
    ),
    Write("runs.start", named, start_run),
    Write("push.settle", batch, lambda catalog, taken: catalog.push.settle(taken, VERDICTS, T0)),
)

WRITES = (
    *REPEATABLE,
    Write(
        "pipelines.declare",
        named,
        lambda catalog, name: catalog.pipelines.declare(PipelineId(name), CursorKind.MONOTONIC, T0),
    ),
    Write(
        "pipelines.move",
        declared,
        lambda catalog, name: catalog.pipelines.move(name, Phase.PLANNING, Phase.STREAMING, T0),
    ),
    Write("pipelines.fail", declared, lambda catalog, name: catalog.pipelines.fail(name, failure(name), T0)),
    Write("pipelines.note_applied", named, applied),
    Write("pipelines.retire", applied, lambda catalog, name: catalog.pipelines.retire(name, T0)),
    Write(
        "leases.acquire", named, lambda catalog, name: catalog.leases.acquire(PipelineId(name), NODE, T0, TTL)
    ),
    Write("leases.renew", leased, lambda catalog, lease: catalog.leases.renew(lease, T0 + TTL, TTL)),
    Write("leases.release", leased, lambda catalog, lease: catalog.leases.release(lease)),
    Write(
        "runs.end",
        started,
        lambda catalog, run: catalog.runs.end(run, RunOutcome(status=RunStatus.SUCCESS, rows=3), T0),
    ),
    Write("runs.adopt", named, lambda catalog, name: catalog.runs.adopt(adopted_run(name), T0)),
    Write(
        "cursors.put",
        declared,
        lambda catalog, name: catalog.cursors.put(
            name, table_of(name), "5", run=RunId("r"), now=T0, audit_by="operator:ada", reason="why"
        ),
    ),
    Write("cursors.adopt", known_run, lambda catalog, cursor: catalog.cursors.adopt(cursor, T0)),
    Write(
        "queue.claim",
        planned,
        lambda catalog, name: catalog.queue.claim(name, RunId("r"), NODE, T0, ttl=TTL),
    ),
    Write(
        "queue.claim_some",
        planned,
        lambda catalog, name: catalog.queue.claim_some(name, RunId("r"), NODE, T0, ttl=TTL, limit=2),
    ),
    Write(
        "queue.renew_some",
        claimed_some,
        lambda catalog, attempts: catalog.queue.renew_some(attempts, T0 + TTL, TTL),
    ),
    Write("queue.renew", claimed, lambda catalog, attempt: catalog.queue.renew(attempt, T0 + TTL, TTL)),
    Write("queue.release_node", left_behind, lambda catalog, node: catalog.queue.release_node(node, T0)),
    Write("queue.give_back", claimed, lambda catalog, attempt: catalog.queue.give_back(attempt, T0)),
    Write("chunks.reopen", failed_chunk, lambda catalog, name: catalog.chunks.reopen(name, [ChunkId(1)], T0)),
    Write("chunks.skip", planned, lambda catalog, name: catalog.chunks.skip(name, [ChunkId(2)], T0)),
    Write("schemas.record", declared, lambda catalog, name: catalog.schemas.record(step(name), name, T0)),
    Write(
        "lineage.add", named, lambda catalog, name: catalog.lineage.add([edge(name, "a"), edge(name, "b")])
    ),
    Write(
        "snapshots.note_sidecar",
        named,
        lambda catalog, name: catalog.snapshots.note_sidecar(sidecar(name, INDEXES[0]), T0),
    ),
    Write("garbage.doom", named, lambda catalog, name: catalog.garbage.doom(doomed(name), T0)),
    Write(
        "garbage.forget",
        doomed_files,
        lambda catalog, name: catalog.garbage.forget([f"{name}/0.parquet", f"{name}/1.parquet"], T0),
    ),
    Write(
        "revocations.bump", named, lambda catalog, name: catalog.revocations.bump(Scope(name, "t", "c"), T0)
    ),
    Write("number", named, lambda catalog, name: catalog.number(name, 4)),
    Write(
        "files.note",
        named,
        lambda catalog, name: catalog.files.note([scanned(name), scanned(name, "b.csv")], ["daily"], T0),
    ),
    Write(
        "files.mark_gone",
        noted_file,
        lambda catalog, name: catalog.files.mark_gone(name, T0 + TTL, T0 + TTL),
    ),
    Write(
        "selections.save_spec",
        named,
        lambda catalog, name: catalog.selections.save_spec(SpecId(name), "{}", T0),
    ),
    Write(
        "selections.save",
        named,
        lambda catalog, name: catalog.selections.save(selection(name), [file_id(name, "a.csv")]),
    ),
    Write("push.enqueue", named, lambda catalog, name: catalog.push.enqueue(route(name), [change(1)], T0)),
    Write("push.claim", queued, lambda catalog, way: catalog.push.claim(way, NODE, T0, limit=2, ttl=TTL)),
    Write("push.note_job", batch, lambda catalog, taken: catalog.push.note_job(taken, "job-1", T0, TTL)),
    Write("push.replay", rejected, lambda catalog, way: catalog.push.replay(way, T0)),
    Write(
        "audit.note",
        named,
        lambda catalog, name: catalog.audit.note("auto", "tidy", T0, pipeline=PipelineId(name)),
    ),
    Write("budgets.note", named, lambda catalog, name: catalog.budgets.note(name, RATE)),
    Write(
        "budgets.take",
        named,
        lambda catalog, name: catalog.budgets.take(name, wanted=2, most=5, rate=RATE, now=T0),
    ),
)
