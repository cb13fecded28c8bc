"""How fast chunks come in, and how long the rest will take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

# The chunks that count as recent. Fewer would jump with every chunk, more would not see a slower source.
RECENT_CHUNKS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneWork:
    """What one chunk brought, and when it was worked on."""

    rows: int
    bytes: int
    started_at: datetime
    completed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """What comes in a second while chunks are being worked on; 0 if none was yet."""

    rows_per_sec: float = 0.0
    bytes_per_sec: float = 0.0
    chunks_per_sec: float = 0.0


def throughput(recent: Sequence[DoneWork]) -> Throughput:
    """What came in while any of the latest chunks was worked on; the time in which nobody worked is left out.

    Chunks that are worked on at once share their time.
    """
    latest = sorted(recent, key=lambda work: work.completed_at)[-RECENT_CHUNKS:]
    seconds = _busy(latest).total_seconds()
    if seconds <= 0:
        return Throughput()
    return Throughput(
        rows_per_sec=sum(work.rows for work in latest) / seconds,
        bytes_per_sec=sum(work.bytes for work in latest) / seconds,
        chunks_per_sec=len(latest) / seconds,
    )


def eta_seconds(remaining: int, recent: Sequence[DoneWork]) -> int | None:
    """How long the remaining chunks will take at the pace of the latest ones; None if nobody can tell."""
    if remaining <= 0:
        return 0
    pace = throughput(recent).chunks_per_sec
    return math.ceil(remaining / pace) if pace > 0 else None


def _busy(works: Iterable[DoneWork]) -> timedelta:
    """For how long at least one chunk was worked on."""
    total, until = timedelta(), None
    for work in sorted(works, key=lambda work: work.started_at):
        begin = work.started_at if until is None else max(work.started_at, until)
        if work.completed_at > begin:
            total += work.completed_at - begin
            until = work.completed_at
    return total
