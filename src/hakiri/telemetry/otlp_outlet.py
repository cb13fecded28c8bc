"""The way out to a collector, by OTLP over HTTP. It never makes a run wait: what does not fit is counted."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Counter, Histogram
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from hakiri.telemetry.config import OtlpConfig, OtlpTarget
from hakiri.telemetry.outlet import SCOPE, Attributes, Metric

MOST_WAITING_SPANS = 4096
SEND_EVERY_MILLISECONDS = 1000
MEASURE_EVERY_MILLISECONDS = 10_000
CLOSE_WITHIN_SECONDS = 2.0


class OtlpOutlet:
    """Sends spans and metrics from threads of its own."""

    def __init__(
        self, config: OtlpConfig, *, project: str, close_within_seconds: float = CLOSE_WITHIN_SECONDS
    ) -> None:
        self._close_within_seconds = close_within_seconds
        _silence_library()
        self.resource = Resource.create({"service.name": config.service, "hakiri.project": project})
        self.processor = _Outbox(config.traces)
        self._measures = _Measures(config.metrics, self.resource)

    def measure(self, metric: Metric, amount: float, attributes: Attributes, *, trace: str) -> None:
        del trace  # a collector sums over runs; an id of a run would make a series of its own each time
        self._measures.add(metric, amount, attributes)

    def finish(self, trace: str) -> None:
        """A collector gets everything as it comes."""

    def close(self) -> tuple[str, str] | None:
        enders = [_in_background(self.processor.shutdown), _in_background(self._measures.shutdown)]
        for ender in enders:
            ender.join(self._close_within_seconds / len(enders))
        if any(ender.is_alive() for ender in enders):
            self.processor.give_up()
            self._measures.give_up()
        lost = [*self.processor.losses(), *self._measures.losses()]
        if not lost:
            return None
        return (
            f"{' and '.join(lost)} did not reach the collector",
            "see that it listens there, or unset `OTEL_EXPORTER_OTLP_ENDPOINT` to have traces in files",
        )


class _Outbox(SpanProcessor):
    """Sends ended spans in batches and knows how many did not arrive, whatever the reason."""

    def __init__(self, target: OtlpTarget | None) -> None:
        self._target = target
        self._sending = _SpanSending(target) if target else None
        self._batches = (
            BatchSpanProcessor(
                self._sending,
                max_queue_size=MOST_WAITING_SPANS,
                schedule_delay_millis=SEND_EVERY_MILLISECONDS,
            )
            if self._sending
            else None
        )
        self._lock = threading.Lock()
        self._ended = 0

    def on_end(self, span: ReadableSpan) -> None:
        if self._batches is not None:
            with self._lock:
                self._ended += 1
            self._batches.on_end(span)

    def shutdown(self) -> None:
        if self._batches is not None:
            self._batches.shutdown()  # type: ignore[no-untyped-call]

    def give_up(self) -> None:
        """Try no more, so that no thread goes on after the run."""
        if self._sending is not None:
            self._sending.shutdown()

    def losses(self) -> list[str]:
        if self._target is None or self._sending is None:
            return []
        lost = self._ended - self._sending.arrived
        return [f"{lost} of {self._ended} spans for `{self._target.endpoint}`"] if lost else []


class _SpanSending(SpanExporter):
    def __init__(self, target: OtlpTarget) -> None:
        self._exporter = OTLPSpanExporter(
            endpoint=target.endpoint, headers=dict(target.headers), timeout=target.timeout_seconds
        )
        self.arrived = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.arrived += len(spans)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()  # type: ignore[no-untyped-call]


class _MetricSending(OTLPMetricExporter):
    """Knows whether its latest report arrived; each holds all that was measured, so only that one counts."""

    has_arrived = True

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **options: Any
    ) -> MetricExportResult:
        self.has_arrived = False
        result = super().export(metrics_data, timeout_millis, **options)
        self.has_arrived = result is MetricExportResult.SUCCESS
        return result


class _Measures:
    """The instruments of OpenTelemetry, made when first used."""

    def __init__(self, target: OtlpTarget | None, resource: Resource) -> None:
        self._target = target
        self._instruments: dict[str, Counter | Histogram] = {}
        self._lock = threading.Lock()
        if target is None:
            return
        self._sending = _MetricSending(
            endpoint=target.endpoint, headers=dict(target.headers), timeout=target.timeout_seconds
        )
        reader = PeriodicExportingMetricReader(
            self._sending, export_interval_millis=MEASURE_EVERY_MILLISECONDS
        )
        self._provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)

    def add(self, metric: Metric, amount: float, attributes: Attributes) -> None:
        if self._target is None:
            return
        with self._lock:
            instrument = self._instruments.get(metric.name)
            if instrument is None:
                instrument = self._instruments[metric.name] = self._made(metric)
        if isinstance(instrument, Counter):
            instrument.add(amount, attributes)
        else:
            instrument.record(amount, attributes)

    def shutdown(self) -> None:
        if self._target is not None:
            self._provider.shutdown()

    def give_up(self) -> None:
        if self._target is not None:
            self._sending.shutdown()

    def losses(self) -> list[str]:
        if self._target is None or self._sending.has_arrived:
            return []
        return [f"the last metrics for `{self._target.endpoint}`"]

    def _made(self, metric: Metric) -> Counter | Histogram:
        meter = self._provider.get_meter(SCOPE)
        make = meter.create_counter if metric.kind == "counter" else meter.create_histogram
        return make(metric.name, unit=metric.unit, description=metric.description)


def _silence_library() -> None:
    """The library logs every failed try, and what no handler takes Python prints into the display."""
    logger = logging.getLogger("opentelemetry")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())


def _in_background(work: Callable[[], None]) -> threading.Thread:
    """Do it in a thread that does not keep the process alive."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread
