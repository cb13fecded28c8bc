"""What a run stands on: everything that comes from outside, the same for all pipelines of a call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from hakiri.catalog import Catalog
from hakiri.catalog.contract.leases import LEASE_TTL
from hakiri.core.clock import Clock
from hakiri.core.ids import NodeId, RunId, TableName, fresh_entropy, new_uuid7
from hakiri.manifest import Project
from hakiri.pipelines.events import Listener
from hakiri.pipelines.runtime.sessions import Sessions
from hakiri.pipelines.runtime.steps import Reached, unwatched
from hakiri.store.layout import StoreLayout
from hakiri.store.reading import VisibleFiles, visible_files
from hakiri.telemetry import Telemetry

# How many Spark jobs one process has in flight: one that computes while another waits for its source.
JOBS_AT_ONCE = 2
# How many chunks one process works on at once when nobody says, joined ones included.
CHUNKS_AT_ONCE = 64
# How many rows of a source that is walked by its own tokens make one chunk.
SEGMENT_ROWS = 100_000


class Stop:
    """The wish to end early, seen by every thread that works or waits."""

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def is_asked(self) -> bool:
        return self._event.is_set()

    def ask(self) -> None:
        self._event.set()

    def wait(self, seconds: float) -> bool:
        """Wait that long, or until a stop is asked for; whether it was."""
        return self._event.wait(seconds)


def fresh_run(clock: Clock) -> RunId:
    """A new id for a run; it sorts by time."""
    return RunId(f"run-{new_uuid7(clock.now(), fresh_entropy())}")


def _untraced(_: RunId) -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where runs happen, and who hears of them."""

    project: Project
    layout: StoreLayout
    catalog: Catalog
    sessions: Sessions
    node: NodeId
    env: Mapping[str, str]
    clock: Clock
    listen: Listener
    lease: timedelta = LEASE_TTL
    reached: Reached = unwatched
    advertised: str | None = None
    new_run: Callable[[Clock], RunId] = fresh_run
    trace_of: Callable[[RunId], str | None] = _untraced
    chunks_at_once: int = CHUNKS_AT_ONCE
    jobs_at_once: int = JOBS_AT_ONCE
    segment_rows: int = SEGMENT_ROWS
    stop: Stop = field(default_factory=Stop)
    telemetry: Telemetry | None = None

    @property
    def nodes(self) -> Path:
        """Where the processes that work on this store are known."""
        return self.layout.nodes

    def find_files(self, table: TableName) -> VisibleFiles | None:
        """What a reader of a table reads now; None for a table that the store does not have."""
        return visible_files(self.layout, self.catalog, table)
