"""What a run has done so far, and how long the rest will take."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

from hakiri.catalog.contract.chunks import ChunkTally
from hakiri.core.clock import Clock
from hakiri.pipelines.chunks.progress import RECENT_CHUNKS, DoneWork, eta_seconds
from hakiri.pipelines.runtime.commits import Finished


class RunTally:
    """Rows, bytes and chunks that were committed, and when. Safe for several threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._recent: deque[DoneWork] = deque(maxlen=RECENT_CHUNKS)
        self.rows = 0
        self.bytes = 0
        self.chunks = 0
        self.quarantined = 0

    def add(self, finished: Iterable[Finished]) -> None:
        now = self._clock.now()
        with self._lock:
            for each in finished:
                rows = 0 if each.is_unchanged else each.counts.written
                size = 0 if each.is_unchanged else each.bytes
                self.chunks += 1
                self.rows += rows
                self.bytes += size
                self.quarantined += each.counts.quarantined
                self._recent.append(
                    DoneWork(rows=rows, bytes=size, started_at=each.attempt.claimed_at, completed_at=now)
                )

    def eta_seconds(self, tally: ChunkTally) -> int | None:
        """How long the chunks that are left will take at the pace of the latest ones."""
        with self._lock:
            return eta_seconds(tally.pending + tally.running, tuple(self._recent))
