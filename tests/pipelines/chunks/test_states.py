from __future__ import annotations

from itertools import product

import pytest

from hakiri.pipelines.chunks.errors import IllegalTransition
from hakiri.pipelines.chunks.states import RunEvent, RunState, advance

# As the document draws it.
DRAWN = {
    (RunState.IDLE, RunEvent.TRIGGER): RunState.DISCOVERING,
    (RunState.DISCOVERING, RunEvent.SCHEMA_OK): RunState.READING,
    (RunState.DISCOVERING, RunEvent.SCHEMA_INCOMPATIBLE): RunState.FAILED,
    (RunState.READING, RunEvent.BATCH_READY): RunState.WRITING,
    (RunState.WRITING, RunEvent.MORE_DATA): RunState.READING,
    (RunState.WRITING, RunEvent.SOURCE_EXHAUSTED): RunState.COMMITTING,
    (RunState.COMMITTING, RunEvent.CURSOR_SAVED): RunState.IDLE,
    (RunState.READING, RunEvent.TRANSIENT_EXHAUSTED): RunState.FAILED,
    (RunState.READING, RunEvent.PERMANENT): RunState.FAILED,
    (RunState.FAILED, RunEvent.DECISION): RunState.IDLE,
}


@pytest.mark.spec("HP-043")
@pytest.mark.parametrize(("state", "event"), DRAWN, ids=lambda each: each.name)
def test_a_run_moves_as_drawn(state: RunState, event: RunEvent) -> None:
    assert advance(state, event) is DRAWN[state, event]


@pytest.mark.spec("HP-043")
@pytest.mark.parametrize(
    ("state", "event"), sorted(set(product(RunState, RunEvent)) - set(DRAWN)), ids=lambda each: each.name
)
def test_a_run_moves_in_no_other_way(state: RunState, event: RunEvent) -> None:
    with pytest.raises(IllegalTransition) as refused:
        advance(state, event)

    assert str(refused.value) == f"a run in the state `{state}` cannot meet `{event}`"


def test_a_failed_run_waits_for_a_decision_and_for_nothing_else() -> None:
    assert [event for event in RunEvent if (RunState.FAILED, event) in DRAWN] == [RunEvent.DECISION]
