"""Pipelines and their leases."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hakiri.catalog.contract.audit import NewEntry
from hakiri.catalog.contract.deciders import check_decider
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.pipelines import AppliedSpec, Decision, Failure, Phase, PipelineState
from hakiri.catalog.errors import LeaseLost, LeaseRequired, PhaseMoved
from hakiri.catalog.sql.audit import add_entry
from hakiri.catalog.sql.database import (
    Database,
    Row,
    Transaction,
    built,
    legible,
    moment,
    moment_or_none,
    storable,
    sure,
)
from hakiri.core.canonical import canonical_json
from hakiri.core.cursors import UNDECLARED_KIND, CursorKind
from hakiri.core.ids import EPOCH, NodeId, PipelineId, RunId, fresh_nonce

_SETTLING = {Decision.RETRY: "reopen_failed_chunks", Decision.SKIP: "skip_failed_chunks"}


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
    tx: Transaction,
    pipeline: PipelineId,
    node: NodeId,
    now: datetime,
    ttl: timedelta,
    *,
    run: RunId | None = None,
) -> Lease | None:
    """Take the lease of a pipeline whose row is locked, for a run or not; None while anyone holds it."""
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
        run=run,
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

    def fail(self, pipeline: PipelineId, failure: Failure, now: datetime) -> PipelineState:
        # In JSON a NUL is written as text that no later check would notice.
        for name in ("run", "spec_hash"):
            storable(name, getattr(failure, name))
        kept = replace(failure, kind=legible(failure.kind) or "", message=legible(failure.message) or "")

        def work(tx: Transaction) -> PipelineState:
            lock_pipeline(tx, pipeline, now)
            return _state(sure(tx.one("fail_pipeline", pipeline=pipeline, failure=kept.as_json, now=now)))

        return self._database.write(work)

    def decide(self, pipeline: PipelineId, decision: Decision, by: str, now: datetime) -> bool:
        check_decider(by)

        def work(tx: Transaction) -> bool:
            failure = lock_pipeline(tx, pipeline, now)["failure"]
            if failure is None:
                return False
            chunks = tx.run(_SETTLING[decision], pipeline=pipeline)
            tx.one("fail_pipeline", pipeline=pipeline, failure=None, now=now)
            after = canonical_json({"chunks": chunks})
            entry = NewEntry(by=by, action=decision, pipeline=pipeline, before=failure, after=after)
            add_entry(tx, entry, now)
            return True

        return self._database.write(work)

    def note_applied(
        self, pipeline: PipelineId, spec_json: str, spec_hash: str, now: datetime
    ) -> AppliedSpec:
        def work(tx: Transaction) -> AppliedSpec:
            lock_pipeline(tx, pipeline, now)
            known = built(_applied, tx.one("applied", pipeline=pipeline))
            same = (spec_json, spec_hash, None)
            if known is not None and (known.spec_json, known.spec_hash, known.retired_at) == same:
                return known
            noted = tx.one(
                "note_applied", pipeline=pipeline, spec_json=spec_json, spec_hash=spec_hash, now=now
            )
            return _applied(sure(noted))

        return self._database.write(work)

    def applied(self, pipeline: PipelineId) -> AppliedSpec | None:
        return built(_applied, self._database.one("applied", pipeline=pipeline))

    def all_applied(self) -> tuple[AppliedSpec, ...]:
        return tuple(_applied(row) for row in self._database.all("all_applied"))

    def retire(self, pipeline: PipelineId, now: datetime) -> bool:
        def work(tx: Transaction) -> bool:
            lock_pipeline(tx, pipeline, now)
            return tx.run("retire", pipeline=pipeline, now=now) > 0

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
        failure=None if row["failure"] is None else _failure(json.loads(row["failure"])),
    )


def _failure(stored: Mapping[str, Any]) -> Failure:
    return Failure(
        run=stored["run"],
        kind=stored["kind"],
        message=stored["message"],
        at=moment(stored["at"]),
        spec_hash=stored["spec_hash"],
    )


def _applied(row: Row) -> AppliedSpec:
    return AppliedSpec(
        pipeline=row["pipeline_id"],
        spec_json=row["spec_json"],
        spec_hash=row["spec_hash"],
        applied_at=moment(row["applied_at"]),
        retired_at=moment_or_none(row["retired_at"]),
    )
