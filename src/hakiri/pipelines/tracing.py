"""Events of a run as spans and metrics: a span a run, below it a span a chunk."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import datetime

from hakiri.catalog.contract.runs import RunStatus
from hakiri.core.ids import ChunkId, PipelineId, RunId
from hakiri.pipelines.events import (
    ChunkAdvanced,
    ChunkCommitted,
    ChunkGivenBack,
    ChunksPlanned,
    ChunkStarted,
    Discovered,
    Event,
    PhaseChanged,
    Published,
    RunEnded,
    RunStarted,
    SchemaChanged,
    StateChanged,
    Waiting,
)
from hakiri.telemetry import Attributes, Metric, Span, Telemetry, trace_id_of

ROWS = Metric(name="hakiri.rows", kind="counter", unit="{row}", description="rows that were committed")
BYTES = Metric(name="hakiri.bytes", kind="counter", unit="By", description="bytes that were committed")
CHUNKS = Metric(
    name="hakiri.chunks", kind="counter", unit="{chunk}", description="chunks that were committed"
)
RETRIES = Metric(
    name="hakiri.retries", kind="counter", unit="{try}", description="attempts to be tried again"
)
FAILURES = Metric(name="hakiri.failures", kind="counter", unit="{chunk}", description="chunks that failed")
WAITS = Metric(name="hakiri.wait", kind="histogram", unit="s", description="waits for budgets and next tries")
DURATIONS = Metric(name="hakiri.chunk.duration", kind="histogram", unit="s", description="attempts that won")


@dataclass(slots=True)
class _TracedRun:
    """The spans of one run that are open."""

    run: RunId
    span: Span | None
    chunks: dict[ChunkId, Span] = field(default_factory=dict)


class TelemetryListener:
    """Tells telemetry what a run tells. A chunk has one span, whatever number of attempts it takes.

    Attempts that did not make it are events in that span. The trace is the one that `trace_id_of` gives for
    the run, also in a process that works on chunks of a run that began elsewhere.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._lock = threading.Lock()
        self._runs: dict[PipelineId, _TracedRun] = {}

    def __call__(self, event: Event) -> None:
        with self._lock:
            self._tell(event)

    def _tell(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._run_started(event)
            case ChunkStarted():
                self._chunk_started(event)
            case ChunkCommitted():
                self._chunk_committed(event)
            case ChunkGivenBack():
                self._chunk_given_back(event)
            case Waiting():
                self._measure(event.pipeline, WAITS, event.seconds, {"hakiri.wait.reason": event.why})
            case Discovered():
                self._note(event.pipeline, "discovered", {"tables": ", ".join(event.tables)})
            case SchemaChanged():
                facts = {"hakiri.table": event.table, "changes": "; ".join(event.changes)}
                self._note(event.pipeline, "schema changed", facts)
            case ChunksPlanned():
                facts = {"hakiri.table": event.table, "chunks": str(event.count)}
                self._note(event.pipeline, "chunks planned", facts)
            case PhaseChanged():
                facts = {"before": str(event.before), "after": str(event.after)}
                self._note(event.pipeline, "phase changed", facts)
            case RunEnded():
                self._run_ended(event)
            case ChunkAdvanced() | Published() | StateChanged():
                pass  # for the eye: what comes of them is in the events that follow

    def _run_started(self, event: RunStarted) -> None:
        attributes = {
            "hakiri.pipeline_id": event.pipeline,
            "hakiri.run_id": event.run,
            "hakiri.phase": str(event.phase),
        }
        span = self._telemetry.start("hakiri.run", attributes, trace=trace_id_of(event.run), at=event.at)
        self._runs[event.pipeline] = _TracedRun(event.run, span)

    def _chunk_started(self, event: ChunkStarted) -> None:
        span = self._chunk_span(event, since=event.at)
        span.set({"hakiri.chunk.attempts": event.attempt})

    def _chunk_committed(self, event: ChunkCommitted) -> None:
        span = self._chunk_span(event, since=event.started_at)
        span.set(
            {
                "hakiri.chunk.rows": event.rows,
                "hakiri.chunk.bytes": event.bytes,
                "hakiri.chunk.attempts": event.attempts,
                "hakiri.chunk.duration_ms": round(event.seconds * 1000),
                "hakiri.chunk.wait_ms": round(event.wait_seconds * 1000),
            }
        )
        if event.eta_seconds is not None:
            span.set({"hakiri.backfill.eta": round(event.eta_seconds)})
        if event.reason is not None:
            span.set({"hakiri.rewind.reason": event.reason})
        span.end()
        del self._runs[event.pipeline].chunks[event.chunk]
        measured = {ROWS: event.rows, BYTES: event.bytes, CHUNKS: 1, DURATIONS: event.seconds}
        for metric, amount in measured.items():
            self._measure(event.pipeline, metric, amount, {"hakiri.table": event.table})

    def _chunk_span(self, event: ChunkStarted | ChunkCommitted, *, since: datetime) -> Span:
        """The chunk's span, begun if it is not there yet."""
        run = self._runs.get(event.pipeline)
        if run is None or run.run != event.run:
            run = self._runs[event.pipeline] = _TracedRun(event.run, None)
        if event.chunk not in run.chunks:
            attributes: Attributes = {
                "hakiri.pipeline_id": event.pipeline,
                "hakiri.chunk_id": event.chunk,
                "hakiri.run_id": event.run,
                "hakiri.chunk.predicate": event.predicate,
            }
            run.chunks[event.chunk] = self._telemetry.start(
                "hakiri.chunk", attributes, parent=run.span, trace=trace_id_of(event.run), at=since
            )
        return run.chunks[event.chunk]

    def _chunk_given_back(self, event: ChunkGivenBack) -> None:
        self._measure(event.pipeline, RETRIES if event.will_retry else FAILURES, 1, {})
        run = self._runs.get(event.pipeline)
        span = run.chunks.get(event.chunk) if run else None
        if run is None or span is None:
            return
        facts = {"error.type": event.error_kind, "error.message": event.message}
        span.note("attempt given back", facts)
        if not event.will_retry:
            span.fail(event.error_kind, event.message)
            span.end()
            del run.chunks[event.chunk]

    def _run_ended(self, event: RunEnded) -> None:
        run = self._runs.pop(event.pipeline, None)
        if run is None:
            return
        for span in run.chunks.values():  # another run will take them up
            span.fail("unfinished", "the run ended before the chunk was done")
            span.end()
        if run.span is not None:
            run.span.set(
                {
                    "hakiri.run.status": str(event.status),
                    "hakiri.run.rows": event.rows,
                    "hakiri.run.bytes": event.bytes,
                    "hakiri.run.duration_ms": round(event.seconds * 1000),
                }
            )
            if event.status in (RunStatus.FAILED, RunStatus.PARTIAL):
                run.span.fail(str(event.status), event.error or str(event.status))
            run.span.end()
        self._telemetry.finish(trace_id_of(run.run))

    def _note(self, pipeline: PipelineId, what: str, facts: Attributes) -> None:
        run = self._runs.get(pipeline)
        if run is not None and run.span is not None:
            run.span.note(what, facts)

    def _measure(self, pipeline: PipelineId, metric: Metric, amount: float, facts: Attributes) -> None:
        run = self._runs.get(pipeline)
        if run is not None:
            attributes = {"hakiri.pipeline_id": pipeline, **facts}
            self._telemetry.measure(metric, amount, attributes, trace=trace_id_of(run.run))
