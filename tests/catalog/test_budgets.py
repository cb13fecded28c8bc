"""How far an account of calls may go, for processes that only know what they have seen of it themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hakiri.catalog.budget_watch import GOOD_SHARE, TRANSIT_SHARE, BudgetWatch
from hakiri.catalog.contract.budgets import Account, Mark
from hakiri.catalog.sql.budgets import SLOTS_A_WINDOW, SLOTS_KEPT, charged
from hakiri.core.grammar import Rate

T0 = datetime(2026, 5, 11, 8, tzinfo=UTC)
APART = timedelta(seconds=5)
RATES = tuple(map(Rate.parse, ("1/s", "3/s", "7/2s", "100/s", "60/min", "5000/h")))

rates = st.sampled_from(RATES)


@dataclass
class Books:
    """One account, and processes that take from it, each with a clock of its own on the wall."""

    rate: Rate
    ahead: list[timedelta]
    account: Account = field(default_factory=Account)
    watches: list[BudgetWatch] = field(default_factory=list)
    granted: list[tuple[float, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.watches = [self._new_watch() for _ in self.ahead]

    def restart(self, who: int) -> None:
        self.watches[who] = self._new_watch()

    def take(self, who: int, seconds: float, wanted: int) -> int:
        """Look, so many seconds after T0 in truth, and take what may be taken."""
        watch, now = self.watches[who], T0 + timedelta(seconds=seconds) + self.ahead[who]
        watch.see(self.account, at=seconds, now=now)
        calls = min(wanted, watch.most(seconds) - self.account.granted)
        assert (calls > 0) == (watch.seconds_until_free(seconds) == 0)
        if calls > 0:
            self.account = charged(self.account, calls, self.rate, now)
            watch.see(self.account, at=seconds, now=now, taken=calls)
            self.granted.append((seconds, calls))
        return max(0, calls)

    def _new_watch(self) -> BudgetWatch:
        return BudgetWatch(self.rate, clocks_apart=APART)


def most_in_a_window(arrivals: list[tuple[float, int]], seconds: float) -> int:
    """How many calls the fullest window of this length holds; its end does not belong to it."""
    return max(sum(calls for at, calls in arrivals if start <= at < start + seconds) for start, _ in arrivals)


@settings(deadline=None)
@given(
    rate=rates,
    ahead=st.lists(st.floats(0, 1), min_size=1, max_size=4),
    steps=st.lists(
        st.tuples(
            st.sampled_from((0.001, 0.02, 0.3, 1.2)),
            st.floats(0, 1),
            st.integers(0, 3),
            st.sampled_from((1, 2, 10**6)),
            st.booleans(),
            st.floats(0, 0.95),
        ),
        min_size=1,
        max_size=60,
    ),
)
def test_no_window_sees_more_than_the_rate_wherever_calls_wait_and_whatever_clocks_say(
    rate: Rate, ahead: list[float], steps: list[tuple[float, float, int, int, bool, float]]
) -> None:
    """Whoever begins anew believes others' clocks as far as they may be apart; whoever goes on does not."""
    window = rate.per.total_seconds()
    books = Books(rate, [share * APART for share in ahead])
    seconds, arrivals = 0.0, []
    for scale, part, who, wanted, is_new, delay in steps:
        seconds += scale * part * window
        if is_new and scale == 0.02:
            books.restart(who % len(ahead))
        if calls := books.take(who % len(ahead), seconds, wanted):
            arrivals.append((seconds + delay * (GOOD_SHARE + TRANSIT_SHARE) * window, calls))

    assert not arrivals or most_in_a_window(arrivals, window) <= rate.count


@settings(deadline=None)
@given(
    rate=rates,
    jumps=st.lists(st.tuples(st.floats(0, 0.4), st.integers(0, 2), st.floats(-9, 9)), max_size=80),
)
def test_whoever_goes_on_is_not_moved_by_clocks_that_jump_by_hours(
    rate: Rate, jumps: list[tuple[float, int, float]]
) -> None:
    window = rate.per.total_seconds()
    books = Books(rate, [timedelta()] * 3)
    for who in range(3):
        books.take(who, 0.0, 10**6)
    seconds = 0.0
    for part, who, hours in jumps:
        seconds += part * window
        books.ahead[who] = timedelta(hours=hours)
        for each in range(3):  # nobody is away for a whole window, after which one would go by the marks
            books.take((who + each) % 3, seconds, 10**6 if not each else 1)

    assert most_in_a_window(books.granted, window) <= rate.count


@pytest.mark.parametrize("rate", RATES, ids=str)
@pytest.mark.parametrize("processes", [1, 2, 5])
def test_processes_that_take_what_they_may_get_nine_tenths_of_the_rate(rate: Rate, processes: int) -> None:
    window = rate.per.total_seconds()
    books = Books(rate, [timedelta()] * processes)
    seconds = 0.0
    while seconds < 10 * window:
        for who in range(processes):
            books.take(who, seconds + who * window / 1000, 1 + rate.count // 50)
        seconds += books.watches[0].look_seconds

    total = sum(calls for _, calls in books.granted)
    # The first window is full at once, so that ten of them could hold eleven times the count.
    assert 0.9 * 10 * rate.count <= total <= 11 * rate.count


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_a_process_that_comes_after_idleness_takes_all_at_once(rate: Rate) -> None:
    books = Books(rate, [timedelta(), APART])
    window = rate.per.total_seconds()

    first = books.take(0, 0.0, 10**6)
    early = books.take(1, 0.5 * window, 10**6)
    books.restart(1)
    later = books.take(1, 1.2 * window + APART.total_seconds(), 10**6)

    assert (first, early, later) == (rate.count, 0, rate.count)


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_whoever_waits_as_long_as_was_said_gets_a_call_and_not_before(rate: Rate) -> None:
    books = Books(rate, [timedelta()])
    books.take(0, 1.0, 10**6)
    wait = books.watches[0].seconds_until_free(1.0)

    assert wait == pytest.approx(1.075 * rate.per.total_seconds())
    assert books.take(0, 1.0 + wait * 0.999, 1) == 0
    assert books.take(0, 1.0 + wait * 1.000_001, 1) == 1


def test_company_is_noticed_and_forgotten_again() -> None:
    books = Books(Rate.parse("100/s"), [timedelta(), timedelta()])
    watch = books.watches[0]
    books.take(0, 0.0, 1)
    books.take(0, 0.1, 1)
    alone = watch.has_company(0.1)
    books.take(1, 0.2, 1)
    books.take(0, 0.3, 1)

    assert (alone, watch.has_company(0.3), watch.has_company(2.0)) == (False, True, False)


def test_a_watch_remembers_no_more_than_it_needs() -> None:
    books = Books(Rate.parse("100000/s"), [timedelta()])
    for step in range(5000):
        books.take(0, step / 2000, 1)

    assert len(books.watches[0]._sights) <= 2 * 80 * 1.1
    assert sum(calls for _, calls in books.granted) == 5000


@settings(deadline=None)
@given(
    rate=rates,
    takes=st.lists(st.tuples(st.floats(0, 0.3), st.integers(1, 9)), min_size=1, max_size=80),
    moment=st.floats(0, 1),
)
def test_marks_never_tell_of_too_few_calls_and_of_too_many_by_a_slot_at_most(
    rate: Rate, takes: list[tuple[float, int]], moment: float
) -> None:
    account, now = Account(), T0
    taken = []
    for part, calls in takes:
        now += part * rate.per
        account = charged(account, calls, rate, now)
        taken.append((now, calls))
    since = now - moment * rate.per
    slot = rate.per / SLOTS_A_WINDOW

    fewest = sum(calls for at, calls in taken if at >= since)
    most = sum(calls for at, calls in taken if at >= since - slot)
    assert fewest <= account.granted_since(since) <= most
    assert account.granted == sum(calls for _, calls in taken)
    assert len(account.marks) <= SLOTS_KEPT + 2
    assert account.marks == tuple(sorted(account.marks))


def test_marks_of_a_clock_that_is_ahead_are_dated_anew() -> None:
    rate = Rate.parse("60/min")
    ahead = charged(Account(), 2, rate, T0 + timedelta(days=900))

    after = charged(ahead, 1, rate, T0)

    assert after.marks == (Mark(T0 + timedelta(seconds=3), 3),)


def test_marks_stay_few_when_processes_disagree_about_the_rate() -> None:
    account = Account()
    for step in range(4000):
        rate = RATES[step % len(RATES)]
        account = charged(account, 1, rate, T0 + timedelta(seconds=step / 10))

    assert account.granted == 4000
    assert len(account.marks) <= 2 * SLOTS_KEPT
