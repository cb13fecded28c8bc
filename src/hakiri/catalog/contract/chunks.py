"""Chunks: the units of work of a pipeline, planned once and done once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.lineage import Edge
from hakiri.catalog.contract.schemas import SchemaStep
from hakiri.core.ids import ChunkId, NodeId, PipelineId, RunId, TableName


class ChunkStatus(StrEnum):
    """The states of a chunk."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """Chunks that were planned together in the place of others: those with the ids from `first` to `last`.

    Only the last of them knows which the `old` ones are.
    """

    first: ChunkId
    last: ChunkId
    old: tuple[ChunkId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reread:
    """That a chunk reads what was read before: why, since when somebody wants it, and which runs read it.

    `replacement` is what it is a part of if it takes the place of other chunks; one that goes on where such a
    chunk was broken off has the same, and an id behind it. Chunks of earlier versions do not have it.
    """

    reason: str
    asked_at: datetime
    runs: tuple[RunId, ...]
    replacement: Replacement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewChunk:
    """A piece of a table to read; the predicate is JSON that the catalog does not look into."""

    table: TableName
    predicate: str
    reread: Reread | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One chunk as it stands."""

    pipeline: PipelineId
    chunk: ChunkId
    table: TableName
    predicate: str
    status: ChunkStatus
    attempts: int
    run: RunId | None
    holder: NodeId | None
    leased_until: datetime | None
    seq: int | None
    started_at: datetime | None
    completed_at: datetime | None
    winning_attempt: str | None
    cursor_committed: str | None
    rows: int | None
    bytes: int | None
    manifest: str | None
    error_kind: str | None
    error_message: str | None
    superseded_by: ChunkId | None
    reason: str | None = None
    """Why it was superseded."""
    successors: int | None = None
    """How many came in its place: that which superseded it, and those with the ids just before."""
    reread: Reread | None = None
    """Set when it reads what was read before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkAttempt:
    """One try at one chunk by one node. Its number is its fence; its directory is never shared.

    `seq` grows with every claim in the catalog, and `claimed_at` never goes back within a pipeline, whatever
    the clocks of the nodes do: both go into the rows, so that the newest row is known.
    """

    pipeline: PipelineId
    chunk: ChunkId
    table: TableName
    predicate: str
    run: RunId
    node: NodeId
    number: int
    nonce: str
    seq: int
    claimed_at: datetime
    leased_until: datetime
    reread: Reread | None = None

    @property
    def place(self) -> str:
        """Where the attempt writes, below its run: `<node>/attempt-<n>`, as `winning_attempt` records it."""
        return f"{self.node}/attempt-{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkCommit:
    """Everything that becomes true when a chunk is done, all of it at once.

    `manifest` is the JSON of the attempt's `_manifest.json`; `cursor` is written for the stream, which is the
    chunk's table unless another is named, if no later claim wrote one already; where it does not move the
    stream it is only noted on the chunk. `schema` is the step the table's schema takes.
    """

    rows: int
    bytes: int
    manifest: str
    cursor: str | None = None
    stream: TableName | None = None
    moves_stream: bool = True
    schema: SchemaStep | None = None
    edges: tuple[Edge, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkError:
    """Why an attempt did not make it."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkTally:
    """How many chunks of a pipeline are in which state, and what the done ones brought."""

    pending: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0
    skipped: int = 0
    superseded: int = 0
    rows: int = 0
    bytes: int = 0

    @property
    def total(self) -> int:
        """The chunks that count for progress: all but the superseded ones."""
        return self.pending + self.running + self.done + self.failed + self.skipped


class Chunks(Protocol):
    """The plan of a pipeline: which chunks there are and what became of them."""

    def plan(
        self,
        pipeline: PipelineId,
        plan: str,
        chunks: Iterable[NewChunk],
        now: datetime,
        *,
        also: Collection[str] = (),
    ) -> int:
        """Add the chunks behind those there are, all or none, and say how many were added.

        `plan` names this plan, and `also` others that are made with it in one step, so that their chunks may
        stand mixed. If one of them was made before, nothing is added and the answer is 0.
        """

    def is_planned(self, pipeline: PipelineId, plan: str) -> bool:
        """Whether a plan of this name was made."""

    def reopen(self, pipeline: PipelineId, chunks: Sequence[ChunkId], now: datetime) -> int:
        """Make failed and skipped chunks pending again, and say how many were. Others are left alone."""

    def skip(self, pipeline: PipelineId, chunks: Sequence[ChunkId], now: datetime) -> int:
        """Give up pending and failed chunks, and say how many were. Others are left alone."""

    def supersede(
        self,
        pipeline: PipelineId,
        chunks: Sequence[ChunkId],
        reason: str,
        now: datetime,
        *,
        into: Sequence[NewChunk] | None = None,
        by: str | None = None,
    ) -> tuple[ChunkId, ...]:
        """Plan done chunks anew: each is kept as superseded, beside a new pending one with its predicate.

        With `into`, these come in place of copies, at least one, and the last of them supersedes all the old
        ones; each old one knows how many they are. Each new one knows the reason, and the runs that read the
        old ones whose place it takes. Returns the ids of the new ones, which follow each other in the order
        of the old or that of `into`. Chunks that are not done are left alone; if none is, nothing happens.
        With `by`, which is `operator:<id>`, `agent:<id>` or `auto`, it is in the audit log in the same step:
        the action is `rewind`, `before` and `after` are the ids of the old and of the new ones, as `[1,2]`,
        and the table is named if it is one.
        """

    def get(self, pipeline: PipelineId, chunk: ChunkId) -> Chunk | None:
        """One chunk."""

    def page(
        self,
        pipeline: PipelineId,
        *,
        status: ChunkStatus | None = None,
        after: ChunkId | None = None,
        limit: int = 1000,
    ) -> tuple[Chunk, ...]:
        """Chunks by id, from the one behind `after` on."""

    def recent(self, pipeline: PipelineId, *, limit: int = 50) -> tuple[Chunk, ...]:
        """Done chunks, the one that was completed last first."""

    def landed(
        self, table: TableName, *, after: tuple[PipelineId, ChunkId] | None = None, limit: int = 1000
    ) -> tuple[Chunk, ...]:
        """Every chunk of a table that was ever done, superseded or not, by pipeline and id.

        From the one behind `after` on, at a cost that does not grow with the number of other chunks.
        """

    def version(self, table: TableName) -> int:
        """A number that grows with every change of what `landed` answers for the table, and only then."""

    def tally(self, pipeline: PipelineId) -> ChunkTally:
        """The counts, at a cost that does not grow with the number of chunks."""


class ChunkQueue(Protocol):
    """Work on chunks. No attempt is ever given to two workers, and only the latest attempt can commit."""

    def claim(
        self,
        pipeline: PipelineId,
        run: RunId,
        node: NodeId,
        now: datetime,
        *,
        ttl: timedelta,
        parallelism: int | None = None,
        under: Lease | None = None,
    ) -> ChunkAttempt | None:
        """Take the chunk with the lowest id that is pending, or whose lease ran out at `now`.

        None when there is none, or when `parallelism` chunks of the pipeline are being worked on. Raises
        LeaseRequired or LeaseLost as the cursor kind demands.
        """

    def claim_some(
        self,
        pipeline: PipelineId,
        run: RunId,
        node: NodeId,
        now: datetime,
        *,
        ttl: timedelta,
        limit: int,
        parallelism: int | None = None,
        under: Lease | None = None,
        tables: Collection[TableName] | None = None,
    ) -> tuple[ChunkAttempt, ...]:
        """Take up to `limit` chunks of one table in one step, those with the lowest ids, in their order.

        The table is that of the lowest chunk that `claim` might take, among `tables` if given. No more are
        taken than `parallelism` leaves. Raises LeaseRequired or LeaseLost as the cursor kind demands.
        """

    def renew(self, attempt: ChunkAttempt, now: datetime, ttl: timedelta) -> ChunkAttempt:
        """Hold on to the chunk. Raises LeaseLost when a later attempt has it or it is done."""

    def renew_some(
        self, attempts: Sequence[ChunkAttempt], now: datetime, ttl: timedelta
    ) -> tuple[ChunkAttempt, ...]:
        """Hold on to those chunks that are not lost, in one step, and return these in their order."""

    def commit(
        self, attempt: ChunkAttempt, commit: ChunkCommit, now: datetime, under: Lease | None = None
    ) -> None:
        """Make this attempt the winner, with everything in `commit`, in one step.

        The same attempt twice is one commit. Raises LeaseLost when a later attempt has the chunk or another
        one won, SchemaMoved when the schema step is based on an old version; then nothing has changed.
        """

    def commit_some(
        self,
        commits: Sequence[tuple[ChunkAttempt, ChunkCommit]],
        now: datetime,
        under: Lease | None = None,
    ) -> None:
        """Make several attempts of one pipeline winners in one step, each as `commit` does, or none of them.

        Raises what `commit` raises for the first of them that it refuses; then nothing has changed.
        """

    def give_back(
        self, attempt: ChunkAttempt, now: datetime, error: ChunkError | None = None, *, retry: bool = True
    ) -> None:
        """Stop working on it: pending again, or failed until someone decides when `retry` is off.

        Does nothing when the chunk was lost already.
        """

    def release_node(self, node: NodeId, now: datetime) -> tuple[RunId, ...]:
        """Let others have at once what a node held that is gone: its chunks and its leases.

        In every pipeline in which it left a run open, one after the other. Returns these runs, by id, for the
        caller to end. A node that was not gone after all loses its attempts.
        """
