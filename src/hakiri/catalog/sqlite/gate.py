"""Where the processes that want to write queue up before they ask SQLite."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakSet

# A child that was forked shares the locks of its parent, and would keep them when the parent is gone.
_GATES: WeakSet[WriteGate] = WeakSet()


def _close_in_child() -> None:
    for gate in _GATES:
        gate.close()


os.register_at_fork(after_in_child=_close_in_child)


class WriteGate:
    """One process at a time, by a lock on a file beside the database.

    SQLite would keep order without it, but has its writers ask again and again, and a hundred of them mostly
    keep each other from asking. Here the system lets the next one in. The lock ends with its process, and
    nothing but speed depends on it: who cannot get it in time goes on without.
    """

    def __init__(self, path: Path, *, patience_seconds: float) -> None:
        self._path = path
        self._patience_seconds = patience_seconds
        self._file: int | None = None
        _GATES.add(self)

    @contextmanager
    def passed(self) -> Iterator[None]:
        """Go through alone, and let the next one in at the end."""
        file = self._file = self._opened()
        if file is None:
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _Waiting(file).wait(self._patience_seconds)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _opened(self) -> int | None:
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644) if self._file is None else self._file
        except OSError:
            return None  # where this file cannot be, SQLite cannot write either, and says so better


class _Waiting(threading.Thread):
    """Waits for the lock in a thread of its own, as the system knows no end for such a wait."""

    def __init__(self, file: int) -> None:
        super().__init__(daemon=True)
        # The same open file, and so the same lock, under a number that nobody else closes.
        self._file = os.dup(file)
        self._settling = threading.Lock()
        self._is_abandoned = False
        self._has_it = threading.Event()

    def wait(self, seconds: float) -> None:
        """Come back with the lock, or without it when the time is over."""
        self.start()
        try:
            self._has_it.wait(seconds)
        finally:
            with self._settling:
                self._is_abandoned = not self._has_it.is_set()

    def run(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            with self._settling:
                if self._is_abandoned:
                    fcntl.flock(self._file, fcntl.LOCK_UN)
                self._has_it.set()
        finally:
            os.close(self._file)
