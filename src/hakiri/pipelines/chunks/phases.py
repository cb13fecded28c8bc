"""The phases of a pipeline: planned, then pulled from the beginning, then kept up to date."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from hakiri.catalog.contract.pipelines import Phase
from hakiri.pipelines.chunks.errors import IllegalPhase
from hakiri.pipelines.chunks.streaming import is_caught_up

FIRST_PHASE = Phase.PLANNING


class PhaseEvent(StrEnum):
    """What moves a pipeline from phase to phase."""

    CHUNKS_DISCOVERED = "chunks discovered"
    CHUNK_COMPLETED = "chunk completed, more remain"
    CAUGHT_UP = "cursor caught up to now"
    TICK = "incremental tick"
    GAP_DETECTED = "gap detected"


TRANSITIONS = MappingProxyType(
    {
        (Phase.PLANNING, PhaseEvent.CHUNKS_DISCOVERED): Phase.BACKFILLING,
        (Phase.BACKFILLING, PhaseEvent.CHUNK_COMPLETED): Phase.BACKFILLING,
        (Phase.BACKFILLING, PhaseEvent.CAUGHT_UP): Phase.STREAMING,
        (Phase.STREAMING, PhaseEvent.TICK): Phase.STREAMING,
        (Phase.STREAMING, PhaseEvent.GAP_DETECTED): Phase.BACKFILLING,
    }
)


def advance_phase(phase: Phase, event: PhaseEvent) -> Phase:
    """The phase after the event. Raises IllegalPhase for one that cannot happen in this phase."""
    if (phase, event) not in TRANSITIONS:
        raise IllegalPhase(phase.value, event.value)
    return TRANSITIONS[phase, event]


def event_after_chunk(
    *, unfinished_chunks: int, read_at: datetime | None, now: datetime, sla: timedelta
) -> PhaseEvent:
    """What the completion of a chunk means to a pipeline that is backfilling.

    `read_at` is when the stream that is furthest behind was last read to its end. Chunks that failed are
    unfinished. If the last chunk took longer than the SLA, what came meanwhile is still to be read.
    """
    if unfinished_chunks == 0 and is_caught_up(read_at, now, sla):
        return PhaseEvent.CAUGHT_UP
    return PhaseEvent.CHUNK_COMPLETED
