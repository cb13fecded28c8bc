"""Calls of a catalog as values: to record them, to print them, and to ask a model about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hakiri.catalog.contract import Catalog
from hakiri.catalog.errors import (
    CatalogError,
    LeaseLost,
    LeaseRequired,
    MissingSidecars,
    PhaseMoved,
    RunEnded,
    RunExists,
    RunUnknown,
    SchemaMoved,
    SnapshotExists,
    SnapshotStale,
)
from hakiri.core.ids import PipelineId

REFUSALS = (
    LeaseLost,
    LeaseRequired,
    MissingSidecars,
    PhaseMoved,
    RunEnded,
    RunExists,
    RunUnknown,
    SchemaMoved,
    SnapshotExists,
    SnapshotStale,
)
# Words for people, which every backend may choose for itself.
_WORDS = frozenset({"hint", "places", "what", "why"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error that the contract provides for: which, and what it says besides words."""

    code: str
    details: tuple[tuple[str, object], ...] = ()

    @classmethod
    def of(cls, error: CatalogError) -> Refusal:
        details = {name: value for name, value in vars(error).items() if name not in _WORDS}
        return cls(error.code, tuple(sorted(details.items())))

    def __str__(self) -> str:
        return f"{self.code}({_listed(dict(self.details))})"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of one role: `Call("queue", "claim", {"pipeline": …, …})`."""

    role: str
    method: str
    arguments: Mapping[str, Any]

    @property
    def pipeline(self) -> PipelineId:
        """The pipeline whose state it is about, by name or as a part of another argument."""
        for name in ("attempt", "lease", "cursor"):
            if name in self.arguments:
                return self.arguments[name].pipeline  # type: ignore[no-any-return]
        if "attempts" in self.arguments:
            return self.arguments["attempts"][0].pipeline  # type: ignore[no-any-return]
        if "commits" in self.arguments:
            return self.arguments["commits"][0][0].pipeline  # type: ignore[no-any-return]
        return self.arguments["pipeline"]  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return f"{self.role}.{self.method}({_listed(self.arguments)})"


def perform(catalog: Catalog, call: Call) -> object:
    """Make the call and give its answer, or its refusal. Other errors pass."""
    try:
        return getattr(getattr(catalog, call.role), call.method)(**call.arguments)
    except REFUSALS as error:
        return Refusal.of(error)


def _listed(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={_shown(value)}" for name, value in values.items())


def _shown(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else repr(value)
