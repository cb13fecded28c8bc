"""OpenTelemetry: spans and metrics of what runs, sent by OTLP or written to files that a person can open.

The names are loaded when they are first used, and OpenTelemetry itself with the first span: a command that
runs nothing never pays for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hakiri.telemetry.config import OtlpConfig, otlp_of
    from hakiri.telemetry.ids import trace_id_of
    from hakiri.telemetry.opening import open_telemetry
    from hakiri.telemetry.outlet import Attributes, Metric, Outlet, Tell
    from hakiri.telemetry.spans import Span, Telemetry
    from hakiri.telemetry.trace_files import Trace, TraceEvent, TraceSpan, read_trace, trace_path

_HOMES = {
    "Attributes": "outlet",
    "Metric": "outlet",
    "OtlpConfig": "config",
    "Outlet": "outlet",
    "Span": "spans",
    "Telemetry": "spans",
    "Tell": "outlet",
    "Trace": "trace_files",
    "TraceEvent": "trace_files",
    "TraceSpan": "trace_files",
    "open_telemetry": "opening",
    "otlp_of": "config",
    "read_trace": "trace_files",
    "trace_id_of": "ids",
    "trace_path": "trace_files",
}

__all__ = [
    "Attributes",
    "Metric",
    "OtlpConfig",
    "Outlet",
    "Span",
    "Telemetry",
    "Tell",
    "Trace",
    "TraceEvent",
    "TraceSpan",
    "open_telemetry",
    "otlp_of",
    "read_trace",
    "trace_id_of",
    "trace_path",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
