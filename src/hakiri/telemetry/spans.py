"""Spans: pieces of work with a beginning, an end, and what is to be known about them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self

from hakiri.core.clock import Clock
from hakiri.core.errors import HakiriError
from hakiri.core.ids import EPOCH
from hakiri.telemetry.outlet import Attributes, Metric, Outlet, Tell

if TYPE_CHECKING:
    from opentelemetry.trace import Span as OtelSpan

    from hakiri.telemetry.tracer import TraceStarter


class Span:
    """One piece of work under way. Safe to use from any thread; it does not know which is current."""

    def __init__(self, otel: OtelSpan, telemetry: Telemetry) -> None:
        self.otel = otel
        self._telemetry = telemetry

    @property
    def trace_id(self) -> str:
        """32 hexadecimal digits."""
        return f"{self.otel.get_span_context().trace_id:032x}"

    @property
    def span_id(self) -> str:
        """16 hexadecimal digits."""
        return f"{self.otel.get_span_context().span_id:016x}"

    def set(self, attributes: Attributes) -> None:
        """Add what is known by now; a name that is there already gets the new value."""
        self.otel.set_attributes(attributes)

    def note(self, event: str, attributes: Attributes | None = None) -> None:
        """Something happened inside the span, now."""
        self.otel.add_event(event, attributes, timestamp=self._telemetry.nanoseconds_now())

    def fail(self, kind: str, message: str) -> None:
        """Say that it went wrong: the code of the error and its message."""
        from opentelemetry.trace import StatusCode

        self.otel.set_attribute("error.type", kind)
        self.otel.set_status(StatusCode.ERROR, message)

    def record(self, error: BaseException) -> None:
        """Say that it went wrong; an error that nobody planned for leaves its traceback too."""
        if isinstance(error, HakiriError):
            self.fail(error.code, str(error))
        else:
            self.fail(type(error).__qualname__, str(error) or type(error).__qualname__)
            self.otel.record_exception(error, timestamp=self._telemetry.nanoseconds_now())

    def end(self) -> None:
        """It is over, now. A second call does nothing."""
        self._telemetry.end(self)


class Telemetry:
    """What a door opens once and closes at its end. Nothing is loaded or made before the first span."""

    def __init__(
        self, open_outlet: Callable[[], Outlet], *, clock: Clock, entropy: Callable[[], bytes], tell: Tell
    ) -> None:
        self._open_outlet = open_outlet
        self._clock = clock
        self._entropy = entropy
        self._tell = tell
        self._lock = threading.Lock()
        self._way_out: tuple[Outlet, TraceStarter] | None = None
        self._open_spans: dict[Span, None] = {}  # in the order in which they began
        self._is_closed = False

    def start(
        self,
        name: str,
        attributes: Attributes,
        *,
        parent: Span | None = None,
        trace: str | None = None,
        at: datetime | None = None,
    ) -> Span:
        """Begin a span: under `parent`, else at the top of `trace`, else of a new trace. End it yourself."""
        _, starter = self._opened()
        otel = starter.start(
            name,
            attributes,
            parent=None if parent is None else parent.otel,
            trace=trace,
            nanoseconds=self.nanoseconds_now() if at is None else _nanoseconds(at),
        )
        span = Span(otel, self)
        with self._lock:
            self._open_spans[span] = None
        return span

    @contextmanager
    def span(
        self, name: str, attributes: Attributes, *, parent: Span | None = None, trace: str | None = None
    ) -> Iterator[Span]:
        """A span as long as the block. An error that leaves the block is in the span, and goes on."""
        span = self.start(name, attributes, parent=parent, trace=trace)
        try:
            yield span
        except BaseException as error:
            span.record(error)
            raise
        finally:
            span.end()

    def end(self, span: Span) -> None:
        """The span is over, now. A second call does nothing."""
        with self._lock:
            is_open = span in self._open_spans
            self._open_spans.pop(span, None)
        if is_open:
            span.otel.end(self.nanoseconds_now())

    def measure(self, metric: Metric, amount: float, attributes: Attributes, *, trace: str) -> None:
        """Add to a metric."""
        outlet, _ = self._opened()
        outlet.measure(metric, amount, attributes, trace=trace)

    def finish(self, trace: str) -> None:
        """Nothing more will be told of this trace: its sums may be written."""
        outlet, _ = self._opened()
        outlet.finish(trace)

    def nanoseconds_now(self) -> int:
        return _nanoseconds(self._clock.now())

    def close(self) -> None:
        """End what is open as interrupted, send all, and say once what was lost; within seconds."""
        with self._lock:
            way_out, is_first = self._way_out, not self._is_closed
            self._is_closed = True
            open_spans = tuple(self._open_spans)
        if way_out is None or not is_first:
            return
        for span in reversed(open_spans):
            span.fail("interrupted", "it was interrupted")
            span.end()
        loss = way_out[0].close()
        if loss is not None:
            text, hint = loss
            self._tell(text, hint=hint)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _opened(self) -> tuple[Outlet, TraceStarter]:
        with self._lock:
            if self._way_out is None:
                from hakiri.telemetry.tracer import TraceStarter

                outlet = self._open_outlet()
                self._way_out = outlet, TraceStarter(outlet, self._entropy)
            return self._way_out


def _nanoseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1) * 1000
