"""Whose turn it is to compact a table.

The next snapshot of a table is a chunk of the catalog's queue, like the chunks of a pipeline: planned under a
name that a second planner finds taken, claimed by one worker with a lease, and taken over when that runs out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import Chunk, ChunkAttempt, ChunkCommit, ChunkError, ChunkStatus, NewChunk
from hakiri.catalog.contract.leases import LEASE_TTL
from hakiri.catalog.contract.runs import ABANDONED, RunOutcome, RunStatus
from hakiri.catalog.errors import LeaseLost, RunEnded
from hakiri.catalog.keeper import LeaseKeeper
from hakiri.core.canonical import canonical_json
from hakiri.core.clock import Clock
from hakiri.core.ids import NodeId, RunId, SnapshotId, TableName, compaction_queue
from hakiri.store.snapshots import SnapshotManifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who compacts a table, and since when."""

    node: NodeId
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """The compactions of a store, as work that is claimed. `keeper` renews leases if somebody has one."""

    catalog: Catalog
    clock: Clock
    node: NodeId
    lease: timedelta = LEASE_TTL
    keeper: LeaseKeeper | None = None

    def holder(self, table: TableName) -> Holder | None:
        """Who compacts the table now; None if nobody does who still has a lease."""
        now = self.clock.now()
        for chunk in self._running(table):
            if chunk.holder is not None and chunk.leased_until is not None and chunk.leased_until > now:
                return Holder(node=chunk.holder, since=chunk.started_at or now)
        return None

    def take(self, table: TableName, run: RunId, current: SnapshotId | None, why: str) -> ChunkAttempt | None:
        """Claim the compaction that makes the snapshot after this one; None if another has it.

        Whoever had it before and let its lease run out is noted as gone.
        """
        catalog, queue = self.catalog, compaction_queue(table)
        # Not the name of the table itself: nothing of this lands in it.
        work = NewChunk(table=TableName(queue), predicate=canonical_json({"after": current, "why": why}))
        tally = catalog.chunks.tally(queue)
        # Numbered, so that a table that comes back to a snapshot can be compacted from there once more.
        name = f"{tally.done + tally.skipped} after {current}"
        catalog.chunks.plan(queue, name, [work], self.clock.now())
        before = {chunk.chunk: chunk.run for chunk in self._running(table)}
        while attempt := catalog.queue.claim(
            queue, run, self.node, self.clock.now(), ttl=self.lease, parallelism=1
        ):
            self._end_former(before.get(attempt.chunk), run)
            if json.loads(attempt.predicate)["after"] == catalog.snapshots.current_id(table) == current:
                return attempt
            # That snapshot is there already: its maker died before saying so, or came by another way.
            catalog.queue.give_back(attempt, self.clock.now())
            catalog.chunks.skip(queue, [attempt.chunk], self.clock.now())
        return None

    @contextmanager
    def held(self, attempt: ChunkAttempt) -> Iterator[None]:
        """Hold on to the claim as long as the block takes."""
        if self.keeper is not None:
            self.keeper.hold([attempt])
            try:
                yield
            finally:
                self.keeper.drop([attempt])
            return
        with LeaseKeeper(self.catalog, self.clock, self.lease, on_lost=lambda _: None) as keeper:
            keeper.hold([attempt])
            yield

    def insist(self, attempt: ChunkAttempt) -> None:
        """Raises LeaseLost if another has taken the claim over."""
        self.catalog.queue.renew(attempt, self.clock.now(), self.lease)

    def settle(self, attempt: ChunkAttempt, made: SnapshotManifest) -> None:
        """Note that the snapshot is there."""
        told = {"snapshot": made.snapshot, "rows_read": made.rows_read}
        commit = ChunkCommit(rows=made.rows, bytes=made.bytes, manifest=canonical_json(told))
        with suppress(LeaseLost):  # whoever took it over finds the snapshot, which counts
            self.catalog.queue.commit(attempt, commit, self.clock.now())

    def give_back(self, attempt: ChunkAttempt, error: ChunkError) -> None:
        """Let others have it at once."""
        self.catalog.queue.give_back(attempt, self.clock.now(), error)

    def _running(self, table: TableName) -> tuple[Chunk, ...]:
        return self.catalog.chunks.page(compaction_queue(table), status=ChunkStatus.RUNNING)

    def _end_former(self, former: RunId | None, run: RunId) -> None:
        if former is None or former == run:
            return
        gone = RunOutcome(
            status=RunStatus.FAILED,
            error_kind=ABANDONED,
            error_message=f"its lease ran out, and `{self.node}` took the compaction over",
        )
        with suppress(RunEnded):  # by itself, or by whoever saw first that it is gone
            self.catalog.runs.end(former, gone, self.clock.now())
