"""Runs: what was tried, when, by whom, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from hakiri.catalog.contract.leases import Lease
from hakiri.core.ids import NodeId, PipelineId, RunId

ABANDONED = "abandoned"
"""The kind of error of a run whose process was gone before it could end it."""


class RunStatus(StrEnum):
    """The states of a run. A run that ended never changes again."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    PARTIAL = "partial"
    SKIPPED = "skipped"

    @property
    def has_ended(self) -> bool:
        return self not in (RunStatus.PENDING, RunStatus.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of one pipeline on one node."""

    run: RunId
    pipeline: PipelineId
    node: NodeId
    status: RunStatus
    started_at: datetime
    ended_at: datetime | None = None
    rows: int | None = None
    bytes: int | None = None
    error_kind: str | None = None
    error_message: str | None = None
    trace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How a run ended."""

    status: RunStatus
    rows: int = 0
    bytes: int = 0
    error_kind: str | None = None
    error_message: str | None = None

    def __post_init__(self) -> None:
        if not self.status.has_ended:
            raise ValueError(f"`{self.status}` is no way for a run to end")


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedRun:
    """A run that was recorded, and the lease it works under if its pipeline needs one.

    Its status is `running`, or `skipped` when another node holds the lease; a skipped run is over.
    """

    run: Run
    lease: Lease | None

    @property
    def is_skipped(self) -> bool:
        return self.run.status is RunStatus.SKIPPED


class Runs(Protocol):
    """Every run there was. Rows are added and ended, never changed after that, never removed."""

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
        """Record a new run, and take the lease with it when the pipeline's cursor kind needs one.

        If another holds the lease the run is recorded as skipped. Raises RunExists.
        """

    def end(self, run: RunId, outcome: RunOutcome, now: datetime) -> Run:
        """Record how it ended. The same outcome twice is one; raises RunEnded when another is recorded."""

    def get(self, run: RunId) -> Run | None:
        """One run."""

    def latest(
        self, pipeline: PipelineId | None = None, *, before: RunId | None = None, limit: int = 100
    ) -> tuple[Run, ...]:
        """Runs by id, the newest first; those older than `before` if given."""

    def abandoned(self, pipeline: PipelineId, now: datetime, *, ttl: timedelta) -> tuple[Run, ...]:
        """Runs that nobody seems to work on, by id: running, and started longer than `ttl` ago.

        None of them holds a chunk or the pipeline's lease that has not expired at `now`. A lease that was
        acquired apart from a run is held by every run of its node. A run that was adopted is among them,
        since here nobody works on it; the replica that recorded it may, and so it alone ends it.
        """

    def adopt(self, run: Run, now: datetime) -> bool:
        """Take over a run that another replica recorded; False if it is known. A union: nothing is lost.

        A run known as unfinished is finished by its ended form, never the other way round.
        """
