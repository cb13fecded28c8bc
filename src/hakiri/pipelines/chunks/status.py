"""How a pipeline stands, in the form that people, programs and agents are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hakiri.catalog.contract.chunks import ChunkTally
from hakiri.catalog.contract.pipelines import Phase
from hakiri.core.grammar import Rate
from hakiri.core.ids import PipelineId
from hakiri.pipelines.chunks.progress import DoneWork, Throughput, eta_seconds, throughput

_WHOLE_PCT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkCounts:
    """Chunks by state; together they are the total. What was given up or replaced does not count."""

    done: int
    running: int
    pending: int
    failed: int = 0

    @property
    def total(self) -> int:
        return self.done + self.running + self.pending + self.failed


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStatus:
    """One pipeline as it stands. `eta_seconds` is None where unknown, the budget where there is none."""

    pipeline_id: PipelineId
    phase: Phase
    chunks: ChunkCounts
    throughput: Throughput
    eta_seconds: int | None
    started_at: datetime | None
    rate_budget: Rate | None
    rate_budget_consumed_pct: int | None

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values. Chunks that failed, and wait for a decision, are told when there are any."""
        counts = {"done": self.chunks.done, "running": self.chunks.running, "pending": self.chunks.pending}
        if self.chunks.failed:
            counts["failed"] = self.chunks.failed
        return {
            "pipeline_id": self.pipeline_id,
            "phase": self.phase.value,
            "chunks": {**counts, "total": self.chunks.total},
            "throughput": {
                "rows_per_sec": round(self.throughput.rows_per_sec),
                "bytes_per_sec": round(self.throughput.bytes_per_sec),
            },
            "eta_seconds": self.eta_seconds,
            "started_at": None if self.started_at is None else _moment_text(self.started_at),
            "rate_budget": None if self.rate_budget is None else self.rate_budget.text,
            "rate_budget_consumed_pct": self.rate_budget_consumed_pct,
        }


def status_of(
    pipeline: PipelineId,
    phase: Phase,
    tally: ChunkTally,
    *,
    recent: Sequence[DoneWork] = (),
    started_at: datetime | None = None,
    rate_budget: Rate | None = None,
    calls_in_period: int = 0,
) -> PipelineStatus:
    """The status from what the catalog knows.

    `calls_in_period` is how many calls were granted within the latest period of the rate budget.
    """
    consumed = None
    if rate_budget is not None:
        consumed = min(_WHOLE_PCT, round(calls_in_period * _WHOLE_PCT / rate_budget.count))
    return PipelineStatus(
        pipeline_id=pipeline,
        phase=phase,
        chunks=ChunkCounts(
            done=tally.done, running=tally.running, pending=tally.pending, failed=tally.failed
        ),
        throughput=throughput(recent),
        eta_seconds=eta_seconds(tally.running + tally.pending, recent),
        started_at=started_at,
        rate_budget=rate_budget,
        rate_budget_consumed_pct=consumed,
    )


def _moment_text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"
