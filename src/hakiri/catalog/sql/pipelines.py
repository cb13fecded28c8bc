"""Pipelines and their leases."""

from __future__ import annotations

from datetime import datetime, timedelta

from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.pipelines import Phase, PipelineState
from hakiri.catalog.errors import LeaseLost, LeaseRequired, PhaseMoved
from hakiri.catalog.sql.database import Database, Row, Transaction, built, moment, sure
from hakiri.core.cursors import UNDECLARED_KIND, CursorKind
from hakiri.core.ids import EPOCH, NodeId, PipelineId, fresh_nonce


def lock_pipeline(tx: Transaction, pipeline: PipelineId, now: datetime) -> Row:
    """The pipeline's row, made if need be, and nobody else writes to the pipeline until the end."""
    row = tx.one("lock_pipeline", pipeline=pipeline)
    if row is None:
        tx.run("add_pipeline", pipeline=pipeline, kind=UNDECLARED_KIND, now=now)
        row = tx.one("lock_pipeline", pipeline=pipeline)
    return sure(row)


def lock_pipeline_under(tx: Transaction, pipeline: PipelineId, under: Lease | None, now: datetime) -> Row:
    """The same for a write that needs the lease if the kind does. Raises LeaseRequired, LeaseLost."""
    row = lock_pipeline(tx, pipeline, now)
    kind = CursorKind(row["cursor_kind"])
    if under is not None:
        if under.pipeline != pipeline:
            raise LeaseLost(f"pipeline `{pipeline}`", under.fence, f"it is one on `{under.pipeline}`")
        _held(tx, under)
    elif kind.needs_lease:
        raise LeaseRequired(pipeline, kind)
    return row


def acquire_lease(
    tx: Transaction, pipeline: PipelineId, node: NodeId, now: datetime, ttl: timedelta
) -> Lease | None:
    """Take the lease of a pipeline whose row is locked, or None while anyone holds it."""
    stored = tx.one("lease", pipeline=pipeline)
    if stored is not None and moment(stored["expires_at"]) > now:
        return None
    taken = tx.one(
        "first_lease" if stored is None else "take_lease",
        pipeline=pipeline,
        node=node,
        until=now + ttl,
        nonce=fresh_nonce(),
        now=now,
    )
    return _lease(sure(taken))


class SqlPipelines:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def declare(self, pipeline: PipelineId, kind: CursorKind, now: datetime) -> PipelineState:
        def work(tx: Transaction) -> PipelineState:
            row = lock_pipeline(tx, pipeline, now)
            if row["cursor_kind"] != kind:
                row = sure(tx.one("declare_pipeline", pipeline=pipeline, kind=kind, now=now))
            return _state(row)

        return self._database.write(work)

    def move(self, pipeline: PipelineId, expected: Phase, to: Phase, now: datetime) -> PipelineState:
        def work(tx: Transaction) -> PipelineState:
            row = lock_pipeline(tx, pipeline, now)
            if row["phase"] != expected:
                raise PhaseMoved(pipeline, expected, row["phase"])
            return _state(sure(tx.one("move_pipeline", pipeline=pipeline, phase=to, now=now)))

        return self._database.write(work)

    def get(self, pipeline: PipelineId) -> PipelineState | None:
        row = self._database.one("pipeline", pipeline=pipeline)
        return built(_state, row)

    def all(self) -> tuple[PipelineState, ...]:
        return tuple(_state(row) for row in self._database.all("pipelines"))


class SqlLeases:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def acquire(self, pipeline: PipelineId, node: NodeId, now: datetime, ttl: timedelta) -> Lease | None:
        def work(tx: Transaction) -> Lease | None:
            lock_pipeline(tx, pipeline, now)
            return acquire_lease(tx, pipeline, node, now, ttl)

        return self._database.write(work)

    def renew(self, lease: Lease, now: datetime, ttl: timedelta) -> Lease:
        def work(tx: Transaction) -> Lease:
            lock_pipeline(tx, lease.pipeline, now)
            held = _held(tx, lease)
            until = max(held.expires_at, now + ttl)
            return _lease(sure(tx.one("extend_lease", pipeline=lease.pipeline, until=until)))

        return self._database.write(work)

    def release(self, lease: Lease) -> None:
        def work(tx: Transaction) -> None:
            tx.one("lock_pipeline", pipeline=lease.pipeline)
            stored = tx.one("lease", pipeline=lease.pipeline)
            if stored is not None and _is_same(stored, lease):
                # Long past for every clock, not only for those ahead of ours.
                tx.one("extend_lease", pipeline=lease.pipeline, until=EPOCH)

        self._database.write(work)

    def current(self, pipeline: PipelineId) -> Lease | None:
        row = self._database.one("lease", pipeline=pipeline)
        return _lease(row) if row is not None and moment(row["expires_at"]) > EPOCH else None


def _held(tx: Transaction, lease: Lease) -> Lease:
    stored = tx.one("lease", pipeline=lease.pipeline)
    if stored is None or not _is_same(stored, lease):
        holder = "nobody" if stored is None else f"`{stored['holder_node']}` with fence {stored['fence']}"
        raise LeaseLost(f"pipeline `{lease.pipeline}`", lease.fence, f"it was given to {holder}")
    if moment(stored["expires_at"]) <= EPOCH:
        raise LeaseLost(f"pipeline `{lease.pipeline}`", lease.fence, "it was released")
    return _lease(stored)


def _is_same(stored: Row, lease: Lease) -> bool:
    # The nonce, not the holder's name: a node that was started again has the same name.
    return bool(stored["fence"] == lease.fence and stored["nonce"] == lease.nonce)


def _lease(row: Row) -> Lease:
    return Lease(
        pipeline=row["pipeline_id"],
        holder=row["holder_node"],
        fence=row["fence"],
        nonce=row["nonce"],
        expires_at=moment(row["expires_at"]),
    )


def _state(row: Row) -> PipelineState:
    return PipelineState(
        pipeline=row["pipeline_id"],
        kind=CursorKind(row["cursor_kind"]),
        phase=Phase(row["phase"]),
        updated_at=moment(row["updated_at"]),
    )
