"""What a run has done so far, and how long the rest will take."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

from hakiri.catalog.contract.chunks import ChunkTally
from hakiri.core.clock import Clock
from hakiri.pipelines.runtime.commits import Finished

# How many of the latest commits say how fast it goes.
_RECENT = 50


class RunTally:
    """Rows, bytes and chunks that were committed, and when. Safe for several threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.monotonic()
        self._lock = threading.Lock()
        self._commits: deque[float] = deque(maxlen=_RECENT)
        self.rows = 0
        self.bytes = 0
        self.chunks = 0
        self.quarantined = 0
        self.filtered = 0

    def add(self, finished: Iterable[Finished]) -> None:
        with self._lock:
            for each in finished:
                self.chunks += 1
                self.quarantined += each.counts.quarantined
                self.filtered += each.counts.filtered
                if not each.is_unchanged:
                    self.rows += each.counts.written
                    self.bytes += each.bytes
                self._commits.append(self._clock.monotonic())

    def eta_seconds(self, tally: ChunkTally) -> float | None:
        """When the chunks that are left will be done, if they go as fast as the latest ones did."""
        remaining = tally.pending + tally.running
        with self._lock:
            if not remaining:
                return 0.0
            since = self._commits[0] if len(self._commits) == _RECENT else self._began
            seconds = self._clock.monotonic() - since
            return remaining * seconds / len(self._commits) if self._commits and seconds > 0 else None
