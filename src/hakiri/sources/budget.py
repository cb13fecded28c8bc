"""How often a source may be called: never more than the budget in any window, as the source counts.

The source counts when a call arrives, which is some time between its start here and its answer. So a call
holds its place in the window from its start until the window's length after its answer: whenever the next
one starts, the source has seen the one that made room for it at least a whole window ago.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hakiri.core.clock import Clock
from hakiri.core.grammar import Rate

NOTICED_SECONDS = 0.5


@dataclass(slots=True)
class Turns:
    """The state of one budget: which calls are under way, and when those before them were answered.

    Decides by the times it is given, and waits for nothing.
    """

    rate: Rate
    under_way: int = 0
    answered: deque[float] = field(default_factory=deque)

    def seconds_until_free(self, now: float) -> float | None:
        """How long until a call may start: 0 is at once, None is after the next answer."""
        window = self.rate.per.total_seconds()
        while self.answered and self.answered[0] + window <= now:
            self.answered.popleft()
        if self.under_way + len(self.answered) < self.rate.count:
            return 0.0
        return self.answered[0] + window - now if self.answered else None

    def start(self) -> None:
        self.under_way += 1

    def answer(self, now: float) -> None:
        self.under_way -= 1
        self.answered.append(now)


class SharedBudget:
    """One budget for all threads of this process, first come, first served."""

    def __init__(self, rate: Rate, clock: Clock) -> None:
        self._turns = Turns(rate)
        self._clock = clock
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()
        self.rate = rate
        self.waited_seconds = 0.0
        # Told before a wait that a person would notice, from whatever thread waits.
        self.on_wait: Callable[[float], None] | None = None

    @contextmanager
    def turn(self) -> Iterator[None]:
        self.take()
        try:
            yield
        finally:
            self.give_back()

    def take(self) -> None:
        """Wait for one's turn."""
        asked_at = self._clock.monotonic()
        me = object()
        with self._changed:
            self._queue.append(me)
            try:
                while self._queue[0] is not me or self._wait_for_room():
                    if self._queue[0] is not me:
                        self._changed.wait()
            finally:
                self._queue.remove(me)
                self._changed.notify_all()
            self._turns.start()
            self.waited_seconds += self._clock.monotonic() - asked_at

    def give_back(self) -> None:
        """The call that had the turn was answered, or will never be."""
        with self._changed:
            self._turns.answer(self._clock.monotonic())
            self._changed.notify_all()

    def _wait_for_room(self) -> bool:
        """Whether there was no room yet; it has waited for some then."""
        seconds = self._turns.seconds_until_free(self._clock.monotonic())
        if seconds == 0.0:
            return False
        if self.on_wait is not None and seconds is not None and seconds >= NOTICED_SECONDS:
            self.on_wait(seconds)
        self._changed.wait(seconds)
        return True


class NoBudget:
    """Calls are not counted."""

    @contextmanager
    def turn(self) -> Iterator[None]:
        yield


class LateBudget:
    """No budget until there is one: which it is may have to be asked of the connector that is to keep it."""

    def __init__(self) -> None:
        self.shared: SharedBudget | None = None

    @contextmanager
    def turn(self) -> Iterator[None]:
        if self.shared is None:
            yield
            return
        with self.shared.turn():
            yield
