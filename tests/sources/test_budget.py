"""The rate budget: never more calls than allowed in any window, as the source sees them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.core.clock import SystemClock
from hakiri.core.grammar import Rate
from hakiri.sources.budget import NoBudget, Refused, SharedBudget, StoppedWaiting, Turns

RATES = ("1/s", "3/s", "7/2s", "60/min")


def most_in_a_window(arrivals: list[float], seconds: float) -> int:
    """How many arrivals the fullest window of this length holds; its end does not belong to it."""
    ordered = sorted(arrivals)
    return max(sum(1 for at in ordered if start <= at < start + seconds) for start in ordered)


# Times that a float holds exactly, so that the model does not differ from the budget by rounding.
seconds = st.integers(0, 3 * 1024).map(lambda ticks: ticks / 1024)


@given(
    rate=st.sampled_from(RATES), calls=st.lists(st.tuples(seconds, st.floats(0, 1)), min_size=1, max_size=60)
)
def test_no_window_sees_more_than_the_budget_wherever_in_a_call_it_arrives(
    rate: str, calls: list[tuple[float, float]]
) -> None:
    """Each call takes some time, and arrives at the source at some point of it; four are made at a time."""
    parsed = Rate.parse(rate)
    turns, now = Turns(parsed), 0.0
    arrivals: list[float] = []
    ends: list[float] = []
    ahead = list(reversed(calls))
    while ahead:
        for end in sorted(end for end in ends if end <= now):
            ends.remove(end)
            turns.answer(end)
        wait = turns.seconds_until_free(now)
        if wait == 0 and len(ends) < 4:
            duration, share = ahead.pop()
            turns.start()
            ends.append(now + duration)
            arrivals.append(now + duration * share)
        else:
            now = min([*ends, *([now + wait] if wait else [])])

    assert most_in_a_window(arrivals, parsed.per.total_seconds()) <= parsed.count


@pytest.mark.spec("HP-134")
def test_threads_share_one_budget_and_use_nearly_all_of_it() -> None:
    clock = SystemClock()

    def seconds() -> float:
        budget = SharedBudget(Rate.parse("20/250ms"), clock)
        arrivals: list[float] = []

        def call(_: int) -> None:
            with budget.turn():
                arrivals.append(clock.monotonic())

        start = clock.monotonic()
        with ThreadPoolExecutor(4) as callers:
            list(callers.map(call, range(140)))
        assert most_in_a_window(arrivals, 0.25) <= 20
        assert budget.waited_seconds > 0
        return clock.monotonic() - start

    # 140 calls are 7 windows; the first of them starts at once. Others do not disturb all three tries.
    assert any(seconds() < 6 * 0.25 / 0.9 for _ in range(3))


def test_turns_are_given_in_the_order_of_asking() -> None:
    budget = SharedBudget(Rate.parse("1/50ms"), SystemClock())
    order: list[int] = []
    budget.take()
    waiting = []
    for number in range(4):
        queued = threading.Event()
        thread = threading.Thread(target=_take, args=(budget, number, order, queued))
        thread.start()
        queued.wait(5)
        while len(budget._queue) <= number:
            pass
        waiting.append(thread)
    budget.give_back()
    for thread in waiting:
        thread.join(10)

    assert order == [0, 1, 2, 3]


def _take(budget: SharedBudget, number: int, order: list[int], queued: threading.Event) -> None:
    queued.set()
    with budget.turn():
        order.append(number)


def test_a_call_that_fails_gives_its_turn_back() -> None:
    budget = SharedBudget(Rate.parse("1/20ms"), SystemClock())

    for _ in range(3):
        with pytest.raises(ValueError, match="lost"), budget.turn():
            raise ValueError("lost")

    assert budget._turns.under_way == 0


def test_without_a_budget_nobody_waits() -> None:
    @contextmanager
    def timed() -> Iterator[None]:
        before = SystemClock().monotonic()
        yield
        assert SystemClock().monotonic() - before < 1

    with timed():
        for _ in range(10_000):
            with NoBudget().turn():
                pass


# With others ------------------------------------------------------------------------------------------------


@dataclass
class Ration:
    """A wider budget that grants so many calls, and tells others to ask again soon."""

    left: int
    is_stopped: bool = False
    seconds: float = 30.0
    asked: int = 0

    def take(self) -> Refused | None:
        self.asked += 1
        if not self.left:
            return Refused(seconds=self.seconds, ask_again_seconds=0.01)
        self.left -= 1
        return None


def test_a_call_is_made_when_both_this_process_and_all_together_have_room() -> None:
    ration = Ration(left=2)
    budget = SharedBudget(Rate.parse("3/h"), SystemClock(), ration)
    told: list[float] = []

    def more(seconds: float) -> None:
        told.append(seconds)
        ration.left = 1

    budget.on_wait = more

    for _ in range(3):
        with budget.turn():
            pass

    assert (told, ration.left) == ([30.0], 0)
    assert ration.asked >= 4
    assert budget.waited_seconds >= 0.01


def test_while_there_is_no_room_here_nothing_is_taken_from_the_others() -> None:
    ration = Ration(left=9)
    budget = SharedBudget(Rate.parse("1/h"), SystemClock(), ration)
    budget.take()
    waiting, raised = _waiting_for(budget)

    ration.is_stopped = True
    waiting.join(5)

    assert (ration.left, len(raised), waiting.is_alive()) == (8, 1, False)


def test_answers_are_heard_while_somebody_asks_the_others() -> None:
    class Slow(Ration):
        def take(self) -> Refused | None:
            if self.left == 1:
                budget.give_back()  # would wait for ever if whoever asks held what this needs
            return super().take()

    budget = SharedBudget(Rate.parse("2/h"), SystemClock(), Slow(left=2))
    budget.take()

    done = threading.Thread(target=budget.take, daemon=True)
    done.start()
    done.join(5)

    assert not done.is_alive()
    assert budget._turns.under_way == 1


@pytest.mark.parametrize("how", ["stopped", "closed"])
@pytest.mark.parametrize("has_room", [True, False])
def test_nobody_goes_on_waiting_for_a_turn_that_is_not_wanted_any_more(how: str, has_room: bool) -> None:
    ration = Ration(left=0 if has_room else 1)
    budget = SharedBudget(Rate.parse("1/h"), SystemClock(), ration)
    if not has_room:
        budget.take()
    waits = [_waiting_for(budget) for _ in range(3)]

    if how == "closed":
        budget.close()
    ration.is_stopped = how == "stopped"
    for waiting, _ in waits:
        waiting.join(5)

    assert [str(error) for _, raised in waits for error in raised] == [
        "stopped while waiting for the source's `1/h`"
    ] * 3
    assert not budget._queue


def test_a_stop_is_heard_before_another_call_is_taken() -> None:
    budget = SharedBudget(Rate.parse("9/s"), SystemClock(), Ration(left=9, is_stopped=True))

    with pytest.raises(StoppedWaiting):
        budget.take()

    assert (budget._turns.under_way, len(budget._queue)) == (0, 0)


def test_what_goes_wrong_with_the_others_leaves_nobody_stuck() -> None:
    class Broken(Ration):
        def take(self) -> Refused | None:
            self.asked += 1
            if self.asked == 1:
                raise ValueError("the catalog is away")
            return None

    budget = SharedBudget(Rate.parse("9/s"), SystemClock(), Broken(left=0))

    with pytest.raises(ValueError, match="away"):
        budget.take()
    budget.take()

    assert budget._turns.under_way == 1


def _waiting_for(budget: SharedBudget) -> tuple[threading.Thread, list[StoppedWaiting]]:
    """A thread that waits for a turn, and what it is told in the end."""
    raised: list[StoppedWaiting] = []

    def take() -> None:
        try:
            budget.take()
        except StoppedWaiting as error:
            raised.append(error)

    before = len(budget._queue)
    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    while len(budget._queue) == before:
        pass
    return thread, raised
