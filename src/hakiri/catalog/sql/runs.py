"""Runs."""

from __future__ import annotations

from datetime import datetime, timedelta

from hakiri.catalog.contract.runs import Run, RunOutcome, RunStatus, StartedRun
from hakiri.catalog.errors import RunEnded, RunExists, RunUnknown
from hakiri.catalog.sql.database import (
    Database,
    Row,
    Transaction,
    built,
    legible,
    moment,
    moment_or_none,
    sure,
)
from hakiri.catalog.sql.pipelines import acquire_lease, lock_pipeline
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import NodeId, PipelineId, RunId


class SqlRuns:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def start(
        self,
        run: RunId,
        pipeline: PipelineId,
        node: NodeId,
        now: datetime,
        *,
        ttl: timedelta,
        trace: str | None = None,
    ) -> StartedRun:
        def work(tx: Transaction) -> StartedRun:
            kind = CursorKind(lock_pipeline(tx, pipeline, now)["cursor_kind"])
            if tx.one("run", run=run) is not None:
                raise RunExists(run)
            lease = acquire_lease(tx, pipeline, node, now, ttl, run=run) if kind.needs_lease else None
            is_skipped = kind.needs_lease and lease is None
            started = Run(
                run=run,
                pipeline=pipeline,
                node=node,
                status=RunStatus.SKIPPED if is_skipped else RunStatus.RUNNING,
                started_at=now,
                ended_at=now if is_skipped else None,
                trace=trace,
            )
            if not add_run(tx, started):
                raise RunExists(run)
            return StartedRun(run=started, lease=lease)

        return self._database.write(work)

    def end(self, run: RunId, outcome: RunOutcome, now: datetime) -> Run:
        def work(tx: Transaction) -> Run:
            stored = _stored(tx, run, now)
            if stored is None:
                raise RunUnknown(run)
            if stored.status.has_ended:
                if _outcome(stored) == _kept(outcome):
                    return stored
                raise RunEnded(run, stored.status)
            return _end(tx, run, _kept(outcome), now)

        return self._database.write(work)

    def get(self, run: RunId) -> Run | None:
        row = self._database.one("run", run=run)
        return built(_run, row)

    def latest(
        self, pipeline: PipelineId | None = None, *, before: RunId | None = None, limit: int = 100
    ) -> tuple[Run, ...]:
        name = "latest_runs" if pipeline is None else "latest_runs_of_pipeline"
        rows = self._database.all(name, pipeline=pipeline, before=before, limit=limit)
        return tuple(_run(row) for row in rows)

    def abandoned(self, pipeline: PipelineId, now: datetime, *, ttl: timedelta) -> tuple[Run, ...]:
        rows = self._database.all("abandoned_runs", pipeline=pipeline, now=now, started_before=now - ttl)
        return tuple(_run(row) for row in rows)

    def adopt(self, run: Run, now: datetime) -> bool:
        def work(tx: Transaction) -> bool:
            lock_pipeline(tx, run.pipeline, now)
            stored = _stored(tx, run.run, now)
            if stored is None:
                return add_run(tx, run)
            if stored.status.has_ended or run.ended_at is None:
                return False
            _end(tx, run.run, _outcome(run), run.ended_at)
            return True

        return self._database.write(work)


def _stored(tx: Transaction, run: RunId, now: datetime) -> Run | None:
    """The run as it is now that nobody else writes to its pipeline."""
    seen = tx.one("run", run=run)
    if seen is None:
        return None
    lock_pipeline(tx, seen["pipeline_id"], now)
    return _run(sure(tx.one("run", run=run)))


def add_run(tx: Transaction, run: Run) -> bool:
    """Record it, unless a run of another pipeline has taken the id at this very moment."""
    added = tx.run(
        "add_run",
        run=run.run,
        pipeline=run.pipeline,
        node=run.node,
        started_at=run.started_at,
        ended_at=run.ended_at,
        status=run.status,
        rows=run.rows,
        bytes=run.bytes,
        error_kind=legible(run.error_kind),
        error_message=legible(run.error_message),
        trace=run.trace,
    )
    return added > 0


def _end(tx: Transaction, run: RunId, outcome: RunOutcome, ended_at: datetime) -> Run:
    row = tx.one(
        "end_run",
        run=run,
        status=outcome.status,
        ended_at=ended_at,
        rows=outcome.rows,
        bytes=outcome.bytes,
        error_kind=outcome.error_kind,
        error_message=outcome.error_message,
    )
    return _run(sure(row))


def _kept(outcome: RunOutcome) -> RunOutcome:
    return RunOutcome(
        status=outcome.status,
        rows=outcome.rows,
        bytes=outcome.bytes,
        error_kind=legible(outcome.error_kind),
        error_message=legible(outcome.error_message),
    )


def _outcome(run: Run) -> RunOutcome:
    return RunOutcome(
        status=run.status,
        rows=run.rows or 0,
        bytes=run.bytes or 0,
        error_kind=run.error_kind,
        error_message=run.error_message,
    )


def _run(row: Row) -> Run:
    return Run(
        run=row["run_id"],
        pipeline=row["pipeline_id"],
        node=row["node_id"],
        status=RunStatus(row["status"]),
        started_at=moment(row["started_at"]),
        ended_at=moment_or_none(row["ended_at"]),
        rows=row["row_count"],
        bytes=row["bytes"],
        error_kind=row["error_kind"],
        error_message=row["error_msg"],
        trace=row["trace_id"],
    )
