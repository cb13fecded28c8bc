"""OpenTelemetry's tracer with ids of our making. Loaded with the first span."""

from __future__ import annotations

import threading
from collections.abc import Callable

from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Span as OtelSpan
from opentelemetry.trace import set_span_in_context

from hakiri.telemetry.ids import fresh_span_id, fresh_trace_id
from hakiri.telemetry.outlet import SCOPE, Attributes, Outlet


class TraceStarter:
    """Starts spans that go out through the outlet when they end."""

    def __init__(self, outlet: Outlet, entropy: Callable[[], bytes]) -> None:
        self._ids = _Ids(entropy)
        provider = TracerProvider(
            sampler=ALWAYS_ON, resource=outlet.resource, shutdown_on_exit=False, id_generator=self._ids
        )
        provider.add_span_processor(outlet.processor)
        self._tracer = provider.get_tracer(SCOPE)

    def start(
        self,
        name: str,
        attributes: Attributes,
        *,
        parent: OtelSpan | None,
        trace: str | None,
        nanoseconds: int,
    ) -> OtelSpan:
        # Never the ambient context: which span is above another is said, not guessed.
        context = Context() if parent is None else set_span_in_context(parent, Context())
        self._ids.asked.trace = trace
        return self._tracer.start_span(name, context, attributes=attributes, start_time=nanoseconds)


class _Ids(IdGenerator):
    """Ids from the given entropy. OpenTelemetry asks from the thread that starts the span."""

    def __init__(self, entropy: Callable[[], bytes]) -> None:
        self._entropy = entropy
        self.asked = threading.local()

    def generate_span_id(self) -> int:
        return fresh_span_id(self._entropy)

    def generate_trace_id(self) -> int:
        trace: str | None = self.asked.trace
        return fresh_trace_id(self._entropy) if trace is None else int(trace, 16)
