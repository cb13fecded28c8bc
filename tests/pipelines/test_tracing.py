"""What a run tells becomes spans and metrics: a span a run, below it a span a chunk."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tests.support.tracing import (
    ORDERS,
    RUN,
    T0,
    TRACE,
    Told,
    chunk_committed,
    chunk_started,
    counting_entropy,
    run_started,
)

from hakiri.catalog.contract.pipelines import Phase
from hakiri.catalog.contract.runs import RunStatus
from hakiri.core.clock import FixedClock
from hakiri.core.ids import ChunkId, TableName
from hakiri.pipelines.events import (
    ChunkAdvanced,
    ChunkGivenBack,
    ChunksPlanned,
    Discovered,
    Event,
    PhaseChanged,
    Published,
    RunEnded,
    SchemaChanged,
    Waiting,
)
from hakiri.pipelines.tracing import TelemetryListener
from hakiri.telemetry import Attributes, Metric, Telemetry, open_telemetry, read_trace, trace_path


@dataclass
class Kept:
    """An outlet that keeps what it is given."""

    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    resource: Resource = field(default_factory=Resource.get_empty)
    measured: list[tuple[str, float, Attributes, str]] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)

    @property
    def processor(self) -> SpanProcessor:
        return SimpleSpanProcessor(self.exporter)

    def measure(self, metric: Metric, amount: float, attributes: Attributes, *, trace: str) -> None:
        self.measured.append((metric.name, amount, attributes, trace))

    def finish(self, trace: str) -> None:
        self.finished.append(trace)

    def close(self) -> None:
        return None

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def sum_of(self, metric: str) -> float:
        return sum(amount for name, amount, _, _ in self.measured if name == metric)


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(T0)


@pytest.fixture
def tell(kept: Kept, clock: FixedClock) -> Iterator[TelemetryListener]:
    with Telemetry(lambda: kept, clock=clock, entropy=counting_entropy(), tell=Told()) as telemetry:
        yield TelemetryListener(telemetry)


def given_back(chunk: int, *, will_retry: bool) -> ChunkGivenBack:
    return ChunkGivenBack(
        pipeline=ORDERS,
        chunk=ChunkId(chunk),
        error_kind="source.unavailable",
        message="the source answered 503",
        will_retry=will_retry,
        in_seconds=2.0,
    )


def run_ended(status: RunStatus = RunStatus.SUCCESS, *, error: str | None = None) -> RunEnded:
    return RunEnded(pipeline=ORDERS, run=RUN, status=status, rows=100, bytes=2_000, seconds=4.5, error=error)


def tell_all(tell: TelemetryListener, *events: Event) -> None:
    for event in events:
        tell(event)


@pytest.mark.spec("HP-139")
def test_a_chunk_is_one_span_with_the_attributes_of_the_specification(
    tell: TelemetryListener, kept: Kept, clock: FixedClock
) -> None:
    tell_all(tell, run_started(), chunk_started(7))
    clock.advance(timedelta(seconds=4.2))
    tell_all(tell, chunk_committed(7, attempts=1), run_ended())

    chunk, run = kept.spans
    assert chunk.name == "hakiri.chunk"
    assert chunk.attributes == {
        "hakiri.pipeline_id": "orders",
        "hakiri.chunk_id": 7,
        "hakiri.run_id": RUN,
        "hakiri.chunk.predicate": "id in [7000, 8000)",
        "hakiri.chunk.rows": 100,
        "hakiri.chunk.bytes": 2_000,
        "hakiri.chunk.attempts": 1,
        "hakiri.chunk.duration_ms": 4_200,
        "hakiri.chunk.wait_ms": 1_250,
        "hakiri.backfill.eta": 60,
    }
    assert run.context is not None
    assert chunk.parent is not None
    assert chunk.parent.span_id == run.context.span_id
    assert f"{run.context.trace_id:032x}" == TRACE
    start, end = int(T0.timestamp()) * 10**9, int(T0.timestamp() * 1000 + 4_200) * 10**6
    assert (chunk.start_time, chunk.end_time) == (start, end)


@pytest.mark.spec("HP-145")
def test_a_chunk_that_was_pulled_before_says_why_it_is_again(tell: TelemetryListener, kept: Kept) -> None:
    tell_all(tell, run_started(), replace(chunk_committed(7, attempts=1), reason="RT-481"), run_ended())

    assert dict(kept.spans[0].attributes or {})["hakiri.rewind.reason"] == "RT-481"


@pytest.mark.spec("HP-139")
def test_a_run_is_the_span_above_its_chunks(tell: TelemetryListener, kept: Kept) -> None:
    tell_all(
        tell,
        run_started(),
        Discovered(pipeline=ORDERS, tables=(TableName("orders"), TableName("items"))),
        SchemaChanged(pipeline=ORDERS, table=TableName("orders"), changes=("column `a` added", "b dropped")),
        ChunksPlanned(pipeline=ORDERS, table=TableName("orders"), count=2),
        ChunkAdvanced(pipeline=ORDERS, chunk=ChunkId(1), rows=1, bytes=2),
        PhaseChanged(pipeline=ORDERS, before=Phase.BACKFILLING, after=Phase.STREAMING),
        run_ended(),
        Published(tables=(TableName("orders"),)),
    )

    (run,) = kept.spans
    assert (run.name, run.parent, run.status.status_code) == ("hakiri.run", None, StatusCode.UNSET)
    assert run.attributes == {
        "hakiri.pipeline_id": "orders",
        "hakiri.run_id": RUN,
        "hakiri.phase": "backfilling",
        "hakiri.run.status": "success",
        "hakiri.run.rows": 100,
        "hakiri.run.bytes": 2_000,
        "hakiri.run.duration_ms": 4_500,
    }
    assert [(event.name, dict(event.attributes or {})) for event in run.events] == [
        ("discovered", {"tables": "orders, items"}),
        ("schema changed", {"hakiri.table": "orders", "changes": "column `a` added; b dropped"}),
        ("chunks planned", {"hakiri.table": "orders", "chunks": "2"}),
        ("phase changed", {"before": "backfilling", "after": "streaming"}),
    ]
    assert kept.finished == [TRACE]


@pytest.mark.spec("HP-140")
def test_every_chunk_tells_the_eta_that_was_known_with_it(tell: TelemetryListener, kept: Kept) -> None:
    tell(run_started(total=8))
    for chunk, eta in enumerate([70, 60, 100], start=1):
        tell(chunk_started(chunk))
        tell(chunk_committed(chunk, eta_seconds=eta))

    etas = [dict(span.attributes or {})["hakiri.backfill.eta"] for span in kept.spans]
    assert etas == [70, 60, 100]


def test_an_eta_that_nobody_knows_is_left_out(tell: TelemetryListener, kept: Kept) -> None:
    tell_all(tell, run_started(), chunk_started(1), chunk_committed(1, eta_seconds=None))

    assert "hakiri.backfill.eta" not in dict(kept.spans[0].attributes or {})


def test_attempts_that_failed_are_events_in_the_one_span(tell: TelemetryListener, kept: Kept) -> None:
    tell_all(
        tell,
        run_started(),
        chunk_started(7),
        given_back(7, will_retry=True),
        chunk_started(7, attempt=2),
        chunk_committed(7, attempts=2),
    )

    (chunk,) = kept.spans
    assert chunk.status.status_code is StatusCode.UNSET
    assert dict(chunk.attributes or {})["hakiri.chunk.attempts"] == 2
    assert [(event.name, dict(event.attributes or {})) for event in chunk.events] == [
        (
            "attempt given back",
            {"error.type": "source.unavailable", "error.message": "the source answered 503"},
        )
    ]
    assert (kept.sum_of("hakiri.retries"), kept.sum_of("hakiri.failures")) == (1, 0)


def test_a_chunk_that_is_given_up_is_a_span_that_failed(tell: TelemetryListener, kept: Kept) -> None:
    tell_all(
        tell,
        run_started(),
        chunk_started(7),
        given_back(7, will_retry=False),
        run_ended(RunStatus.FAILED, error="chunk 7 failed"),
    )

    chunk, run = kept.spans
    assert (chunk.status.status_code, chunk.status.description) == (
        StatusCode.ERROR,
        "the source answered 503",
    )
    assert dict(chunk.attributes or {})["error.type"] == "source.unavailable"
    assert (run.status.status_code, run.status.description) == (StatusCode.ERROR, "chunk 7 failed")
    assert (kept.sum_of("hakiri.retries"), kept.sum_of("hakiri.failures")) == (0, 1)


def test_a_chunk_that_is_open_when_its_run_ends_is_unfinished(tell: TelemetryListener, kept: Kept) -> None:
    tell_all(tell, run_started(), chunk_started(7), run_ended(RunStatus.PARTIAL))

    chunk, run = kept.spans
    assert chunk.status.description == "the run ended before the chunk was done"
    assert run.status.description == "partial"


def test_a_worker_that_did_not_see_the_run_begin_writes_to_the_same_trace(
    tell: TelemetryListener, kept: Kept
) -> None:
    tell_all(tell, chunk_started(7), chunk_committed(7), chunk_committed(8))

    assert [f"{span.context.trace_id:032x}" for span in kept.spans if span.context] == [TRACE, TRACE]
    assert [span.parent for span in kept.spans] == [None, None]


def test_rows_bytes_waits_and_durations_are_measured(tell: TelemetryListener, kept: Kept) -> None:
    tell_all(
        tell,
        run_started(),
        Waiting(pipeline=ORDERS, chunk=ChunkId(1), seconds=2.5, why="the source's 60/min"),
        chunk_committed(1),
        chunk_committed(2, rows=50),
        run_ended(),
        Waiting(pipeline=ORDERS, seconds=9, why="nothing: the run is over"),
    )

    assert {name: kept.sum_of(name) for name, *_ in kept.measured} == {
        "hakiri.wait": 2.5,
        "hakiri.rows": 150,
        "hakiri.bytes": 4_000,
        "hakiri.chunks": 2,
        "hakiri.chunk.duration": 8.4,
    }
    assert kept.measured[0] == (
        "hakiri.wait",
        2.5,
        {"hakiri.pipeline_id": "orders", "hakiri.wait.reason": "the source's 60/min"},
        TRACE,
    )
    assert kept.measured[1][2] == {"hakiri.pipeline_id": "orders", "hakiri.table": "orders"}


@pytest.mark.spec("HP-139")
def test_many_threads_write_one_file_with_every_chunk_once(tmp_path: Path, clock: FixedClock) -> None:
    with open_telemetry(
        project="shop", traces=tmp_path, otlp=None, clock=clock, tell=Told(), entropy=counting_entropy()
    ) as telemetry:
        tell = TelemetryListener(telemetry)
        tell(run_started(total=50))
        with ThreadPoolExecutor(8) as threads:
            for chunk in range(50):
                threads.submit(tell_all, tell, chunk_started(chunk), chunk_committed(chunk))
        tell(run_ended())

    trace = read_trace(trace_path(tmp_path, TRACE))
    *chunks, run = trace.spans
    assert sorted(int(chunk.attributes["hakiri.chunk_id"]) for chunk in chunks) == list(range(50))
    assert {chunk.parent for chunk in chunks} == {run.span}
    assert trace.metrics is not None
    assert trace.metrics["hakiri.rows"] == {"sum": 5_000}
    assert trace.unreadable_lines == 0
