"""What the contract promises of one pipeline, as a value: who holds what, how far it has come, what is done.

Small on purpose, and without any store: backends are held against it. Every method is the contract's method
of that role and name, and gives the pipeline as it is after the call beside the answer, or raises the
contract's error. What a backend chooses by itself, nonces and numbers, is taken from the answer `seen`; an
answer that no backend may give differs from the one given here. `seen` is None when the answer was lost.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit, ChunkStatus
from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.pipelines import Decision, Failure, Phase, PipelineState
from hakiri.catalog.errors import LeaseLost, LeaseRequired, PhaseMoved
from hakiri.catalog.testing.calls import REFUSALS, Call, Refusal
from hakiri.catalog.testing.chunk_model import (
    UNKNOWN_NONCE,
    UNKNOWN_SEQ,
    ChunksModel,
    HeldChunk,
    fresh_nonce,
)
from hakiri.core.cursors import UNDECLARED_KIND, CursorKind
from hakiri.core.ids import ChunkId, NodeId, PipelineId, RunId, TableName

FROM_THE_START = "null"
Commit = tuple[ChunkAttempt, ChunkCommit]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCursor:
    """A cursor, and which draw of the pipeline's numbers its own was."""

    cursor: Cursor
    draw: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineModel:
    """Everything a catalog keeps of one pipeline but its runs."""

    chunks: ChunksModel
    state: PipelineState | None = None
    lease: Lease | None = None
    lease_run: RunId | None = None
    is_released: bool = False
    cursors: tuple[HeldCursor, ...] = ()
    draws: int = 0
    highest_seq: int = 0

    @property
    def pipeline(self) -> PipelineId:
        return self.chunks.pipeline

    # Pipelines

    def pipelines_declare(self, kind: CursorKind, now: datetime) -> tuple[PipelineModel, PipelineState]:
        state = self.state_at(now)
        if state.kind is not kind:
            state = replace(state, kind=kind, updated_at=now)
        return replace(self, state=state), state

    def pipelines_move(
        self, expected: Phase, to: Phase, now: datetime
    ) -> tuple[PipelineModel, PipelineState]:
        state = self.state_at(now)
        if state.phase is not expected:
            raise PhaseMoved(self.pipeline, expected, state.phase)
        state = replace(state, phase=to, updated_at=now)
        return replace(self, state=state), state

    def pipelines_fail(self, failure: Failure, now: datetime) -> tuple[PipelineModel, PipelineState]:
        state = replace(self.state_at(now), failure=failure, updated_at=now)
        return replace(self, state=state), state

    def pipelines_decide(self, decision: Decision, by: str, now: datetime) -> tuple[PipelineModel, bool]:
        if self.state is None or self.state.failure is None:
            return self, False
        failed = self.failed_chunks
        settle = self.chunks.reopen if decision is Decision.RETRY else self.chunks.skip
        chunks, _ = settle(failed, now)
        return replace(self, chunks=chunks, state=replace(self.state, failure=None, updated_at=now)), True

    def pipelines_get(self) -> tuple[PipelineModel, PipelineState | None]:
        return self, self.state

    # Leases

    def leases_acquire(
        self,
        node: NodeId,
        now: datetime,
        ttl: timedelta,
        *,
        run: RunId | None = None,
        seen: object = None,
    ) -> tuple[PipelineModel, Lease | None]:
        held = self.lease
        if held is not None and not self.is_released and held.expires_at > now:
            return self, None
        taken = Lease(
            pipeline=self.pipeline,
            holder=node,
            fence=1 if held is None else held.fence + 1,
            nonce=fresh_nonce(getattr(seen, "nonce", UNKNOWN_NONCE), held),
            expires_at=now + ttl,
        )
        return replace(self, lease=taken, lease_run=run, is_released=False), taken

    def leases_renew(self, lease: Lease, now: datetime, ttl: timedelta) -> tuple[PipelineModel, Lease]:
        held = self._held(lease)
        renewed = replace(held, expires_at=max(held.expires_at, now + ttl))
        return replace(self, lease=renewed), renewed

    def leases_release(self, lease: Lease) -> tuple[PipelineModel, None]:
        return (replace(self, is_released=True) if self._is_held(lease) else self), None

    def leases_current(self, *, seen: object = None) -> tuple[PipelineModel, Lease | None]:
        lease = self.lease
        if lease is None or self.is_released:
            return self, None
        if lease.nonce == UNKNOWN_NONCE and isinstance(seen, Lease):
            lease = replace(lease, nonce=seen.nonce)
        return replace(self, lease=lease), lease

    # Cursors

    def cursors_get(self, table: TableName, *, seen: object = None) -> tuple[PipelineModel, Cursor | None]:
        model = self._as_seen((seen,) if isinstance(seen, Cursor) else ())
        held = model.cursor_of(table)
        return model, held.cursor if held and held.cursor.value != FROM_THE_START else None

    def cursors_all(self, *, seen: object = None) -> tuple[PipelineModel, tuple[Cursor, ...]]:
        model = self._as_seen(seen if isinstance(seen, tuple) else ())
        cursors = (held.cursor for held in model.cursors)
        return model, tuple(cursor for cursor in cursors if cursor.value != FROM_THE_START)

    def cursors_put(
        self,
        table: TableName,
        value: str,
        *,
        run: RunId,
        now: datetime,
        under: Lease | None = None,
        audit_by: str | None = None,
        reason: str | None = None,
        seen: object = None,
    ) -> tuple[PipelineModel, Cursor]:
        self._check_lease(under)
        cursor = Cursor(
            pipeline=self.pipeline, table=table, value=value, run=run, seq=UNKNOWN_SEQ, updated_at=now
        )
        model = self.with_new_cursor(cursor, seen)
        return model, next(held.cursor for held in model.cursors if held.cursor.table == table)

    # Work on chunks; the plan is `ChunksModel`'s alone

    def queue_claim(
        self,
        run: RunId,
        node: NodeId,
        now: datetime,
        *,
        ttl: timedelta,
        parallelism: int | None = None,
        under: Lease | None = None,
        seen: object = None,
    ) -> tuple[PipelineModel, ChunkAttempt | None]:
        self._check_lease(under)
        held = self.chunks.next_open(now, parallelism)
        return (self, None) if held is None else self._claimed(held, run, node, now, ttl, seen=seen)

    def queue_claim_some(
        self,
        run: RunId,
        node: NodeId,
        now: datetime,
        *,
        ttl: timedelta,
        limit: int,
        parallelism: int | None = None,
        under: Lease | None = None,
        tables: Collection[TableName] | None = None,
        seen: object = None,
    ) -> tuple[PipelineModel, tuple[ChunkAttempt, ...]]:
        self._check_lease(under)
        model, attempts = self, []
        each_seen = [*seen] if isinstance(seen, tuple) else []
        for held in self.chunks.some_open(now, limit, parallelism, tables):
            one_seen = each_seen.pop(0) if each_seen else None
            model, attempt = model._claimed(held, run, node, now, ttl, seen=one_seen)
            attempts.append(attempt)
        return model, tuple(attempts)

    def queue_renew(
        self, attempt: ChunkAttempt, now: datetime, ttl: timedelta
    ) -> tuple[PipelineModel, ChunkAttempt]:
        chunks, renewed = self.chunks.renew(attempt, now, ttl)
        return replace(self, chunks=chunks), renewed

    def queue_renew_some(
        self, attempts: Sequence[ChunkAttempt], now: datetime, ttl: timedelta
    ) -> tuple[PipelineModel, tuple[ChunkAttempt, ...]]:
        model, renewed = self, []
        for attempt in attempts:
            try:
                model, one = model.queue_renew(attempt, now, ttl)
            except LeaseLost:
                continue
            renewed.append(one)
        return model, tuple(renewed)

    def queue_commit(
        self, attempt: ChunkAttempt, commit: ChunkCommit, now: datetime, under: Lease | None = None
    ) -> tuple[PipelineModel, None]:
        return self.queue_commit_some([(attempt, commit)], now, under)

    def queue_commit_some(
        self,
        commits: Sequence[Commit],
        now: datetime,
        under: Lease | None = None,
    ) -> tuple[PipelineModel, None]:
        open_commits = self.open_commits(commits)
        if open_commits:
            self._check_lease(under)
        model = self
        for attempt, commit in open_commits:
            model = model._committed(attempt, commit, now)
        return model, None

    def queue_give_back(self, **arguments: Any) -> tuple[PipelineModel, None]:
        chunks, answer = self.chunks.give_back(**arguments)
        return replace(self, chunks=chunks), answer

    # Parts

    def state_at(self, now: datetime) -> PipelineState:
        """The state, or the one that the first write makes."""
        return self.state or PipelineState(
            pipeline=self.pipeline, kind=UNDECLARED_KIND, phase=Phase.PLANNING, updated_at=now
        )

    @property
    def failed_chunks(self) -> tuple[ChunkId, ...]:
        chunks = (held.chunk for held in self.chunks.held)
        return tuple(chunk.chunk for chunk in chunks if chunk.status is ChunkStatus.FAILED)

    def open_commits(self, commits: Sequence[Commit]) -> list[Commit]:
        """Those that were not made before: once for each attempt, and not for one that has won."""
        first: dict[str, Commit] = {}
        for attempt, commit in commits:
            known = self.chunks.find(attempt.chunk)
            if known is None or not known.was_won_by(attempt):
                first.setdefault(attempt.nonce, (attempt, commit))
        return [*first.values()]

    def cursor_of(self, table: TableName) -> HeldCursor | None:
        return next((held for held in self.cursors if held.cursor.table == table), None)

    def with_cursor(self, cursor: Cursor, draw: int) -> PipelineModel:
        """With that cursor, unless the one that is there drew its number later. Its time does not go back."""
        held = self.cursor_of(cursor.table)
        if held is None:
            return self._holding(HeldCursor(cursor=cursor, draw=draw))
        if held.draw > draw:
            return self
        updated_at = max(cursor.updated_at, held.cursor.updated_at)
        return self._holding(HeldCursor(cursor=replace(cursor, updated_at=updated_at), draw=draw))

    def with_new_cursor(self, cursor: Cursor, seen: object) -> PipelineModel:
        """With a cursor that draws its number now, and so beats what is there."""
        model, seq = self._drawn(seen)
        return model.with_cursor(replace(cursor, seq=seq), model.draws)

    def _claimed(
        self, held: HeldChunk, run: RunId, node: NodeId, now: datetime, ttl: timedelta, *, seen: object
    ) -> tuple[PipelineModel, ChunkAttempt]:
        model, seq = self._drawn(seen)
        nonce = getattr(seen, "nonce", UNKNOWN_NONCE)
        chunks, attempt = self.chunks.claim(held, run, node, now, ttl, nonce=nonce, seq=seq, draw=model.draws)
        return replace(model, chunks=chunks), attempt

    def _committed(self, attempt: ChunkAttempt, commit: ChunkCommit, now: datetime) -> PipelineModel:
        chunks, done = self.chunks.commit(attempt, commit, now)
        model = replace(self, chunks=chunks)
        if done is None or commit.cursor is None or not commit.moves_stream:
            return model
        cursor = Cursor(
            pipeline=self.pipeline,
            table=commit.stream or attempt.table,
            value=commit.cursor,
            run=attempt.run,
            seq=attempt.seq,
            updated_at=now,
        )
        return model.with_cursor(cursor, done.draw)

    def _check_lease(self, under: Lease | None) -> None:
        kind = UNDECLARED_KIND if self.state is None else self.state.kind
        if under is not None:
            self._held(under)
        elif kind.needs_lease:
            raise LeaseRequired(self.pipeline, kind)

    def _is_held(self, lease: Lease) -> bool:
        held = self.lease
        return (
            held is not None
            and not self.is_released
            and (held.pipeline, held.fence, held.nonce) == (lease.pipeline, lease.fence, lease.nonce)
        )

    def _held(self, lease: Lease) -> Lease:
        if self.lease is None or not self._is_held(lease):
            raise LeaseLost("the pipeline", lease.fence, "another has it")
        return self.lease

    def _drawn(self, seen: object) -> tuple[PipelineModel, int]:
        """The next number, which is higher than all that are known of this pipeline."""
        seq = getattr(seen, "seq", UNKNOWN_SEQ)
        if seq != UNKNOWN_SEQ:
            seq = max(seq, self.highest_seq + 1)
        return replace(self, draws=self.draws + 1, highest_seq=max(seq, self.highest_seq)), seq

    def _holding(self, held: HeldCursor) -> PipelineModel:
        others = (other for other in self.cursors if other.cursor.table != held.cursor.table)
        by_table = sorted((*others, held), key=lambda each: each.cursor.table)
        return replace(self, cursors=tuple(by_table))

    def _as_seen(self, seen: tuple[Cursor, ...]) -> PipelineModel:
        """With the numbers of writes whose answers were lost, as someone has read them since."""
        model = self
        for cursor in seen:
            held = self.cursor_of(cursor.table)
            if held is not None and held.cursor.seq == UNKNOWN_SEQ:
                model = model._holding(replace(held, cursor=replace(held.cursor, seq=cursor.seq)))
        return model


def commits_of(call: Call) -> Sequence[Commit]:
    """What a call of `commit` or `commit_some` is to commit."""
    if call.method == "commit":
        return [(call.arguments["attempt"], call.arguments["commit"])]
    commits: Sequence[Commit] = call.arguments["commits"]
    return commits


def new_pipeline(pipeline: PipelineId) -> PipelineModel:
    """A pipeline of which nothing was written yet."""
    return PipelineModel(chunks=ChunksModel(pipeline=pipeline))


def predict(model: PipelineModel, call: Call, seen: object) -> tuple[PipelineModel, object]:
    """The pipeline after the call, and the answer or refusal that the contract wants."""
    arguments = {name: value for name, value in call.arguments.items() if name != "pipeline"}
    try:
        if call.role == "chunks":
            chunks, answer = _asked(getattr(model.chunks, call.method), arguments, seen)
            after = replace(model, chunks=chunks)
        else:
            after, answer = _asked(getattr(model, f"{call.role}_{call.method}"), arguments, seen)
    except REFUSALS as error:
        return model, Refusal.of(error)
    # What takes a time is a write, and any write gives a pipeline state.
    return replace(after, state=after.state_at(arguments["now"])) if "now" in arguments else after, answer


def _asked(method: Callable[..., Any], arguments: dict[str, Any], seen: object) -> Any:
    return method(**arguments, seen=seen) if _takes_seen(method.__func__) else method(**arguments)  # type: ignore[attr-defined]


@cache
def _takes_seen(function: Callable[..., Any]) -> bool:
    return "seen" in inspect.signature(function).parameters
