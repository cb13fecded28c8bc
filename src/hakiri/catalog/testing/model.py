"""A whole catalog in memory, for one caller at a time: what every backend is compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from hakiri.catalog.contract.chunks import Chunk, ChunkStatus
from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.runs import Run, RunOutcome, RunStatus, StartedRun
from hakiri.catalog.errors import RunEnded, RunExists, RunUnknown, SchemaMoved
from hakiri.catalog.testing.calls import REFUSALS, Call, Refusal
from hakiri.catalog.testing.decision_model import AppliedModel, AuditModel, audited, superseded
from hakiri.catalog.testing.pipeline_model import Commit, PipelineModel, commits_of, new_pipeline, predict
from hakiri.catalog.testing.table_model import GarbageModel, RevocationsModel, SchemasModel, SnapshotsModel
from hakiri.core.ids import ChunkId, NodeId, PipelineId, RunId, TableName

_OF_PIPELINES = frozenset({"pipelines", "leases", "cursors", "chunks", "queue"})


class CatalogModel:
    """Tells what a catalog must answer, and changes as it does."""

    def __init__(self) -> None:
        self.pipelines: dict[PipelineId, PipelineModel] = {}
        self.runs = RunsModel(self)
        self.schemas = SchemasModel()
        self.garbage = GarbageModel(self.schemas.revisions)
        self.snapshots = SnapshotsModel(self.schemas.revisions, self.garbage)
        self.revocations = RevocationsModel()
        self.applied = AppliedModel()
        self.audit = AuditModel()
        self._across_pipelines: dict[tuple[str, str], Callable[..., object]] = {
            ("cursors", "adopt"): self._adopt_cursor,
            ("chunks", "landed"): self._landed,
            ("chunks", "version"): self._version,
            ("queue", "release_node"): self._release_node,
            ("pipelines", "note_applied"): self.applied.note_applied,
            ("pipelines", "applied"): self.applied.applied,
            ("pipelines", "retire"): self.applied.retire,
        }

    def answer(self, call: Call, seen: object) -> object:
        """The answer or refusal that the contract wants; numbers and nonces are those of the answer seen."""
        across = self._across_pipelines.get((call.role, call.method))
        if across is not None:
            if "pipeline" in call.arguments and "now" in call.arguments:
                self.touch(call.arguments["pipeline"], call.arguments["now"])
            return across(**call.arguments)
        if call.role in _OF_PIPELINES:
            return self._answer_of_pipeline(call, seen)
        numbers = {"seen": seen} if call.method == "start" or call.role == "audit" else {}
        arguments = {**call.arguments, **numbers}
        try:
            answer: object = getattr(getattr(self, call.role), call.method)(**arguments)
        except REFUSALS as error:
            return Refusal.of(error)
        if call.role == "schemas" and call.method == "record":
            self.touch(call.arguments["pipeline"], call.arguments["now"])
        return answer

    def pipeline(self, pipeline: PipelineId) -> PipelineModel:
        return self.pipelines.get(pipeline) or new_pipeline(pipeline)

    def touch(self, pipeline: PipelineId, now: datetime) -> PipelineModel:
        """The pipeline after a write, which gives it state."""
        model = self.pipeline(pipeline)
        self.pipelines[pipeline] = replace(model, state=model.state_at(now))
        return self.pipelines[pipeline]

    def _answer_of_pipeline(self, call: Call, seen: object) -> object:
        before = self.pipeline(call.pipeline)
        after, answer = predict(before, call, seen)
        if call.method in {"commit", "commit_some"} and after != before:
            try:
                self._take_steps(before.open_commits(commits_of(call)), call)
            except SchemaMoved as error:
                return Refusal.of(error)
        if call.method == "supersede":
            for table in {chunk.table for chunk in superseded(before, after)}:
                self.schemas.revisions[table] += 1
        for entry in audited(call, before, after):
            self.audit.note(**entry)
        if after.state is not None:
            self.pipelines[call.pipeline] = after
        return answer

    def _take_steps(self, commits: Sequence[Commit], call: Call) -> None:
        """Take the schema steps of all commits, or none of them."""
        steps = [commit.schema for _, commit in commits if commit.schema is not None]
        versions = Counter({table: schema.version for table, schema in self.schemas.schemas.items()})
        for step in steps:
            if versions[step.table] != step.based_on:
                raise SchemaMoved(step.table, step.based_on, versions[step.table])
            versions[step.table] += 1
        for step in steps:
            self.schemas.record(step, call.pipeline, call.arguments["now"])

    def _release_node(self, node: NodeId, now: datetime) -> tuple[RunId, ...]:
        left = self.runs.open_runs(node)
        for pipeline in {run.pipeline for run in left}:
            model = self.touch(pipeline, now)
            is_released = model.is_released or (model.lease is not None and model.lease.holder == node)
            chunks = model.chunks.give_back_of(node)
            self.pipelines[pipeline] = replace(model, chunks=chunks, is_released=is_released)
        return tuple(run.run for run in left)

    def _landed(
        self, table: TableName, *, after: tuple[PipelineId, ChunkId] | None = None, limit: int = 1000
    ) -> tuple[Chunk, ...]:
        found = [
            held.chunk
            for pipeline in sorted(self.pipelines)
            for held in self.pipelines[pipeline].chunks.held
            if held.chunk.table == table and held.chunk.winning_attempt is not None
        ]
        return tuple(each for each in found if after is None or (each.pipeline, each.chunk) > after)[:limit]

    def _version(self, table: TableName) -> int:
        landed = self._landed(table, limit=10**9)
        return len(landed) + sum(chunk.status is ChunkStatus.SUPERSEDED for chunk in landed)

    def _adopt_cursor(self, cursor: Cursor, now: datetime) -> bool:
        model = self.touch(cursor.pipeline, now)
        held = model.cursor_of(cursor.table)
        ours = None if held is None else self.runs.success_of(held.cursor)
        theirs = self.runs.success_of(cursor)
        if model.state_at(now).kind.needs_lease or theirs is None or (ours is not None and ours >= theirs):
            return False
        self.pipelines[cursor.pipeline] = model.with_new_cursor(cursor, None)
        return True


def _is_worked_on(model: PipelineModel, run: Run, now: datetime) -> bool:
    """Whether a run holds a chunk or the lease."""
    holds_chunk = any(held.is_worked_on(now) and held.chunk.run == run.run for held in model.chunks.held)
    lease = model.lease
    if lease is None or model.is_released or lease.expires_at <= now:
        return holds_chunk
    holds_lease = lease.holder == run.node if model.lease_run is None else model.lease_run == run.run
    return holds_chunk or holds_lease


class RunsModel:
    """Every run there was."""

    def __init__(self, catalog: CatalogModel) -> None:
        self._catalog = catalog
        self._runs: dict[RunId, Run] = {}

    def start(
        self,
        run: RunId,
        pipeline: PipelineId,
        node: NodeId,
        now: datetime,
        *,
        ttl: timedelta,
        trace: str | None = None,
        seen: object = None,
    ) -> StartedRun:
        if run in self._runs:
            raise RunExists(run)
        model = self._catalog.touch(pipeline, now)
        lease = None
        needs_lease = model.state_at(now).kind.needs_lease
        if needs_lease:
            model, lease = model.leases_acquire(node, now, ttl, run=run, seen=getattr(seen, "lease", None))
            self._catalog.pipelines[pipeline] = model
        is_skipped = needs_lease and lease is None
        started = Run(
            run=run,
            pipeline=pipeline,
            node=node,
            status=RunStatus.SKIPPED if is_skipped else RunStatus.RUNNING,
            started_at=now,
            ended_at=now if is_skipped else None,
            trace=trace,
        )
        self._runs[run] = started
        return StartedRun(run=started, lease=lease)

    def end(self, run: RunId, outcome: RunOutcome, now: datetime) -> Run:
        if run not in self._runs:
            raise RunUnknown(run)
        known = self._runs[run]
        if not known.status.has_ended:
            self._runs[run] = _ended(known, outcome, now)
        elif _outcome(known) != outcome:
            raise RunEnded(run, known.status)
        return self._runs[run]

    def get(self, run: RunId) -> Run | None:
        return self._runs.get(run)

    def latest(
        self, pipeline: PipelineId | None = None, *, before: RunId | None = None, limit: int = 100
    ) -> tuple[Run, ...]:
        newest_first = (self._runs[run] for run in sorted(self._runs, reverse=True))
        found = (run for run in newest_first if pipeline in (None, run.pipeline))
        return tuple(run for run in found if before is None or run.run < before)[:limit]

    def abandoned(self, pipeline: PipelineId, now: datetime, *, ttl: timedelta) -> tuple[Run, ...]:
        model = self._catalog.pipeline(pipeline)
        found = (self._runs[run] for run in sorted(self._runs))
        return tuple(
            run
            for run in found
            if run.pipeline == pipeline
            and run.status is RunStatus.RUNNING
            and run.started_at + ttl < now
            and not _is_worked_on(model, run, now)
        )

    def adopt(self, run: Run, now: datetime) -> bool:
        self._catalog.touch(run.pipeline, now)
        known = self._runs.get(run.run)
        if known is None:
            self._runs[run.run] = run
            return True
        if known.status.has_ended or run.ended_at is None:
            return False
        self._runs[run.run] = _ended(known, _outcome(run), run.ended_at)
        return True

    def open_runs(self, node: NodeId) -> list[Run]:
        runs = (self._runs[run] for run in sorted(self._runs))
        return [run for run in runs if run.node == node and not run.status.has_ended]

    def success_of(self, cursor: Cursor) -> tuple[datetime, RunId, datetime] | None:
        """How recent a cursor is, if its run succeeded: by the end of the run, then by its own time."""
        run = self._runs.get(cursor.run)
        if run is None or run.ended_at is None or run.status is not RunStatus.SUCCESS:
            return None
        return run.ended_at, run.run, cursor.updated_at


def _ended(run: Run, outcome: RunOutcome, ended_at: datetime) -> Run:
    return replace(
        run,
        status=outcome.status,
        ended_at=ended_at,
        rows=outcome.rows,
        bytes=outcome.bytes,
        error_kind=outcome.error_kind,
        error_message=outcome.error_message,
    )


def _outcome(run: Run) -> RunOutcome:
    return RunOutcome(
        status=run.status,
        rows=run.rows or 0,
        bytes=run.bytes or 0,
        error_kind=run.error_kind,
        error_message=run.error_message,
    )
