"""Work of a session in a thread of its own, which can be called off at any moment."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

_TOLD_AGAIN_SECONDS = 0.05


class Beside:
    """Does something in another thread; what it raises is the matter of whoever gave it.

    `interrupt` has DuckDB end what it does for this, and is called until it is over: DuckDB does not hear it
    between statements. Whether it is over is not asked of the thread: one that Ctrl-C comes to in `join` may
    take the other for dead.
    """

    def __init__(self, work: Callable[[], None], interrupt: Callable[[], None]) -> None:
        self._work = work
        self._interrupt = interrupt
        self._has_begun = False
        self._is_off = False
        self._is_over = Event()

    def start(self) -> None:
        """Begin. If Ctrl-C comes before it has begun, it never will."""
        try:
            Thread(target=self._do, daemon=True).start()
        except BaseException:
            self.call_off()
            raise

    def call_off(self) -> None:
        """Have it end soon, and return when it has."""
        # First say so, then look: the thread does it the other way round, so that one of the two sees it.
        self._is_off = True
        while self._has_begun and not self._is_over.is_set():
            self._interrupt()
            self._is_over.wait(_TOLD_AGAIN_SECONDS)

    def wait(self) -> None:
        """Return when it is over."""
        self._is_over.wait()

    def _do(self) -> None:
        self._has_begun = True
        try:
            if not self._is_off:
                self._work()
        finally:
            self._is_over.set()
