"""A catalog with a past: what pipelines planned, did and failed at, told through the contract alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hakiri.catalog import Catalog, open_catalog
from hakiri.catalog.contract.chunks import Chunk, ChunkAttempt, ChunkCommit, ChunkError, ChunkStatus, NewChunk
from hakiri.catalog.contract.lineage import Edge
from hakiri.catalog.contract.pipelines import Failure, Phase
from hakiri.catalog.contract.runs import RunOutcome, RunStatus
from hakiri.catalog.contract.schemas import SchemaStep
from hakiri.core.canonical import canonical_json
from hakiri.core.clock import FixedClock
from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Rate
from hakiri.core.ids import ChunkId, NodeId, PipelineId, RunId, TableName
from hakiri.manifest import Project, load_project
from hakiri.pipelines.applied import spec_hash
from hakiri.pipelines.budgets import budget_name
from hakiri.pipelines.chunks.pieces import Piece, PieceKind, stream_name
from hakiri.sources.contract import Window
from hakiri.store.manifests import AttemptManifest, Counts, WrittenFile
from hakiri.telemetry import trace_id_of

T0 = datetime(2026, 5, 12, 8, 14, tzinfo=UTC)
NOW = T0 + timedelta(hours=2)
TTL = timedelta(minutes=10)
NODE = NodeId("node-1")

MANIFEST = """\
[project]
name = "shop"

[[pipeline]]
id = "orders"
source = { connector = "sql", config = { url = "sqlite:///shop.db" } }
tables = [{ name = "orders", primary_key = ["id"] }]
incremental = "id"

[[pipeline]]
id = "events"
source = { connector = "sql", config = { url = "sqlite:///shop.db" } }
tables = ["events"]
incremental = "id"

[[pipeline]]
id = "github-issues-historical"
source = { connector = "github", config = { repo = "torvalds/linux" } }
tables = ["issues"]
incremental = "updated_at"

[pipeline.backfill]
window = "30d"
rate_budget = "60/min"

[[pipeline]]
id = "tokens"
source = { connector = "rest", config = { url = "http://127.0.0.1:1/", path = "/t" } }
tables = ["tokens"]
"""


def run_id(number: int) -> RunId:
    """Ids that sort by their number, as those of real runs sort by their time."""
    return RunId(f"run-0196be00-0000-7000-8000-7f3a9c21{number:04d}")


def window(
    since: int | str | None = None, until: int | str | None = None, *, field: str = "id", **others: Any
) -> Piece:
    has_nulls = since is None and until is not None
    bounds = Window(field=field, since=since, until=until, has_nulls=has_nulls)
    return Piece(kind=PieceKind.WINDOW, window=bounds, **others)


def tail(after: Mapping[str, Any] | None, **others: Any) -> Piece:
    return Piece(kind=PieceKind.TAIL, after=after, **others)


def made_project(folder: Path) -> Project:
    (folder / "hakiri.toml").write_text(MANIFEST)
    return load_project(folder)


class Scene:
    """Tells a catalog what happened, one thing after the other."""

    def __init__(self, catalog: Catalog, project: Project) -> None:
        self.catalog = catalog
        self.project = project
        self.at = T0
        self.runs = 0

    def declared(
        self,
        pipeline: str,
        table: str,
        *pieces: Piece,
        kind: CursorKind = CursorKind.MONOTONIC,
        key: Sequence[str] = ("id",),
    ) -> None:
        """A pipeline whose history is planned, of a table that has a schema."""
        name = PipelineId(pipeline)
        self.catalog.pipelines.declare(name, kind, self.at)
        if self.catalog.schemas.current(TableName(table)) is None:
            step = SchemaStep(
                table=TableName(table), based_on=0, change_kind="create", after="{}", primary_key=tuple(key)
            )
            self.catalog.schemas.record(step, name, self.at)
        self.planned(pipeline, table, *pieces)
        self.moved(pipeline, Phase.PLANNING, Phase.BACKFILLING)

    def planned(self, pipeline: str, table: str, *pieces: Piece) -> None:
        new = [NewChunk(table=TableName(table), predicate=piece.text()) for piece in pieces]
        name = f"plan of {table} number {len(self.chunks(pipeline))}"
        self.catalog.chunks.plan(PipelineId(pipeline), name, new, self.at)

    def moved(self, pipeline: str, before: Phase, after: Phase) -> None:
        self.catalog.pipelines.move(PipelineId(pipeline), before, after, self.at)

    def started(self, pipeline: str) -> RunId:
        self.runs += 1
        run = run_id(self.runs)
        self.catalog.runs.start(run, PipelineId(pipeline), NODE, self.at, ttl=TTL, trace=trace_id_of(run))
        return run

    def claimed(self, pipeline: str, run: RunId) -> ChunkAttempt:
        lease = self.catalog.leases.current(PipelineId(pipeline))
        attempt = self.catalog.queue.claim(PipelineId(pipeline), run, NODE, self.at, ttl=TTL, under=lease)
        assert attempt is not None
        return attempt

    def did(
        self,
        pipeline: str,
        run: RunId,
        *,
        rows: int = 100,
        seconds: float = 4.0,
        cursor: Mapping[str, Any] | None = None,
        filtered: int = 0,
        quarantined: int = 0,
        edges: tuple[Edge, ...] = (),
    ) -> ChunkAttempt:
        """The next chunk is claimed, read and committed, as a run does it."""
        attempt = self.claimed(pipeline, run)
        piece = Piece.parse(attempt.predicate)
        self.passed(seconds)
        commit = ChunkCommit(
            rows=rows,
            bytes=rows * 1450,
            manifest=manifest_of(attempt, rows=rows, filtered=filtered, quarantined=quarantined).text(),
            cursor=None if cursor is None else canonical_json(cursor),
            stream=TableName(stream_name(attempt.table, piece.partition)),
            moves_stream=piece.is_open and cursor is not None,
            edges=edges,
        )
        lease = self.catalog.leases.current(PipelineId(pipeline))
        self.catalog.queue.commit(attempt, commit, self.at, under=lease)
        return attempt

    def called(self, pipeline: str, calls: int, rate: str = "60/min") -> None:
        """The pipeline's source is called that often."""
        self.catalog.budgets.take(
            budget_name(PipelineId(pipeline)), wanted=calls, most=999, rate=Rate.parse(rate), now=self.at
        )

    def chunk_failed(self, pipeline: str, run: RunId, kind: str, message: str) -> None:
        attempt = self.claimed(pipeline, run)
        self.passed(1)
        why = ChunkError(kind=kind, message=message)
        self.catalog.queue.give_back(attempt, self.at, why, retry=False)

    def failed(self, pipeline: str, run: RunId, kind: str, message: str) -> None:
        """The run ends, and the pipeline waits for a decision."""
        spec = self.project.pipeline(pipeline)
        failure = Failure(
            run=run, kind=kind, message=message, at=self.at, spec_hash=spec_hash(spec, self.project.root)
        )
        self.catalog.pipelines.fail(PipelineId(pipeline), failure, self.at)
        self.ended(pipeline, run, RunStatus.FAILED, kind=kind, message=message)

    def ended(
        self,
        pipeline: str,
        run: RunId,
        status: RunStatus = RunStatus.SUCCESS,
        *,
        kind: str | None = None,
        message: str | None = None,
    ) -> None:
        own = [chunk for chunk in self.chunks(pipeline) if chunk.run == run]
        outcome = RunOutcome(
            status=status,
            rows=sum(chunk.rows or 0 for chunk in own),
            bytes=sum(chunk.bytes or 0 for chunk in own),
            error_kind=kind,
            error_message=message,
        )
        self.catalog.runs.end(run, outcome, self.at)
        lease = self.catalog.leases.current(PipelineId(pipeline))
        if lease is not None:
            self.catalog.leases.release(lease)

    def passed(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)

    def chunks(self, pipeline: str, status: ChunkStatus | None = None) -> list[Chunk]:
        return list(self.catalog.chunks.page(PipelineId(pipeline), status=status))

    def statuses(self, pipeline: str) -> dict[int, str]:
        return {chunk.chunk: chunk.status.value for chunk in self.chunks(pipeline)}

    def cursor(self, pipeline: str, stream: str) -> Any:
        kept = {each.table: each.value for each in self.catalog.cursors.all(PipelineId(pipeline))}
        return json.loads(kept[TableName(stream)]) if stream in kept else None

    def phase(self, pipeline: str) -> Phase:
        state = self.catalog.pipelines.get(PipelineId(pipeline))
        assert state is not None
        return state.phase


def manifest_of(
    attempt: ChunkAttempt, *, rows: int, filtered: int = 0, quarantined: int = 0
) -> AttemptManifest:
    return AttemptManifest(
        pipeline=attempt.pipeline,
        table=attempt.table,
        run=attempt.run,
        node=attempt.node,
        chunk=attempt.chunk,
        attempt=attempt.number,
        seq=attempt.seq,
        ingested_at=attempt.claimed_at,
        predicate=json.loads(attempt.predicate),
        schema_version=1,
        schema_fingerprint="sha256:0",
        primary_key=("id",),
        files=(WrittenFile(name="part-00000.parquet", rows=rows, bytes=rows * 1450, sha256="0"),),
        quarantine=(),
        counts=Counts(
            read=rows + filtered + quarantined, filtered=filtered, written=rows, quarantined=quarantined
        ),
        content_sum=0,
        pass_number=Piece.parse(attempt.predicate).pass_number,
        pass_size=Piece.parse(attempt.predicate).pass_size,
        ends_pass=True,
    )


@contextmanager
def scene_in(folder: Path) -> Iterator[Scene]:
    """A project in the folder, with its catalog where commands look for it."""
    project = made_project(folder)
    url = "sqlite:///.hakiri/context/shop/meta.sqlite"
    with open_catalog(url, project="shop", base=folder, now=T0) as catalog:
        yield Scene(catalog, project)


def streaming(scene: Scene, pipeline: str, table: str, *, key: Sequence[str] = ("id",)) -> RunId:
    """A history of three windows and an open one, a tail after it, and everything is done."""
    pieces = [window(None, 100), window(100, 200), window(200, 300), window(300)]
    scene.declared(pipeline, table, *pieces, key=key)
    run = scene.started(pipeline)
    for _ in pieces[:-1]:
        scene.did(pipeline, run)
    scene.did(pipeline, run, cursor={"id": 350})
    scene.planned(pipeline, table, tail({"id": 350}))
    scene.did(pipeline, run, cursor={"id": 400})
    scene.moved(pipeline, Phase.BACKFILLING, Phase.STREAMING)
    scene.ended(pipeline, run)
    return run


def half_failed(scene: Scene, pipeline: str = "orders", table: str = "orders") -> RunId:
    """One of four chunks is done, one failed for good, and the pipeline waits."""
    scene.declared(pipeline, table, window(None, 100), window(100, 200), window(200, 300), window(300))
    run = scene.started(pipeline)
    scene.did(pipeline, run)
    scene.chunk_failed(pipeline, run, "sources.unauthorized", "the source answered 401")
    scene.failed(pipeline, run, "sources.unauthorized", "the source answered 401")
    return run


def stop_the_clock(monkeypatch: pytest.MonkeyPatch, now: datetime = NOW) -> None:
    """Have commands think that it is `now`, and that Ada calls them."""
    monkeypatch.setattr("hakiri.cli.entry.SystemClock", lambda: FixedClock(now))
    monkeypatch.setenv("USER", "ada")


def chunk_ids(*numbers: int) -> tuple[ChunkId, ...]:
    return tuple(ChunkId(number) for number in numbers)
