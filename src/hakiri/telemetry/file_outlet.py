"""The way out into files, for when no collector is configured."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.trace import StatusCode, format_span_id, format_trace_id

from hakiri.core.ids import EPOCH
from hakiri.telemetry.outlet import Attributes, Metric
from hakiri.telemetry.trace_files import TraceEvent, TraceSpan, append_line, line_of, trace_path


class FileOutlet:
    """Writes every span the moment it ends, and the sums of a trace when it is finished."""

    def __init__(self, folder: Path, *, project: str) -> None:
        self._folder = folder
        self._lock = Lock()
        self._sums: dict[str, dict[str, dict[str, float]]] = {}
        self._lost = 0
        self._why = ""
        self.resource = Resource({"service.name": "hakiri", "hakiri.project": project})
        self.processor = _Writer(self)

    def write(self, span: ReadableSpan) -> None:
        line = line_of(_readable(span))
        self._append(str(line["trace"]), line)

    def measure(self, metric: Metric, amount: float, attributes: Attributes, *, trace: str) -> None:
        del attributes  # a file is of one run, so its sums need no telling apart
        with self._lock:
            sums = self._sums.setdefault(trace, {})
            seen = sums.get(metric.name)
            if metric.kind == "counter":
                sums[metric.name] = {"sum": amount + (seen["sum"] if seen else 0)}
            elif seen is None:
                sums[metric.name] = {"count": 1, "sum": amount, "min": amount, "max": amount}
            else:
                sums[metric.name] = {
                    "count": seen["count"] + 1,
                    "sum": seen["sum"] + amount,
                    "min": min(seen["min"], amount),
                    "max": max(seen["max"], amount),
                }

    def finish(self, trace: str) -> None:
        with self._lock:
            sums = self._sums.pop(trace, None)
        if sums is not None:
            self._append(trace, {"trace": trace, "metrics": dict(sorted(sums.items()))})

    def close(self) -> tuple[str, str] | None:
        for trace in tuple(self._sums):
            self.finish(trace)
        if not self._lost:
            return None
        return (
            f"{self._lost} lines of traces could not be written to `{self._folder}`: {self._why}",
            "make room or give the right to write there; the runs themselves are not touched by it",
        )

    def _append(self, trace: str, line: dict[str, object]) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            append_line(trace_path(self._folder, trace), line)
        except OSError as error:
            # A run is worth more than its trace: what is missing is told once, at the end.
            with self._lock:
                self._lost += 1
                self._why = error.strerror or str(error)


class _Writer(SpanProcessor):
    def __init__(self, outlet: FileOutlet) -> None:
        self._outlet = outlet

    def on_end(self, span: ReadableSpan) -> None:
        self._outlet.write(span)


def _readable(span: ReadableSpan) -> TraceSpan:
    context = span.get_span_context()
    if context is None or span.start_time is None or span.end_time is None:
        raise TypeError(f"the span `{span.name}` has not ended")
    has_failed = span.status.status_code is StatusCode.ERROR
    return TraceSpan(
        name=span.name,
        trace=format_trace_id(context.trace_id),
        span=format_span_id(context.span_id),
        parent=format_span_id(span.parent.span_id) if span.parent else None,
        start=_moment(span.start_time),
        end=_moment(span.end_time),
        error=(span.status.description or "") if has_failed else None,
        attributes=dict(span.attributes or {}),  # type: ignore[arg-type]  # we set plain values only
        events=tuple(
            TraceEvent(
                name=event.name,
                at=_moment(event.timestamp),
                attributes=dict(event.attributes or {}),  # type: ignore[arg-type]  # as above
            )
            for event in span.events
        ),
    )


def _moment(nanoseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=nanoseconds // 1000)
