"""What commands report that run pipelines, and that look at runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from hakiri.cli.reports.failure import FilePlace


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedRow:
    """What became of one pipeline; there is no run if it was left alone, or could not be started.

    - `need`: why it was run, or why not: `new`, `changed`, `changed_and_due`, `unfinished`, `due`, `news`,
      `asked`, `nothing`, or `waits` for a decision.
    - `rows`, `bytes`, `chunks`: what this run committed; `chunks_left`: what is still to do, of which other
      processes have `chunks_elsewhere` under way.
    - `quarantined`: how many rows this run has set aside.
    - `places`: where in the manifest the error is, if it is there.
    """

    id: str
    need: str
    run: str | None
    status: str | None
    phase: str | None
    rows: int
    bytes: int
    chunks: int
    chunks_left: int
    chunks_elsewhere: int
    quarantined: int
    error_code: str | None
    error: str | None
    hint: str | None
    places: tuple[FilePlace, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyReport:
    pipelines: tuple[AppliedRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRow:
    """Why a pipeline waits for a decision; `at` is when it failed."""

    kind: str
    message: str
    at: datetime
    run: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WayOnRow:
    """A command that helps, and what it does."""

    command: str
    does: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """One run; it has not ended while `ended_at` is null. `short` is the end of its id, enough to name it."""

    run: str
    short: str
    pipeline: str
    node: str
    status: str
    started_at: datetime
    ended_at: datetime | None
    seconds: float | None
    rows: int | None
    bytes: int | None
    error_kind: str | None
    error_message: str | None
    trace: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReport:
    """How one pipeline stands; without an id there is one such line for each pipeline.

    - `chunks`: `done`, `running`, `pending` and `total`, and `failed` when there are any.
    - `eta_seconds`: null where nobody can tell.
    - `rate_budget_consumed_pct`: calls of the latest period of the budget; null without a budget.
    - `light`: `ok`, `running`, `partial`, `failed` or `new`.
    - `rows`, `bytes`: what the done chunks brought. `skipped` counts the chunks that were given up.
    - `failure`: why it waits for a decision; a run of a changed spec does not wait.
    - `ways_on`: what can be done about it, or about a last run that did not make it.
    """

    pipeline_id: str
    phase: str
    chunks: Mapping[str, int]
    throughput: Mapping[str, int]
    eta_seconds: int | None
    started_at: str | None
    rate_budget: str | None
    rate_budget_consumed_pct: int | None
    light: Literal["ok", "running", "partial", "failed", "new"]
    rows: int
    bytes: int
    skipped: int
    is_stalled: bool
    failure: FailureRow | None
    ways_on: tuple[WayOnRow, ...]
    last_run: RunFacts | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsReport:
    """Runs, the newest first."""

    runs: tuple[RunFacts, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """Where the rows that were read went: read = filtered + written + quarantined."""

    read: int
    filtered: int
    written: int
    quarantined: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChunkRow:
    """One chunk that the run worked on. `folder` is where the attempt that won has written, in the store."""

    chunk: int
    table: str
    reads: str
    predicate: Any
    status: str
    attempts: int
    counts: RowCounts | None
    rows: int | None
    bytes: int | None
    seconds: float | None
    winning_attempt: str | None
    folder: str | None
    error_kind: str | None
    error_message: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeRow:
    """A step of lineage to or from another run, and why it was taken."""

    run: str
    kind: str
    record: str | None
    reason: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowChunk:
    """A chunk that took long, and how much of that was waiting, if the trace tells."""

    chunk: int
    seconds: float
    wait_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """Everything that is known of one run. `trace_file` is there while nobody deleted it."""

    run: RunFacts
    counts: RowCounts
    chunks: tuple[RunChunkRow, ...]
    slowest: tuple[SlowChunk, ...]
    parents: tuple[EdgeRow, ...]
    children: tuple[EdgeRow, ...]
    trace_file: str | None
