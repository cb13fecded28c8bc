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
from typing import Protocol, TypeAlias

from hakiri.core.clock import Clock
from hakiri.core.errors import ExitCode, HakiriError
from hakiri.core.grammar import Rate

NOTICED_SECONDS = 0.5
# How often a thread that waits looks whether its turn is still wanted.
_LOOK_SECONDS = 0.2


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """No call was granted. There may be one in `seconds`; whoever waits asks again in `ask_again_seconds`."""

    seconds: float
    ask_again_seconds: float


class WiderBudget(Protocol):
    """What this process and others may call together, kept where all of them see it."""

    @property
    def is_stopped(self) -> bool:
        """Whether nobody wants calls any more, so that whoever waits for one gives up."""

    def take(self) -> Refused | None:
        """Take one call, to be made at once, or say when to ask again. One thread asks at a time."""


# Told which rate holds, None for none, before the first call; what the process shares of it, if it does.
Widen: TypeAlias = Callable[[Rate | None], WiderBudget | None]


class StoppedWaiting(HakiriError):
    """Somebody waited for a turn that is not wanted any more."""

    code = "sources.stopped_waiting"
    exit_code = ExitCode.INTERRUPTED

    def __init__(self, rate: str) -> None:
        super().__init__(f"stopped while waiting for the source's `{rate}`", hint="start it again")


class SharedBudget:
    """One budget for all threads of this process, first come, first served.

    With a wider budget a call is also taken from that one, once there is room for it here.
    """

    def __init__(self, rate: Rate, clock: Clock, wider: WiderBudget | None = None) -> None:
        self._turns = Turns(rate)
        self._clock = clock
        self._wider = wider
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()
        self._is_closed = False
        self._told_until = 0.0
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
        """Wait for one's turn. Raises StoppedWaiting if it is not wanted any more."""
        asked_at = self._clock.monotonic()
        me = object()
        with self._changed:
            self._queue.append(me)
            try:
                while self._queue[0] is not me or self._wait_for_room() or self._wait_for_others():
                    if self._queue[0] is not me:
                        self._changed.wait()
                self._turns.start()
            finally:
                self._queue.remove(me)
                self._changed.notify_all()
                self.waited_seconds += self._clock.monotonic() - asked_at

    def give_back(self) -> None:
        """The call that had the turn was answered, or will never be."""
        with self._changed:
            self._turns.answer(self._clock.monotonic())
            self._changed.notify_all()

    def close(self) -> None:
        """Have those give up who still wait."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _wait_for_room(self) -> bool:
        """Whether there was no room yet; it has waited for some then."""
        seconds = self._turns.seconds_until_free(self._clock.monotonic())
        if seconds == 0.0:
            return False
        if seconds is not None:
            self._tell(seconds)
        self._look_around(_LOOK_SECONDS if seconds is None else seconds)
        return True

    def _wait_for_others(self) -> bool:
        """Whether the wider budget had no call yet; it has waited for one then."""
        if self._wider is None:
            return False
        self._check_wanted()
        # It may take a while to ask, and others have answers to tell meanwhile.
        self._changed.release()
        try:
            refused = self._wider.take()
        finally:
            self._changed.acquire()
        if refused is None:
            return False
        self._tell(refused.seconds)
        until = self._clock.monotonic() + refused.ask_again_seconds
        while (left := until - self._clock.monotonic()) > 0:
            self._look_around(left)
        return True

    def _look_around(self, seconds: float) -> None:
        """Wait that long, or until something has changed; not so long that a stop would not be heard."""
        self._check_wanted()
        self._changed.wait(min(seconds, _LOOK_SECONDS))

    def _check_wanted(self) -> None:
        if self._is_closed or (self._wider is not None and self._wider.is_stopped):
            raise StoppedWaiting(self.rate.text)

    def _tell(self, seconds: float) -> None:
        """Tell of a wait, once, however often it is looked whether it is over."""
        now = self._clock.monotonic()
        if self.on_wait is not None and seconds >= NOTICED_SECONDS and now >= self._told_until:
            self._told_until = now + seconds
            self.on_wait(seconds)


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

    def close(self) -> None:
        if self.shared is not None:
            self.shared.close()
