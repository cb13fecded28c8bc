from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from hakiri.catalog.contract.pipelines import Phase
from hakiri.pipelines.chunks.errors import IllegalPhase
from hakiri.pipelines.chunks.phases import FIRST_PHASE, PhaseEvent, advance_phase, event_after_chunk

T0 = datetime(2026, 5, 12, tzinfo=UTC)
SLA = timedelta(minutes=15)
# As the document draws it.
DRAWN = {
    (Phase.PLANNING, PhaseEvent.CHUNKS_DISCOVERED): Phase.BACKFILLING,
    (Phase.BACKFILLING, PhaseEvent.CHUNK_COMPLETED): Phase.BACKFILLING,
    (Phase.BACKFILLING, PhaseEvent.CAUGHT_UP): Phase.STREAMING,
    (Phase.STREAMING, PhaseEvent.TICK): Phase.STREAMING,
    (Phase.STREAMING, PhaseEvent.GAP_DETECTED): Phase.BACKFILLING,
}


@pytest.mark.spec("HP-098")
@pytest.mark.spec("HP-103")
@pytest.mark.parametrize(("phase", "event"), DRAWN, ids=lambda each: each.value)
def test_a_pipeline_moves_as_drawn(phase: Phase, event: PhaseEvent) -> None:
    assert advance_phase(phase, event) is DRAWN[phase, event]


@pytest.mark.spec("HP-098")
@pytest.mark.parametrize(
    ("phase", "event"), sorted(set(product(Phase, PhaseEvent)) - set(DRAWN)), ids=lambda each: each.value
)
def test_a_pipeline_moves_in_no_other_way(phase: Phase, event: PhaseEvent) -> None:
    with pytest.raises(IllegalPhase) as refused:
        advance_phase(phase, event)

    assert str(refused.value) == f"a pipeline that is {phase} cannot meet `{event}`"


def test_a_pipeline_begins_with_planning() -> None:
    assert FIRST_PHASE is Phase.PLANNING


@pytest.mark.spec("HP-101")
@pytest.mark.parametrize(
    ("unfinished", "read_at", "event"),
    [
        (0, T0, PhaseEvent.CAUGHT_UP),
        (0, T0 - SLA, PhaseEvent.CAUGHT_UP),
        (0, T0 - SLA - timedelta(seconds=1), PhaseEvent.CHUNK_COMPLETED),
        (0, None, PhaseEvent.CHUNK_COMPLETED),
        (1, T0, PhaseEvent.CHUNK_COMPLETED),
    ],
)
def test_a_backfill_is_over_when_nothing_is_left_and_its_end_was_read_lately(
    unfinished: int, read_at: datetime | None, event: PhaseEvent
) -> None:
    assert event_after_chunk(unfinished_chunks=unfinished, read_at=read_at, now=T0, sla=SLA) is event
