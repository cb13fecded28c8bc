"""Lanes: what must not be read at the same time is read in turn, by the threads of one process.

Among processes the lease of the pipeline does the same: whatever kind of cursor has lanes that others could
disturb runs under one.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager


class Lanes:
    """Who is in which lane now."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._changed = threading.Condition()

    @contextmanager
    def held(self, lanes: Collection[str]) -> Iterator[None]:
        """Have these lanes for oneself during the block; wait before it until nobody is in any of them."""
        with self._changed:
            # All at once, so that no two wait for each other crosswise.
            self._changed.wait_for(lambda: self._taken.isdisjoint(lanes))
            self._taken.update(lanes)
        try:
            yield
        finally:
            with self._changed:
                self._taken.difference_update(lanes)
                self._changed.notify_all()
