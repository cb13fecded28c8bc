"""How much one process does at once, over all its pipelines, and how fast it may write."""

from __future__ import annotations

import threading
from collections.abc import Callable

from hakiri.core.clock import Clock

_LOOK_SECONDS = 0.2


class Slots:
    """A number of places; whoever needs some takes as many as are free."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._taken = 0
        self._changed = threading.Condition()

    @property
    def free(self) -> int:
        return max(0, self._capacity - self._taken)

    def resize(self, capacity: int) -> None:
        """Have another number of places. Nobody loses one that was taken."""
        with self._changed:
            self._capacity = capacity
            self._changed.notify_all()

    def wait(self, is_stopped: Callable[[], bool]) -> None:
        """Wait until a place is free, which somebody else may take first, or until it is stopped."""
        with self._changed:
            while not self.free and not is_stopped():
                self._changed.wait(_LOOK_SECONDS)

    def take(self, wanted: int) -> int:
        """Take up to `wanted` places of those that are free now; how many that is."""
        with self._changed:
            taken = min(wanted, self.free)
            self._taken += taken
            return taken

    def give_back(self, count: int) -> None:
        with self._changed:
            self._taken -= count
            self._changed.notify_all()


class WritePace:
    """Spaces out the files that are written: never more a second than allowed."""

    def __init__(self, per_second: float | None, clock: Clock) -> None:
        self._per_second = per_second
        self._clock = clock
        self._lock = threading.Lock()
        self._next = 0.0

    def seconds_until(self, files: int) -> float:
        """How long to wait before this many files may be written; their turns are taken with that."""
        if self._per_second is None:
            return 0.0
        with self._lock:
            now = self._clock.monotonic()
            start = max(now, self._next)
            self._next = start + files / self._per_second
            return start - now

    def written(self, files: int) -> None:
        """They are written now: the next ones keep their distance from this moment, not from their start."""
        if self._per_second is not None:
            with self._lock:
                self._next = max(self._next, self._clock.monotonic() + files / self._per_second)
