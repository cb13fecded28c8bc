"""What the contract promises of the chunks of one pipeline, as a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from hakiri.catalog.contract.chunks import (
    Chunk,
    ChunkAttempt,
    ChunkCommit,
    ChunkError,
    ChunkStatus,
    ChunkTally,
    NewChunk,
    Replacement,
    Reread,
)
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.errors import LeaseLost
from hakiri.core.ids import ChunkId, NodeId, PipelineId, RunId, TableName

UNKNOWN_NONCE = ""
UNKNOWN_SEQ = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldChunk:
    """A chunk with its latest attempt, and which draw of the pipeline's numbers that took."""

    chunk: Chunk
    attempt: ChunkAttempt | None = None
    draw: int = 0

    def is_worked_on(self, now: datetime) -> bool:
        until = self.chunk.leased_until
        return until is not None and until > now

    def is_open(self, now: datetime) -> bool:
        """Whether a claim may take it."""
        has_run_out = self.chunk.status is ChunkStatus.RUNNING and not self.is_worked_on(now)
        return self.chunk.status is ChunkStatus.PENDING or has_run_out

    def is_held_by(self, attempt: ChunkAttempt) -> bool:
        return self.chunk.status is ChunkStatus.RUNNING and self._is_latest(attempt)

    def was_won_by(self, attempt: ChunkAttempt) -> bool:
        return self.chunk.winning_attempt is not None and self._is_latest(attempt)

    def _is_latest(self, attempt: ChunkAttempt) -> bool:
        latest = self.attempt
        return latest is not None and (latest.number, latest.nonce) == (attempt.number, attempt.nonce)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunksModel:
    """All chunks of a pipeline, and the names of its plans. Ids are 1, 2, 3 … in the order of planning."""

    pipeline: PipelineId
    held: tuple[HeldChunk, ...] = ()
    plans: frozenset[str] = frozenset()
    claimed_at: datetime | None = None

    # The plan

    def plan(
        self, plan: str, chunks: Iterable[NewChunk], now: datetime, *, also: Collection[str] = ()
    ) -> tuple[ChunksModel, int]:
        if not self.plans.isdisjoint({plan, *also}):
            return self, 0
        added = self._planned_all(chunks)
        return replace(self, plans=self.plans | {plan, *also}, held=self.held + added), len(added)

    def is_planned(self, plan: str) -> tuple[ChunksModel, bool]:
        return self, plan in self.plans

    def reopen(self, chunks: Sequence[ChunkId], now: datetime) -> tuple[ChunksModel, int]:
        closed = (ChunkStatus.FAILED, ChunkStatus.SKIPPED)
        return self._changed(chunks, closed, status=ChunkStatus.PENDING, error_kind=None, error_message=None)

    def skip(self, chunks: Sequence[ChunkId], now: datetime) -> tuple[ChunksModel, int]:
        skippable = (ChunkStatus.PENDING, ChunkStatus.FAILED)
        return self._changed(chunks, skippable, status=ChunkStatus.SKIPPED)

    def supersede(
        self,
        chunks: Sequence[ChunkId],
        reason: str,
        now: datetime,
        *,
        into: Sequence[NewChunk] | None = None,
        by: str | None = None,
    ) -> tuple[ChunksModel, tuple[ChunkId, ...]]:
        old = [
            held for held in self.held if held.chunk.chunk in chunks and held.chunk.status is ChunkStatus.DONE
        ]
        if not old:
            return self, ()
        copies = [NewChunk(table=held.chunk.table, predicate=held.chunk.predicate) for held in old]
        places = [[held] for held in old] if into is None else [old] * len(into)
        first = len(self.held) + 1
        added = self._planned_all(
            replace(
                chunk,
                reread=reread_of(
                    place,
                    reason,
                    now,
                    first=number if into is None else first,
                    last=number if into is None else first + len(into) - 1,
                    is_last=into is None or number == first + len(into) - 1,
                ),
            )
            for number, (chunk, place) in enumerate(
                zip(copies if into is None else into, places, strict=True), first
            )
        )
        new = [held.chunk.chunk for held in added]
        model = self
        for held, successor in zip(old, new if into is None else new[-1:] * len(old), strict=True):
            kept = replace(
                held.chunk,
                status=ChunkStatus.SUPERSEDED,
                superseded_by=successor,
                reason=reason,
                successors=1 if into is None else len(into),
            )
            model = model._with(replace(held, chunk=kept))
        return replace(model, held=model.held + added), tuple(new)

    def get(self, chunk: ChunkId, *, seen: object = None) -> tuple[ChunksModel, Chunk | None]:
        model = self._as_seen((seen,) if isinstance(seen, Chunk) else ())
        held = model.find(chunk)
        return model, None if held is None else held.chunk

    def page(
        self,
        *,
        status: ChunkStatus | None = None,
        after: ChunkId | None = None,
        limit: int = 1000,
        seen: object = None,
    ) -> tuple[ChunksModel, tuple[Chunk, ...]]:
        model = self._as_seen(seen if isinstance(seen, tuple) else ())
        found = (held.chunk for held in model.held if status is None or held.chunk.status is status)
        return model, tuple(chunk for chunk in found if chunk.chunk > (after or 0))[:limit]

    def recent(self, *, limit: int = 50) -> tuple[ChunksModel, tuple[Chunk, ...]]:
        done = [held.chunk for held in self.held if held.chunk.status is ChunkStatus.DONE]
        by_time = sorted(done, key=lambda chunk: (chunk.completed_at, chunk.chunk), reverse=True)
        return self, tuple(by_time[:limit])

    def tally(self) -> tuple[ChunksModel, ChunkTally]:
        counts = Counter(held.chunk.status for held in self.held)
        done = [held.chunk for held in self.held if held.chunk.status is ChunkStatus.DONE]
        return self, ChunkTally(
            **{status.value: counts[status] for status in ChunkStatus},
            rows=sum(chunk.rows or 0 for chunk in done),
            bytes=sum(chunk.bytes or 0 for chunk in done),
        )

    # Work on them

    def next_open(self, now: datetime, parallelism: int | None) -> HeldChunk | None:
        """What the next claim takes."""
        return next(iter(self.some_open(now, 1, parallelism)), None)

    def some_open(
        self,
        now: datetime,
        limit: int,
        parallelism: int | None,
        tables: Collection[TableName] | None = None,
    ) -> tuple[HeldChunk, ...]:
        """What the next claim of several takes."""
        if parallelism is not None:
            limit = min(limit, parallelism - sum(held.is_worked_on(now) for held in self.held))
        found = [held for held in self.held if held.is_open(now)]
        if tables is not None:
            found = [held for held in found if held.chunk.table in tables]
        alike = [held for held in found if held.chunk.table == found[0].chunk.table]
        return tuple(alike[: max(limit, 0)])

    def claim(
        self,
        held: HeldChunk,
        run: RunId,
        node: NodeId,
        now: datetime,
        ttl: timedelta,
        *,
        nonce: str,
        seq: int,
        draw: int,
    ) -> tuple[ChunksModel, ChunkAttempt]:
        attempt = ChunkAttempt(
            pipeline=self.pipeline,
            chunk=held.chunk.chunk,
            table=held.chunk.table,
            predicate=held.chunk.predicate,
            run=run,
            node=node,
            number=held.chunk.attempts + 1,
            nonce=fresh_nonce(nonce, held.attempt),
            seq=seq,
            claimed_at=max(now, self.claimed_at or now),
            leased_until=now + ttl,
            reread=held.chunk.reread,
        )
        claimed = replace(
            held.chunk,
            status=ChunkStatus.RUNNING,
            attempts=attempt.number,
            run=run,
            holder=node,
            leased_until=attempt.leased_until,
            seq=seq,
            started_at=now,
        )
        model = self._with(HeldChunk(chunk=claimed, attempt=attempt, draw=draw))
        return replace(model, claimed_at=attempt.claimed_at), attempt

    def renew(self, attempt: ChunkAttempt, now: datetime, ttl: timedelta) -> tuple[ChunksModel, ChunkAttempt]:
        held = self._held_by(attempt)
        assert held.attempt is not None
        until = max(held.attempt.leased_until, now + ttl)
        renewed = replace(held.attempt, leased_until=until)
        chunk = replace(held.chunk, leased_until=until)
        return self._with(replace(held, chunk=chunk, attempt=renewed)), renewed

    def commit(
        self, attempt: ChunkAttempt, commit: ChunkCommit, now: datetime
    ) -> tuple[ChunksModel, HeldChunk | None]:
        """With it done; and the chunk, unless this very attempt was committed before."""
        known = self.find(attempt.chunk)
        if known is not None and known.was_won_by(attempt):
            return self, None
        held = self._held_by(attempt)
        chunk = replace(
            held.chunk,
            status=ChunkStatus.DONE,
            winning_attempt=attempt.place,
            completed_at=now,
            cursor_committed=commit.cursor,
            rows=commit.rows,
            bytes=commit.bytes,
            manifest=commit.manifest,
            holder=None,
            leased_until=None,
            error_kind=None,
            error_message=None,
        )
        done = replace(held, chunk=chunk)
        return self._with(done), done

    def give_back(
        self,
        attempt: ChunkAttempt,
        now: datetime,
        error: ChunkError | None = None,
        *,
        retry: bool = True,
    ) -> tuple[ChunksModel, None]:
        held = self.find(attempt.chunk)
        if held is None or not held.is_held_by(attempt):
            return self, None
        left = replace(
            held.chunk,
            status=ChunkStatus.PENDING if retry else ChunkStatus.FAILED,
            holder=None,
            leased_until=None,
            error_kind=None if error is None else error.kind,
            error_message=None if error is None else error.message,
        )
        return self._with(replace(held, chunk=left)), None

    def give_back_of(self, node: NodeId) -> ChunksModel:
        """With all pending that a node works on."""
        left = {"status": ChunkStatus.PENDING, "holder": None, "leased_until": None}
        held = [held.chunk.chunk for held in self.held if held.chunk.holder == node]
        model, _ = self._changed(held, (ChunkStatus.RUNNING,), **left)
        return model

    # Parts

    def find(self, chunk: ChunkId) -> HeldChunk | None:
        return self.held[chunk - 1] if 0 < chunk <= len(self.held) else None

    def _held_by(self, attempt: ChunkAttempt) -> HeldChunk:
        held = self.find(attempt.chunk)
        if held is None or not held.is_held_by(attempt):
            raise LeaseLost("the chunk", attempt.number, "another attempt has it")
        return held

    def _planned_all(self, chunks: Iterable[NewChunk]) -> tuple[HeldChunk, ...]:
        return tuple(
            self._planned(ChunkId(chunk_id), chunk)
            for chunk_id, chunk in enumerate(chunks, len(self.held) + 1)
        )

    def _planned(self, chunk: ChunkId, new: NewChunk) -> HeldChunk:
        nothing = dict.fromkeys(Chunk.__slots__)
        planned: Any = nothing | {
            "pipeline": self.pipeline,
            "chunk": chunk,
            "table": new.table,
            "predicate": new.predicate,
            "status": ChunkStatus.PENDING,
            "attempts": 0,
            "reread": new.reread,
        }
        return HeldChunk(chunk=Chunk(**planned))

    def _with(self, held: HeldChunk) -> ChunksModel:
        before = held.chunk.chunk - 1
        return replace(self, held=(*self.held[:before], held, *self.held[before + 1 :]))

    def _changed(
        self, chunks: Sequence[ChunkId], of: tuple[ChunkStatus, ...], **changes: Any
    ) -> tuple[ChunksModel, int]:
        changed = [held for held in self.held if held.chunk.chunk in chunks and held.chunk.status in of]
        model = self
        for held in changed:
            model = model._with(replace(held, chunk=replace(held.chunk, **changes)))
        return model, len(changed)

    def _as_seen(self, seen: Iterable[Chunk]) -> ChunksModel:
        """With the numbers of claims whose answers were lost, as someone has read them since."""
        model = self
        for chunk in seen:
            held = self.find(chunk.chunk)
            if held is not None and held.chunk.seq == UNKNOWN_SEQ:
                model = model._with(replace(held, chunk=replace(held.chunk, seq=chunk.seq)))
        return model


def reread_of(
    old: Sequence[HeldChunk], reason: str, now: datetime, *, first: int, last: int, is_last: bool
) -> Reread:
    """What a chunk knows that comes in the place of these."""
    runs = {held.chunk.run for held in old if held.chunk.run is not None}
    replacement = Replacement(
        first=ChunkId(first),
        last=ChunkId(last),
        old=tuple(held.chunk.chunk for held in old) if is_last else (),
    )
    return Reread(reason=reason, asked_at=now, runs=tuple(sorted(runs)), replacement=replacement)


def fresh_nonce(seen: str, before: ChunkAttempt | Lease | None) -> str:
    """The nonce that was seen, or one that nobody saw when it is that of the holder before."""
    is_repeated = before is not None and seen == before.nonce and seen != UNKNOWN_NONCE
    return f"not {seen}" if is_repeated else seen
