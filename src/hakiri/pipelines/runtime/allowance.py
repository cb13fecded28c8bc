"""How many chunks of its history a pipeline may take before somebody allows more."""

from __future__ import annotations

import threading

from hakiri.pipelines.runtime.ground import Stop

_LOOK_SECONDS = 0.2


class Allowance:
    """So many chunks, or any number if None. What is renewed at every tick is as many again, never more."""

    def __init__(self, most: int | None = None, *, is_renewed: bool = False) -> None:
        self._most = most
        self._left = most
        self._is_renewed = is_renewed
        self._is_waited_for = False
        self._changed = threading.Condition()

    @property
    def left(self) -> int | None:
        """How many chunks may still be taken; None is any number."""
        return self._left

    @property
    def will_come(self) -> bool:
        """Whether all of it is used up, and a tick will bring more."""
        return self._left == 0 and self._is_renewed

    @property
    def is_waited_for(self) -> bool:
        """Whether the run has nothing to do until there is more."""
        return self._is_waited_for

    def take(self, chunks: int) -> None:
        with self._changed:
            if self._left is not None:
                self._left -= chunks

    def renew(self) -> None:
        """A tick has come: as many chunks as at first."""
        with self._changed:
            self._left = self._most
            self._is_waited_for = False
            self._changed.notify_all()

    def close(self) -> None:
        """No tick brings more from now on."""
        with self._changed:
            self._is_renewed = self._is_waited_for = False
            self._changed.notify_all()

    def wait(self, stop: Stop) -> bool:
        """Wait until a tick brings more; whether one did before it was closed, or a stop was asked for."""
        with self._changed:
            self._is_waited_for = True
            while self._left == 0 and self._is_renewed and not stop.is_asked:
                self._changed.wait(_LOOK_SECONDS)
            self._is_waited_for = False
            return self._left != 0
