"""Tests of `catalog.budgets`."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

import pytest

from hakiri.catalog.budget_watch import BudgetWatch
from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.budgets import Account
from hakiri.catalog.errors import UnstorableText
from hakiri.catalog.testing.base import Opener
from hakiri.catalog.testing.samples import HOUR, MINUTE, SECOND, T0, at_once
from hakiri.catalog.testing.seeds import SeededContract, telling
from hakiri.catalog.testing.vandal import Vandal, refuses_all
from hakiri.core.grammar import Rate

PROCESSES = 2
RATE = Rate.parse("60/min")
SLOT = RATE.per / 20
NAME = "github"


def take(catalog: Catalog, now: datetime, wanted: int = 1, *, most: int = 5, rate: Rate = RATE) -> int:
    return catalog.budgets.take(NAME, wanted=wanted, most=most, rate=rate, now=now).granted


@dataclass(kw_only=True)
class Taker:
    """One process that takes as much as it may, with a clock on its wall that is not everybody's."""

    catalog: Catalog
    rate: Rate
    ahead: timedelta = timedelta()
    watch: BudgetWatch = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.watch = BudgetWatch(self.rate, clocks_apart=self.catalog.budgets.clocks_apart)

    def look(self, seconds: float) -> None:
        """Look at the account, so many seconds after T0 in truth."""
        self.watch.see(self.catalog.budgets.get(NAME), at=seconds, now=self._now(seconds))

    def take(self, seconds: float, wanted: int) -> int:
        """Take some calls, after a look."""
        self.look(seconds)
        now, most = self._now(seconds), self.watch.most(seconds)
        taken = self.catalog.budgets.take(NAME, wanted=wanted, most=most, rate=self.rate, now=now)
        self.watch.see(taken.account, at=seconds, now=now, taken=taken.granted)
        return taken.granted

    def _now(self, seconds: float) -> datetime:
        return T0 + timedelta(seconds=seconds) + self.ahead


class BudgetContract(SeededContract):
    """One account of calls a name, for everybody."""

    def test_a_budget_that_nobody_took_from_has_granted_nothing(self, catalog: Catalog) -> None:
        assert catalog.budgets.get(NAME) == Account()

    def test_an_account_goes_as_far_as_the_taker_says_and_no_further(self, catalog: Catalog) -> None:
        assert [take(catalog, T0, 3) for _ in range(3)] == [3, 2, 0]
        assert take(catalog, T0, 9, most=4) == 0
        assert take(catalog, T0, 9, most=6) == 1
        assert catalog.budgets.get(NAME).granted == 6

    def test_what_was_taken_is_told_with_all_that_was_taken_before(self, catalog: Catalog) -> None:
        take(catalog, T0, 3)

        taken = catalog.budgets.take(NAME, wanted=1, most=5, rate=RATE, now=T0 + SECOND)

        assert (taken.granted, taken.account) == (1, catalog.budgets.get(NAME))

    @pytest.mark.parametrize("begun", [0, 5])
    def test_asking_in_vain_leaves_nothing_behind(self, catalog: Catalog, begun: int) -> None:
        take(catalog, T0, 5, most=begun)
        before = catalog.budgets.get(NAME)

        assert take(catalog, T0 + HOUR, most=begun, rate=Rate.parse("1/h")) == 0
        assert catalog.budgets.get(NAME) == before

    def test_marks_tell_what_was_granted_since_a_moment_to_within_a_slot(
        self, catalog: Catalog, seed: int
    ) -> None:
        chance = Random(seed)  # noqa: S311  (chance, not secrecy)
        now, taken = T0, []
        for _ in range(30):
            now += chance.random() * 2 * SLOT
            taken.append((now, take(catalog, now, chance.randint(1, 3), most=999)))
        account = catalog.budgets.get(NAME)

        with telling(seed):
            for back in range(60):
                moment = now - back * SECOND
                fewest = sum(calls for at, calls in taken if at >= moment)
                most = sum(calls for at, calls in taken if at >= moment - SLOT)
                assert fewest <= account.granted_since(moment) <= most

    def test_marks_do_not_pile_up(self, catalog: Catalog) -> None:
        for second in range(300):
            take(catalog, T0 + second * SECOND, most=999)
        account = catalog.budgets.get(NAME)

        assert (account.granted, len(account.marks)) == (300, len(set(account.marks)))
        assert 20 <= len(account.marks) <= 30
        assert account.granted_since(T0 + 240 * SECOND) in range(60, 64)

    def test_a_clock_that_is_behind_dates_what_was_before_by_its_own(self, catalog: Catalog) -> None:
        """A machine whose clock was wrong once does not spoil the account for ever."""
        take(catalog, T0 + 9999 * HOUR, 2)
        take(catalog, T0, 1)
        account = catalog.budgets.get(NAME)

        assert account.granted_since(T0) == 3
        assert account.granted_since(T0 + SLOT) == 0
        assert [mark.calls for mark in account.marks] == [3]

    def test_budgets_of_other_names_are_others(self, catalog: Catalog) -> None:
        take(catalog, T0, 5)

        other = catalog.budgets.take("shopify", wanted=5, most=5, rate=RATE, now=T0)

        assert (other.granted, other.account.granted) == (5, 5)

    def test_the_rate_that_was_said_last_is_known(self, catalog: Catalog) -> None:
        rates = []
        for rate in (None, RATE, Rate.parse("5/s"), None):
            catalog.budgets.note(NAME, rate)
            rates.append(catalog.budgets.get(NAME).rate)
        take(catalog, T0, 3)
        catalog.budgets.note(NAME, Rate.parse("9/s"))
        account = catalog.budgets.get(NAME)

        assert rates == [None, RATE, Rate.parse("5/s"), None]
        assert (account.rate, account.granted, account.granted_since(T0)) == (Rate.parse("9/s"), 3, 3)
        take(catalog, T0)
        assert catalog.budgets.get(NAME).rate == RATE

    @pytest.mark.parametrize("wanted", [0, -1])
    def test_who_wants_no_call_is_refused(self, catalog: Catalog, wanted: int) -> None:
        with pytest.raises(ValueError, match="ask for one or more"):
            take(catalog, T0, wanted)

    def test_a_name_that_cannot_be_stored_is_refused(self, catalog: Catalog) -> None:
        with pytest.raises(UnstorableText):
            catalog.budgets.take("\0", wanted=1, most=1, rate=RATE, now=T0)
        with pytest.raises(UnstorableText):
            catalog.budgets.note("\0", RATE)

    def test_no_window_is_granted_more_than_the_rate_whatever_the_clocks_say(
        self, catalog: Catalog, seed: int
    ) -> None:
        """Clocks of processes that begin anew differ as far as they may, and any may jump back."""
        chance = Random(seed)  # noqa: S311  (chance, not secrecy)
        rate = Rate.parse("10/20s")
        apart = catalog.budgets.clocks_apart
        takers = [Taker(catalog=catalog, rate=rate, ahead=chance.random() * apart) for _ in range(3)]
        granted: list[tuple[float, int]] = []
        seconds = 0.0
        for _ in range(150):
            seconds += chance.choice((0.01, 0.3, 1, 5)) * chance.random()
            taker = chance.choice(takers)
            match chance.randrange(20):
                case 0:
                    taker.ahead = chance.random() * apart
                    taker.restart()
                case 1:
                    taker.ahead -= chance.random() * HOUR
                    taker.look(seconds)
                    taker.ahead = chance.random() * apart
                case _:
                    granted.append((seconds, taker.take(seconds, chance.choice((1, 3, 50)))))

        with telling(seed):
            for begin, _ in granted:
                calls = sum(calls for at, calls in granted if begin <= at < begin + 20)
                assert calls <= 10, f"{calls} calls from {begin} on"

    def test_two_who_take_what_they_may_get_nearly_all_of_the_rate(self, catalog: Catalog) -> None:
        rate = Rate.parse("40/s")
        takers = [Taker(catalog=catalog, rate=rate) for _ in range(2)]
        first = takers[0].take(0.0, 99)
        total = first + sum(takers[step % 2].take(step / 100, 2) for step in range(1, 1000))

        assert first == 40
        assert total >= 0.9 * 40 * 10

    def test_whoever_comes_when_nobody_took_for_a_while_may_take_all_at_once(self, catalog: Catalog) -> None:
        Taker(catalog=catalog, rate=RATE).take(0.0, 60)
        later = 65 + catalog.budgets.clocks_apart.total_seconds() + SLOT.total_seconds()

        assert Taker(catalog=catalog, rate=RATE).take(30.0, 99) == 0
        assert Taker(catalog=catalog, rate=RATE).take(later, 99) == 60

    def test_many_threads_together_are_granted_what_one_would_be(
        self, catalog: Catalog, opener: Opener
    ) -> None:
        with opener.open() as other:
            handles = (catalog, other)
            taken = at_once(lambda n: sum(take(handles[n % 2], T0, 3, most=50) for _ in range(10)))

        assert sum(taken) == 50
        assert catalog.budgets.get(NAME).granted == 50

    def test_many_processes_together_are_granted_what_one_would_be(
        self, catalog: Catalog, opener: Opener
    ) -> None:
        with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as processes:
            takers = [processes.submit(_take_elsewhere, opener) for _ in range(PROCESSES)]
            taken = [taker.result(timeout=50) for taker in takers]

        assert sum(taken) == 100
        assert catalog.budgets.get(NAME).granted_since(T0) == 100
        assert catalog.budgets.get(NAME).granted_since(T0 + MINUTE) == 0

    def test_the_store_does_not_begin_a_budget_anew(self, catalog: Catalog, vandal: Vandal) -> None:
        take(catalog, T0, 5)

        refuses_all(
            [
                lambda: vandal.turn_budget_back(NAME),
                lambda: vandal.empty_budget(NAME),
                lambda: vandal.delete_budget(NAME),
            ],
            lambda: catalog.budgets.get(NAME),
        )


def _take_elsewhere(opener: Opener) -> int:
    """Take one by one until nothing is left."""
    total = 0
    with opener.open() as catalog:
        while one := take(catalog, T0, most=100):
            total += one
    return total
