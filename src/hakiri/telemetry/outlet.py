"""Where spans and measurements go, as the rest of the room sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import SpanProcessor

SCOPE = "hakiri"
"""The name under which OpenTelemetry files what comes from here."""

Attributes: TypeAlias = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """Something that is measured: a `counter` is summed up, a `histogram` also counted and spread out."""

    name: str
    kind: Literal["counter", "histogram"]
    unit: str
    description: str


class Outlet(Protocol):
    """A way out. No method raises or makes a run wait because the other end does not answer."""

    @property
    def resource(self) -> Resource:
        """What all spans say of the process they come from."""

    @property
    def processor(self) -> SpanProcessor:
        """Takes the spans that have ended."""

    def measure(self, metric: Metric, amount: float, attributes: Attributes, *, trace: str) -> None:
        """Add a measurement that was made while this trace was written."""

    def finish(self, trace: str) -> None:
        """Nothing more belongs to this trace."""

    def close(self) -> tuple[str, str] | None:
        """Send what is left, within seconds; what was lost and what to do about it, if anything was."""


class Tell(Protocol):
    """Says something to a person, with what to do about it."""

    def __call__(self, text: str, *, hint: str = "") -> None: ...
