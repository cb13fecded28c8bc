"""Whether what many threads saw at once can be explained by one call after the other.

The search of Wing and Gong, with Lowe's memory of what was tried: take any call that began before the first
return among those left, ask the sequential model for its answer, and go on if that is what was seen.
G. Lowe, «Testing for linearizability», Concurrency and Computation 29 (2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from hakiri.catalog.testing.calls import Call

State = TypeVar("State", bound=Hashable)
Model = Callable[[State, Call, object], tuple[State, object]]
"""The state after a call and the answer it should give; the third argument is the answer that was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A call with the moments of its beginning and end, on one counter that all threads share.

    `returned` is None when the answer was lost: the call may have happened at any time since, or never.
    """

    worker: int
    call: Call
    invoked: int
    returned: int | None
    answer: object = None

    @property
    def deadline(self) -> float:
        return math.inf if self.returned is None else self.returned

    def __str__(self) -> str:
        answer = "the answer was lost" if self.returned is None else self.answer
        return f"[{self.invoked}–{self.returned or '?'}] worker {self.worker}: {self.call} → {answer}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation(Generic[State]):
    """The furthest that an explanation came: its calls in order, and the calls that cannot be the next."""

    order: tuple[Event, ...]
    state: State
    wanted: tuple[tuple[Event, object], ...]

    def __str__(self) -> str:
        return "\n".join(
            (
                "no order of these calls explains their answers. The longest that does:",
                *(f"  {event}" for event in self.order),
                "After that, each of these can come next, and none fits:",
                *(f"  {event}\n    wanted: {answer}" for event, answer in self.wanted),
                f"State: {self.state}",
            )
        )


def find_deviation(events: Sequence[Event], start: State, model: Model[State]) -> Deviation[State] | None:
    """None when some order of the calls, in which none moves past another that it did not overlap, gives
    every answer that was seen; else how far one came. Calls whose answer was lost may be left out."""
    return _Search(events, model).run(start)


class _Search(Generic[State]):
    def __init__(self, events: Sequence[Event], model: Model[State]) -> None:
        self._events = sorted(events, key=lambda event: event.invoked)
        self._model = model
        self._settled = sum(1 << n for n, event in enumerate(self._events) if event.returned is not None)
        self._tried: set[tuple[int, State]] = set()
        self._order: list[Event] = []
        self._furthest: Deviation[State] | None = None

    def run(self, start: State) -> Deviation[State] | None:
        return None if self._is_explained(0, start) else self._furthest

    def _is_explained(self, done: int, state: State) -> bool:
        """Whether what is left beside the `done` calls, a set of bits, can go on from the state."""
        if done & self._settled == self._settled:
            return True
        if (done, state) in self._tried:
            return False
        self._tried.add((done, state))
        wanted: list[tuple[Event, object]] = []
        left = [(n, event) for n, event in enumerate(self._events) if not done & 1 << n]
        first_return = min(event.deadline for _, event in left)
        for n, event in left:
            if event.invoked > first_return:
                break
            after, answer = self._model(state, event.call, event.answer)
            is_possible = after != state if event.returned is None else answer == event.answer
            if not is_possible:
                wanted.append((event, answer))
                continue
            self._order.append(event)
            if self._is_explained(done | 1 << n, after):
                return True
            self._order.pop()
        self._note(state, wanted)
        return False

    def _note(self, state: State, wanted: list[tuple[Event, object]]) -> None:
        if self._furthest is None or len(self._order) > len(self._furthest.order):
            settled = tuple(each for each in wanted if each[0].returned is not None)
            self._furthest = Deviation(order=tuple(self._order), state=state, wanted=settled)
