"""What the board knows: every event changes it a little. No clock, no screen; `now` is in seconds."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TypeAlias

from hakiri.catalog.contract.pipelines import Phase
from hakiri.core.ids import ChunkId, PipelineId, TableName
from hakiri.pipelines.events import (
    ChunkAdvanced,
    ChunkCommitted,
    ChunkGivenBack,
    ChunksPlanned,
    ChunkStarted,
    Event,
    PhaseChanged,
    RunEnded,
    RunStarted,
    Waiting,
)

ChunkKey: TypeAlias = tuple[PipelineId, ChunkId]

RATE_WINDOW_SECONDS = 30.0
SAMPLE_EVERY_SECONDS = 0.25
FREE_SLOT_SECONDS = 1.0
SHOWN_WAIT_SECONDS = 1.0
"""Shorter waits are part of working; to show them would only flicker."""


class Meter:
    """How much came per second lately, from totals that grow."""

    def __init__(self, now: float) -> None:
        self._samples = deque([(now, 0, 0)])

    def note(self, now: float, rows: int, bytes_: int) -> None:
        if len(self._samples) > 1 and now - self._samples[-2][0] < SAMPLE_EVERY_SECONDS:
            self._samples.pop()
        self._samples.append((now, rows, bytes_))
        while now - self._samples[1][0] > RATE_WINDOW_SECONDS:
            self._samples.popleft()

    def rates(self, now: float) -> tuple[float, float]:
        """Rows and bytes per second. What an attempt loses when it is given back never counts below zero."""
        since, first_rows, first_bytes = self._samples[0]
        _, rows, bytes_ = self._samples[-1]
        seconds = now - since
        if seconds <= 0:
            return 0.0, 0.0
        return max(rows - first_rows, 0) / seconds, max(bytes_ - first_bytes, 0) / seconds


@dataclass(slots=True)
class Hold:
    """Something waits until a moment, for a reason."""

    until: float
    why: str


@dataclass(slots=True)
class ChunkView:
    """A chunk in flight, or one that will be tried again."""

    pipeline: PipelineId
    chunk: ChunkId
    table: TableName
    attempt: int
    predicate: str
    began: float
    rows: int = 0
    bytes: int = 0
    hold: Hold | None = None
    is_given_back: bool = False


@dataclass(slots=True)
class PipelineView:
    """A pipeline that runs."""

    pipeline: PipelineId
    phase: Phase
    began: float
    chunks_total: int
    chunks_done: int
    meter: Meter
    committed: int = 0
    rows: int = 0
    bytes: int = 0
    retries: int = 0
    failed: int = 0
    hold: Hold | None = None
    done_at: float | None = None
    has_moved: bool = False
    """Whether it reached another phase in this run."""
    chunks: dict[ChunkId, ChunkView] = field(default_factory=dict)

    @property
    def rows_so_far(self) -> int:
        return self.rows + sum(chunk.rows for chunk in self.chunks.values())

    @property
    def bytes_so_far(self) -> int:
        return self.bytes + sum(chunk.bytes for chunk in self.chunks.values())

    def seconds_left(self, now: float) -> float | None:
        """Until it is done; None while nobody can tell, as when it took longer than it should have."""
        return None if self.done_at is None or self.done_at <= now else self.done_at - now


@dataclass(slots=True)
class Slot:
    """A line for a chunk. `free_since` is when the chunk that had it was done."""

    key: ChunkKey
    free_since: float | None = None


@dataclass(slots=True)
class BoardState:
    """All that runs, and what became of the rest."""

    began: float
    running: dict[PipelineId, PipelineView] = field(default_factory=dict)
    slots: list[Slot] = field(default_factory=list)
    ended: set[PipelineId] = field(default_factory=set)
    ended_rows: int = 0

    @property
    def rows_so_far(self) -> int:
        return self.ended_rows + sum(view.rows_so_far for view in self.running.values())

    def apply(self, event: Event, now: float) -> None:
        """Take in what happened at `now`. Chunks of a pipeline that does not run here are not shown."""
        match event:
            case RunStarted():
                self.ended.discard(event.pipeline)
                self.running[event.pipeline] = PipelineView(
                    pipeline=event.pipeline,
                    phase=event.phase,
                    began=now,
                    chunks_total=event.chunks_total,
                    chunks_done=event.chunks_done,
                    meter=Meter(now),
                )
            case RunEnded():
                self.running.pop(event.pipeline, None)
                self.ended.add(event.pipeline)
                self.ended_rows += event.rows
            case (
                ChunkStarted()
                | ChunkAdvanced()
                | ChunkCommitted()
                | ChunkGivenBack()
                | ChunksPlanned()
                | PhaseChanged()
                | Waiting()
            ):
                view = self.running.get(event.pipeline)
                if view is not None:
                    _change(view, event, now)
                    view.meter.note(now, view.rows_so_far, view.bytes_so_far)
            case _:
                pass  # the other events are lines, or nothing to look at

    def settle(self, now: float) -> None:
        """Forget the waits that are over; a chunk whose next try is due is somebody's again."""
        for view in self.running.values():
            if view.hold is not None and view.hold.until <= now:
                view.hold = None
            for chunk in tuple(view.chunks.values()):
                if chunk.hold is not None and chunk.hold.until <= now:
                    chunk.hold = None
                if chunk.is_given_back and chunk.hold is None:
                    del view.chunks[chunk.chunk]

    def chunks_in_slots(self, most: int, now: float) -> tuple[list[ChunkView | None], int]:
        """At most so many chunks, each in the line where it was before, and how many more there are.

        A line that became free is None for a moment: the next chunk takes it, and the others do not jump.
        """
        views = {
            (chunk.pipeline, chunk.chunk): chunk
            for view in self.running.values()
            for chunk in view.chunks.values()
        }
        slots = self.slots[:most]
        shown = {slot.key for slot in slots}
        waiting = [key for key in views if key not in shown]
        for slot in slots:
            if slot.key in views:
                slot.free_since = None
            elif waiting:
                slot.key, slot.free_since = waiting.pop(0), None
            elif slot.free_since is None:
                slot.free_since = now
        slots += [Slot(waiting.pop(0)) for _ in range(min(most - len(slots), len(waiting)))]
        self.slots = [
            slot for slot in slots if slot.free_since is None or now - slot.free_since < FREE_SLOT_SECONDS
        ]
        return [views.get(slot.key) for slot in self.slots], len(waiting)


def _change(view: PipelineView, event: Event, now: float) -> None:
    match event:
        case ChunksPlanned():
            view.chunks_total += event.count
        case ChunkStarted():
            view.chunks[event.chunk] = ChunkView(
                pipeline=event.pipeline,
                chunk=event.chunk,
                table=event.table,
                attempt=event.attempt,
                predicate=event.predicate,
                began=now,
            )
        case ChunkAdvanced():
            chunk = view.chunks.get(event.chunk)
            if chunk is not None:
                chunk.rows, chunk.bytes = event.rows, event.bytes
        case Waiting() if event.seconds >= SHOWN_WAIT_SECONDS:
            hold = Hold(now + event.seconds, event.why)
            if event.chunk is None:
                view.hold = hold
            elif event.chunk in view.chunks:
                view.chunks[event.chunk].hold = hold
        case ChunkCommitted():
            view.chunks.pop(event.chunk, None)
            view.chunks_done += 1
            # Somebody else may have planned more meanwhile: another worker, or an operator with a rewind.
            view.chunks_total = max(view.chunks_total, view.chunks_done)
            view.committed += 1
            view.rows += event.rows
            view.bytes += event.bytes
            view.done_at = None if event.eta_seconds is None else now + event.eta_seconds
        case ChunkGivenBack():
            _give_back(view, event, now)
        case PhaseChanged():
            view.phase, view.has_moved = event.after, True


def _give_back(view: PipelineView, event: ChunkGivenBack, now: float) -> None:
    chunk = view.chunks.get(event.chunk)
    if not event.will_retry:
        view.failed += 1
        view.chunks.pop(event.chunk, None)
        return
    view.retries += 1
    if chunk is not None:
        chunk.rows = chunk.bytes = 0
        chunk.is_given_back = True
        chunk.hold = Hold(now + event.in_seconds, f"the next try: {event.message}")
