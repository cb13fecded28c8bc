"""A whole catalog in memory, for one caller at a time: what every backend is compared with."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.runs import Run, RunOutcome, RunStatus, StartedRun
from hakiri.catalog.errors import RunEnded, RunExists, RunUnknown, SchemaMoved
from hakiri.catalog.testing.calls import REFUSALS, Call, Refusal
from hakiri.catalog.testing.pipeline_model import PipelineModel, new_pipeline, predict
from hakiri.catalog.testing.table_model import GarbageModel, RevocationsModel, SchemasModel, SnapshotsModel
from hakiri.core.ids import NodeId, PipelineId, RunId

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

    def answer(self, call: Call, seen: object) -> object:
        """The answer or refusal that the contract wants; numbers and nonces are those of the answer seen."""
        if (call.role, call.method) == ("cursors", "adopt"):
            return self._adopt_cursor(**call.arguments)
        if call.role in _OF_PIPELINES:
            return self._answer_of_pipeline(call, seen)
        arguments = {**call.arguments, **({"seen": seen} if call.method == "start" else {})}
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
        if call.method == "commit" and after != before:
            step = call.arguments["commit"].schema
            try:
                if step is not None:
                    self.schemas.record(step, call.pipeline, call.arguments["now"])
            except SchemaMoved as error:
                return Refusal.of(error)
        if call.method == "supersede":
            old = before.chunks.held
            new = after.chunks.held
            for table in {held.chunk.table for held in new[len(old) :]}:
                self.schemas.revisions[table] += 1
        if after.state is not None:
            self.pipelines[call.pipeline] = after
        return answer

    def _adopt_cursor(self, cursor: Cursor, now: datetime) -> bool:
        model = self.touch(cursor.pipeline, now)
        held = model.cursor_of(cursor.table)
        ours = None if held is None else self.runs.success_of(held.cursor)
        theirs = self.runs.success_of(cursor)
        if model.state_at(now).kind.needs_lease or theirs is None or (ours is not None and ours >= theirs):
            return False
        self.pipelines[cursor.pipeline] = model.with_new_cursor(cursor, None)
        return True


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
            model, lease = model.leases_acquire(node, now, ttl, seen=getattr(seen, "lease", None))
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
