"""The states of one run."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType

from hakiri.pipelines.chunks.errors import IllegalTransition


class RunState(StrEnum):
    """What a run is doing."""

    IDLE = "idle"
    DISCOVERING = "discovering"
    READING = "reading"
    WRITING = "writing"
    COMMITTING = "committing"
    FAILED = "failed"


class RunEvent(StrEnum):
    """What happens to a run. An empty source gives one batch, without rows."""

    TRIGGER = "trigger"
    SCHEMA_OK = "schema OK"
    SCHEMA_INCOMPATIBLE = "schema incompatible"
    BATCH_READY = "batch ready"
    MORE_DATA = "more data"
    SOURCE_EXHAUSTED = "source exhausted"
    CURSOR_SAVED = "cursor saved, snapshot durable"
    TRANSIENT_EXHAUSTED = "transient failure, retries exhausted"
    PERMANENT = "permanent failure"
    DECISION = "operator or agent decision"


TRANSITIONS = MappingProxyType(
    {
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
)


def advance(state: RunState, event: RunEvent) -> RunState:
    """The state after the event. Raises IllegalTransition for one that cannot happen in this state."""
    if (state, event) not in TRANSITIONS:
        raise IllegalTransition(state.value, event.value)
    return TRANSITIONS[state, event]
