"""What a run tells while it works: plain values, passed to one listener in the order in which they happen.

A listener is called from every thread that works on chunks, several at once, and the run waits for its
answer: it must be quick, and safe to call from many threads. Ids, counts and texts only, never a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from datetime import datetime

    from hakiri.catalog.contract.pipelines import Phase
    from hakiri.catalog.contract.runs import RunStatus
    from hakiri.core.ids import ChunkId, PipelineId, RunId, TableName
    from hakiri.pipelines.chunks.states import RunEvent, RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """A run began. `chunks_done` of the `chunks_total` there are were done by earlier runs."""

    pipeline: PipelineId
    run: RunId
    phase: Phase
    chunks_total: int
    chunks_done: int = 0
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """The source was asked what it has."""

    pipeline: PipelineId
    tables: tuple[TableName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChanged:
    """A table's schema took a step; each change is one line for a person."""

    pipeline: PipelineId
    table: TableName
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunksPlanned:
    """Chunks were added. After `RunStarted` they come on top of its `chunks_total`."""

    pipeline: PipelineId
    table: TableName
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkStarted:
    """An attempt at a chunk began. `predicate` is for people: `created_at in [2024-01-01, 2024-01-31)`."""

    pipeline: PipelineId
    run: RunId
    chunk: ChunkId
    table: TableName
    attempt: int
    predicate: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkAdvanced:
    """How far the attempt that is under way has come: totals since it began, not steps."""

    pipeline: PipelineId
    chunk: ChunkId
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Something is held back for `seconds` from now on; no chunk means the whole pipeline.

    `why` goes on after «waiting 3 s for»: `the source's 60/min`, `the next try`, `2 writes/s`.
    """

    pipeline: PipelineId
    chunk: ChunkId | None = None
    seconds: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkCommitted:
    """A chunk is done: the catalog says so.

    `seconds` is what the winning attempt took, `wait_seconds` the part of it that was waiting. `eta_seconds`
    is when the rest of the pipeline's chunks will be done, if that can be said yet. `reason` is why it read
    what was read before, if it did.
    """

    pipeline: PipelineId
    run: RunId
    chunk: ChunkId
    table: TableName
    rows: int
    bytes: int
    attempts: int
    started_at: datetime
    seconds: float
    wait_seconds: float
    predicate: str
    eta_seconds: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkGivenBack:
    """An attempt did not make it. With `will_retry` the next one begins `in_seconds` from now."""

    pipeline: PipelineId
    chunk: ChunkId
    error_kind: str
    message: str
    will_retry: bool
    in_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseChanged:
    """A pipeline came further: from backfilling to streaming, say."""

    pipeline: PipelineId
    before: Phase
    after: Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanged:
    """A run goes on to something else: from reading to writing, say."""

    pipeline: PipelineId
    before: RunState
    after: RunState
    why: RunEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """A run is over. `rows` and `bytes` are what it committed; `error` is the message if it failed."""

    pipeline: PipelineId
    run: RunId
    status: RunStatus
    rows: int
    bytes: int
    seconds: float
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Readers see what was committed: the views of these tables are written anew."""

    tables: tuple[TableName, ...]


Event: TypeAlias = (
    RunStarted
    | Discovered
    | SchemaChanged
    | ChunksPlanned
    | ChunkStarted
    | ChunkAdvanced
    | Waiting
    | ChunkCommitted
    | ChunkGivenBack
    | PhaseChanged
    | StateChanged
    | RunEnded
    | Published
)
Listener: TypeAlias = Callable[[Event], None]


def tell_all(*listeners: Listener) -> Listener:
    """One listener that passes every event on to each of these, in their order."""

    def tell(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return tell
