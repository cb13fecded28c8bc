"""What tests of spans share: a clock, ids that count up, and a run as its events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count

from hakiri.catalog.contract.pipelines import Phase
from hakiri.core.ids import ChunkId, PipelineId, RunId, TableName
from hakiri.pipelines.events import ChunkCommitted, ChunkStarted, RunStarted

T0 = datetime(2026, 5, 12, 8, 14, tzinfo=UTC)
RUN = RunId("0196c2f3-7a40-7000-8000-00000000abcd")
TRACE = "0196c2f37a407000800000000000abcd"
ORDERS = PipelineId("orders")


def counting_entropy() -> Callable[[], bytes]:
    """Eight bytes that count up from 1, for ids that a test can know."""
    numbers = count(1)
    return lambda: next(numbers).to_bytes(8)


@dataclass
class Told:
    """Keeps what was told to a person."""

    texts: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, text: str, *, hint: str = "") -> None:
        self.texts.append((text, hint))


def run_started(
    pipeline: str = ORDERS, *, run: RunId = RUN, total: int = 3, done: int = 0, at: datetime = T0
) -> RunStarted:
    return RunStarted(
        pipeline=PipelineId(pipeline),
        run=run,
        phase=Phase.BACKFILLING,
        chunks_total=total,
        chunks_done=done,
        at=at,
    )


def chunk_started(
    chunk: int, pipeline: str = ORDERS, *, run: RunId = RUN, attempt: int = 1, at: datetime = T0
) -> ChunkStarted:
    return ChunkStarted(
        pipeline=PipelineId(pipeline),
        run=run,
        chunk=ChunkId(chunk),
        table=TableName("orders"),
        attempt=attempt,
        predicate=f"id in [{chunk}000, {chunk + 1}000)",
        at=at,
    )


def chunk_committed(
    chunk: int,
    pipeline: str = ORDERS,
    *,
    run: RunId = RUN,
    rows: int = 100,
    size: int = 2_000,
    attempts: int = 1,
    eta_seconds: float | None = 60.0,
    at: datetime = T0,
) -> ChunkCommitted:
    return ChunkCommitted(
        pipeline=PipelineId(pipeline),
        run=run,
        chunk=ChunkId(chunk),
        table=TableName("orders"),
        rows=rows,
        bytes=size,
        attempts=attempts,
        started_at=at,
        seconds=4.2,
        wait_seconds=1.25,
        predicate=f"id in [{chunk}000, {chunk + 1}000)",
        eta_seconds=eta_seconds,
    )
