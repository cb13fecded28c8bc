"""What is asked of a catalog as a whole: what it is, and whether it still keeps its promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Invariant(StrEnum):
    """The promises that every backend keeps, or says openly that it does not."""

    LINEARIZABLE_PIPELINES = "linearizable-pipelines"
    MONOTONIC_SCHEMAS = "monotonic-schemas"
    CHUNKS_ONCE = "chunks-once"
    APPEND_ONLY_LINEAGE = "append-only-lineage"
    ATOMIC_SNAPSHOTS = "atomic-snapshots"
    BOUNDED_REVOCATION = "bounded-revocation"


Divergences = Mapping[Invariant, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A promise that a live catalog breaks: which, where, and what was found.

    No promise is named when the database itself is damaged.
    """

    invariant: Invariant | None
    where: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogInfo:
    """What a catalog is. `location` holds no password."""

    backend: str
    location: str
    version: int
    newest_version: int
    divergences: Divergences
