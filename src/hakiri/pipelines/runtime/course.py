"""The course of one run through its states."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from hakiri.core.errors import HakiriError
from hakiri.core.ids import PipelineId
from hakiri.pipelines.chunks.states import RunEvent, RunState, advance
from hakiri.pipelines.events import Listener, StateChanged


class Course:
    """Where a run is, and everything it came through, told to whoever listens. Safe for several threads.

    Several batches may be under way at once: the run is writing while any of them is on its way into the
    store, and reading while all of them still come from the source.
    """

    def __init__(self, pipeline: PipelineId, listen: Listener) -> None:
        self.state = RunState.IDLE
        self._pipeline = pipeline
        self._listen = listen
        self._lock = threading.Lock()
        self._reads = 0
        self._writes = 0

    def trigger(self) -> None:
        """Begin, or begin anew with the next tick, or with tables that somebody else has changed."""
        self.wind_up()
        self._happened(RunEvent.TRIGGER)

    def schema_is_ok(self) -> None:
        self._happened(RunEvent.SCHEMA_OK)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A batch is read within."""
        self._count(reads=1)
        try:
            yield
        finally:
            self._count(reads=-1)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """What was read comes into the store within."""
        self._count(writes=1)
        try:
            yield
        finally:
            self._count(writes=-1)

    def exhaust(self) -> None:
        """There is nothing more to read for this run. Without any batch the source gave an empty one."""
        if self.state is RunState.READING:
            self._happened(RunEvent.BATCH_READY)
        self._happened(RunEvent.SOURCE_EXHAUSTED)

    def wind_up(self) -> None:
        """Come to rest, with all that was read in the store. One that was cut off while looking stays so."""
        if self.state in (RunState.READING, RunState.WRITING):
            self.exhaust()
        if self.state is RunState.COMMITTING:
            self._happened(RunEvent.CURSOR_SAVED)

    def fail(self, error: HakiriError) -> None:
        """Wait for a decision. What could not be written is read once more: it counts as a failed read."""
        if self.state is RunState.DISCOVERING:
            self._happened(RunEvent.SCHEMA_INCOMPATIBLE)
            return
        if self.state is RunState.WRITING:
            self._happened(RunEvent.MORE_DATA)
        self._happened(RunEvent.TRANSIENT_EXHAUSTED if error.retryable else RunEvent.PERMANENT)

    def _count(self, *, reads: int = 0, writes: int = 0) -> None:
        with self._lock:
            self._reads += reads
            self._writes += writes
            if self._writes and self.state is RunState.READING:
                self._happened(RunEvent.BATCH_READY)
            elif self._reads and not self._writes and self.state is RunState.WRITING:
                self._happened(RunEvent.MORE_DATA)

    def _happened(self, event: RunEvent) -> None:
        before, self.state = self.state, advance(self.state, event)
        self._listen(StateChanged(pipeline=self._pipeline, before=before, after=self.state, why=event))
