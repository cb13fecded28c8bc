"""The promises of a catalog in plain words."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from hakiri.catalog.contract.upkeep import Invariant

if TYPE_CHECKING:
    from collections.abc import Mapping

PROMISES: Mapping[Invariant, str] = MappingProxyType(
    {
        Invariant.LINEARIZABLE_PIPELINES: (
            "the writes to one pipeline happen in one order, the same for every reader"
        ),
        Invariant.MONOTONIC_SCHEMAS: (
            "the schema versions of a table are 1, 2, 3 and so on, and none is ever changed"
        ),
        Invariant.CHUNKS_ONCE: "an attempt at a chunk belongs to one worker, and one attempt wins",
        Invariant.APPEND_ONLY_LINEAGE: "lineage is added and read, never changed or deleted",
        Invariant.ATOMIC_SNAPSHOTS: "a snapshot is seen with every index it names, or not at all",
        Invariant.BOUNDED_REVOCATION: (
            "revocation epochs only grow, and a reader knows a new one within a bounded time"
        ),
    }
)
