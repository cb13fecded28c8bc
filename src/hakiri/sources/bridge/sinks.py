"""Where the rows of a read go inside of a task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import pyarrow as pa

from hakiri.sources.contract import Batch, Read
from hakiri.sources.errors import BadRecord
from hakiri.sources.rejects import Reject


class Sink(Protocol):
    """Takes what one read gives, in its order, in the process that reads."""

    def write(self, rows: pa.RecordBatch) -> None:
        """Take some rows."""

    def set_aside(self, rejects: Sequence[Reject]) -> None:
        """Take rows that do not fit."""

    def finish(self) -> str:
        """Make durable what was taken, and say what became of it, in words for whoever opened the sink."""

    def abandon(self) -> None:
        """Let go of everything: the read did not end well. Never fails."""


# Opens the sink of the read with this number. It travels to the task, so it is made of plain values.
OpenSink: TypeAlias = Callable[[int], Sink]


class Aside:
    """A sink for the rejects of one read alone, opened when there is one."""

    def __init__(self, open_sink: OpenSink | None, number: int) -> None:
        self._open_sink = open_sink
        self._number = number
        self._sink: Sink | None = None

    def take(self, rejects: Sequence[Reject]) -> None:
        if not rejects or self._open_sink is None:
            return
        self._sink = self._sink or self._open_sink(self._number)
        self._sink.set_aside(rejects)

    def finish(self) -> str | None:
        """What the sink says; None if there was no reject."""
        return None if self._sink is None else self._sink.finish()

    def abandon(self) -> None:
        if self._sink is not None:
            self._sink.abandon()


def without_surprise(batch: Batch, read: Read) -> Batch:
    """The batch. Raises BadRecord for rejects that the read did not ask for."""
    if batch.rejects and not read.sets_aside:
        first = batch.rejects[0]
        raise BadRecord(read.table, first.problem, column=first.column, value=first.value)
    return batch
