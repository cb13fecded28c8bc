"""Tests of `catalog.budgets`."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timedelta
from random import Random

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.budgets import Taken
from hakiri.catalog.errors import UnstorableText
from hakiri.catalog.testing.base import Opener
from hakiri.catalog.testing.samples import HOUR, MINUTE, SECOND, T0, TICK, at_once
from hakiri.catalog.testing.seeds import SeededContract, telling
from hakiri.catalog.testing.vandal import Vandal, refuses_all

PROCESSES = 2
INFINITE = float("inf")


def take(
    catalog: Catalog, now: datetime, wanted: float = 1, *, per_second: float = 2, burst: float = 5
) -> Taken:
    return catalog.budgets.take("github", wanted=wanted, per_second=per_second, burst=burst, now=now)


def granted(catalog: Catalog, *moments: datetime, wanted: float = 1) -> list[float]:
    return [take(catalog, now, wanted).granted for now in moments]


class BudgetContract(SeededContract):
    """One bucket of calls a name, for everybody."""

    def test_a_budget_begins_full(self, catalog: Catalog) -> None:
        assert take(catalog, T0, 3) == Taken(granted=3, wait_seconds=0)
        assert take(catalog, T0, 3) == Taken(granted=2, wait_seconds=0)
        assert take(catalog, T0, 3) == Taken(granted=0, wait_seconds=0.5)

    def test_a_budget_fills_by_its_rate_up_to_the_burst(self, catalog: Catalog) -> None:
        take(catalog, T0, 5)

        assert granted(catalog, T0 + SECOND / 2 - TICK, T0 + SECOND / 2, T0 + SECOND / 2) == [0, 1, 0]
        assert granted(catalog, T0 + 3 * SECOND / 2, wanted=9) == [2]
        assert granted(catalog, T0 + HOUR, T0 + HOUR, wanted=9) == [5, 0]

    def test_whoever_waits_as_long_as_was_said_gets_a_call_and_not_a_tick_before(
        self, catalog: Catalog
    ) -> None:
        take(catalog, T0, 5, per_second=0.3)
        now = T0 + SECOND
        waits = take(catalog, now, per_second=0.3).wait_seconds
        due = now + timedelta(seconds=waits)

        assert waits > 0
        assert take(catalog, due - TICK, per_second=0.3).granted == 0
        assert take(catalog, due, per_second=0.3).granted == 1

    def test_only_whole_calls_are_granted_and_the_rest_is_kept(self, catalog: Catalog) -> None:
        assert take(catalog, T0, 2.9, burst=3.7) == Taken(granted=2, wait_seconds=0)
        assert take(catalog, T0, 9, burst=3.7) == Taken(granted=1, wait_seconds=0)
        assert take(catalog, T0, 9, burst=3.7) == Taken(granted=0, wait_seconds=0.15)

    def test_asking_in_vain_costs_nothing(self, catalog: Catalog) -> None:
        """However often, and however slowly the budget fills."""
        slow = {"per_second": 0.000_1, "burst": 1.0}
        take(catalog, T0, **slow)

        assert {take(catalog, T0 + number * TICK, **slow).granted for number in range(1, 30)} == {0}
        assert take(catalog, T0 + timedelta(seconds=10_000), **slow).granted == 1

    def test_a_time_that_goes_back_fills_nothing(self, catalog: Catalog) -> None:
        take(catalog, T0, 4)

        assert granted(catalog, T0 - HOUR, T0 - HOUR, T0) == [1, 0, 0]
        assert take(catalog, T0 - SECOND) == Taken(granted=0, wait_seconds=1.5)
        assert granted(catalog, T0 - SECOND, T0 - SECOND / 2, T0, wanted=9) == [0, 0, 0]
        assert granted(catalog, T0 + SECOND, wanted=9) == [2]

    def test_budgets_of_other_names_are_others(self, catalog: Catalog) -> None:
        take(catalog, T0, 5)

        other = catalog.budgets.take("shopify", wanted=5, per_second=2, burst=5, now=T0)

        assert other.granted == 5

    def test_another_rate_counts_from_the_next_call_on(self, catalog: Catalog) -> None:
        take(catalog, T0, 5)

        assert take(catalog, T0 + SECOND, 9, per_second=4).granted == 4
        assert take(catalog, T0 + HOUR, 9, burst=2).granted == 2

    @pytest.mark.parametrize(
        ("wanted", "per_second", "burst"),
        [
            *((0, 1, 1), (0.5, 1, 1), (INFINITE, 1, 1)),
            *((1, 0, 1), (1, -1, 1), (1, INFINITE, 1), (1, float("nan"), 1)),
            *((1, 1, 0.9), (1, 1, INFINITE)),
        ],
    )
    def test_a_budget_that_never_gives_a_call_is_refused(
        self, catalog: Catalog, wanted: float, per_second: float, burst: float
    ) -> None:
        with pytest.raises(ValueError, match="ask for one call or more"):
            take(catalog, T0, wanted, per_second=per_second, burst=burst)

    def test_a_name_that_cannot_be_stored_is_refused(self, catalog: Catalog) -> None:
        with pytest.raises(UnstorableText):
            catalog.budgets.take("\0", wanted=1, per_second=1, burst=1, now=T0)

    def test_no_span_is_granted_more_than_it_brings_whatever_the_clocks_do(
        self, catalog: Catalog, seed: int
    ) -> None:
        chance = Random(seed)  # noqa: S311  (chance, not secrecy)
        per_second, burst = chance.uniform(0.1, 20), chance.uniform(1, 8)
        takes: list[tuple[datetime, float]] = []
        now = furthest = T0
        for _ in range(60):
            now += timedelta(seconds=chance.choice((0, 0.01, 0.2, 1, -0.2, -30)) * chance.random())
            furthest = max(furthest, now)
            wanted = chance.choice((1, 2, 50))
            taken = take(catalog, now, wanted, per_second=per_second, burst=burst)
            takes.append((furthest, taken.granted))

        with telling(seed):
            _check_every_span(takes, per_second, burst)

    def test_many_threads_together_are_granted_what_one_would_be(
        self, catalog: Catalog, opener: Opener
    ) -> None:
        with opener.open() as other:
            handles = (catalog, other)
            taken = at_once(lambda n: [take(handles[n % 2], T0 + each * SECOND).granted for each in range(4)])

        left = take(catalog, T0 + 3 * SECOND, 99).granted
        # Five at first and two for each of three seconds; a thread that is behind brings nothing, and one
        # that comes first with a late clock finds a bucket that was full all the while.
        assert 5 <= sum(map(sum, taken)) + left <= 5 + 3 * 2

    def test_many_processes_together_are_granted_what_one_would_be(
        self, catalog: Catalog, opener: Opener
    ) -> None:
        with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as processes:
            takers = [processes.submit(_take_elsewhere, opener) for _ in range(PROCESSES)]
            taken = sum(taker.result(timeout=50) for taker in takers)

        left = catalog.budgets.take("shared", wanted=999, per_second=10, burst=20, now=T0 + MINUTE)
        assert taken == 20 + 10 * 3
        assert left.granted == 20

    def test_the_store_does_not_begin_a_budget_anew(self, catalog: Catalog, vandal: Vandal) -> None:
        take(catalog, T0, 5)

        refuses_all(
            [lambda: vandal.turn_budget_back("github"), lambda: vandal.delete_budget("github")],
            lambda: take(catalog, T0),
        )


def _take_elsewhere(opener: Opener) -> float:
    """Take one by one what there is in three seconds, until nothing is left of it."""
    total = 0.0
    with opener.open() as catalog:
        for tenth in range(31):
            now = T0 + tenth * SECOND / 10
            while one := catalog.budgets.take("shared", wanted=1, per_second=10, burst=20, now=now).granted:
                total += one
    return total


def _check_every_span(takes: list[tuple[datetime, float]], per_second: float, burst: float) -> None:
    for first, (begin, _) in enumerate(takes):
        total = 0.0
        for end, calls in takes[first:]:
            total += calls
            most = burst + per_second * (end - begin).total_seconds()
            assert total <= most + 1e-6, f"{total} calls from {begin} to {end}, and {most} were to be had"
