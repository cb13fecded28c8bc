"""How a door opens telemetry."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from hakiri.core.clock import Clock
from hakiri.core.errors import MissingExtra
from hakiri.core.ids import fresh_entropy
from hakiri.telemetry.config import OtlpConfig
from hakiri.telemetry.outlet import Outlet, Tell
from hakiri.telemetry.spans import Telemetry

EXPORTER = "opentelemetry.exporter.otlp.proto.http"


def open_telemetry(
    *,
    project: str,
    traces: Path,
    otlp: OtlpConfig | None,
    clock: Clock,
    tell: Tell,
    entropy: Callable[[], bytes] = fresh_entropy,
) -> Telemetry:
    """Telemetry to the collector, or without one to files in `traces`; use it in a `with` statement.

    `tell` is called at most once, on closing, if something did not arrive. Raises MissingExtra when a
    collector is named and the library that speaks to it is not installed.
    """
    if otlp is not None and not _can_send():
        raise MissingExtra("sending traces to a collector", extra="otlp")

    def open_outlet() -> Outlet:
        if otlp is not None:
            from hakiri.telemetry.otlp_outlet import OtlpOutlet

            return OtlpOutlet(otlp, project=project)
        from hakiri.telemetry.file_outlet import FileOutlet

        return FileOutlet(traces, project=project)

    return Telemetry(open_outlet, clock=clock, entropy=entropy, tell=tell)


def _can_send() -> bool:
    try:
        return find_spec(EXPORTER) is not None
    except ModuleNotFoundError:  # a package above it is missing
        return False
