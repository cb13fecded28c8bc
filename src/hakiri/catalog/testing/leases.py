"""Tests of `catalog.leases`."""

from __future__ import annotations

from datetime import datetime

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.errors import LeaseLost
from hakiri.catalog.testing.base import Contract, Opener
from hakiri.catalog.testing.divergences import upholds
from hakiri.catalog.testing.samples import (
    ANNA,
    BEN,
    HOUR,
    MINUTE,
    OTHER_PIPELINE,
    PIPELINE,
    T0,
    TICK,
    TTL,
    at_once,
)
from hakiri.catalog.testing.vandal import Vandal, refuses_all


def taken(catalog: Catalog) -> Lease:
    lease = catalog.leases.acquire(PIPELINE, ANNA, T0, TTL)
    assert lease is not None
    return lease


def taken_over(catalog: Catalog) -> Lease:
    """Ben's lease, after Anna's ran out."""
    lease = catalog.leases.acquire(PIPELINE, BEN, T0 + TTL, TTL)
    assert lease is not None
    return lease


class LeaseContract(Contract):
    """Single-writer leases."""

    @pytest.mark.spec("HC-105")
    def test_a_free_lease_is_taken_until_its_time_is_over(self, catalog: Catalog) -> None:
        lease = taken(catalog)

        assert lease.pipeline == PIPELINE
        assert lease.holder == ANNA
        assert lease.fence >= 1
        assert lease.expires_at == T0 + TTL

    @pytest.mark.spec("HC-105")
    def test_a_held_lease_is_given_to_nobody_not_even_to_its_holder(self, catalog: Catalog) -> None:
        held = taken(catalog)

        assert catalog.leases.acquire(PIPELINE, BEN, T0 + MINUTE, TTL) is None
        assert catalog.leases.acquire(PIPELINE, ANNA, T0 + MINUTE, TTL) is None
        assert catalog.leases.current(PIPELINE) == held

    @pytest.mark.spec("AD-019")
    @pytest.mark.spec("HC-107")
    def test_a_dead_holder_is_followed_when_the_time_is_over_and_not_a_tick_before(
        self, catalog: Catalog
    ) -> None:
        dead = taken(catalog)

        early = catalog.leases.acquire(PIPELINE, BEN, dead.expires_at - TICK, TTL)
        in_time = catalog.leases.acquire(PIPELINE, BEN, dead.expires_at, TTL)

        assert early is None
        assert in_time is not None
        assert in_time.holder == BEN
        assert in_time.expires_at == dead.expires_at + TTL

    @pytest.mark.spec("AD-019")
    def test_the_fence_grows_with_every_holder(self, catalog: Catalog) -> None:
        leases = [taken(catalog), taken_over(catalog)]
        catalog.leases.release(leases[-1])
        leases.append(taken(catalog))

        fences = [lease.fence for lease in leases]
        assert fences == sorted(set(fences))

    def test_two_holders_of_one_name_are_told_apart(self, catalog: Catalog) -> None:
        first = taken(catalog)

        second = catalog.leases.acquire(PIPELINE, ANNA, first.expires_at, TTL)

        assert second is not None
        assert second.nonce != first.nonce
        with pytest.raises(LeaseLost):
            catalog.leases.renew(first, first.expires_at, TTL)

    def test_a_renewed_lease_is_held_longer_by_the_same_holder(self, catalog: Catalog) -> None:
        held = taken(catalog)

        renewed = catalog.leases.renew(held, T0 + MINUTE, TTL)

        assert renewed.expires_at == T0 + MINUTE + TTL
        assert (renewed.holder, renewed.fence, renewed.nonce) == (held.holder, held.fence, held.nonce)
        assert catalog.leases.current(PIPELINE) == renewed
        assert catalog.leases.acquire(PIPELINE, BEN, held.expires_at, TTL) is None

    def test_renewing_never_shortens_a_lease(self, catalog: Catalog) -> None:
        held = taken(catalog)

        assert catalog.leases.renew(held, T0 - HOUR, TTL).expires_at == held.expires_at
        assert catalog.leases.renew(held, T0, MINUTE).expires_at == held.expires_at

    def test_an_expired_lease_that_nobody_took_is_renewed(self, catalog: Catalog) -> None:
        held = taken(catalog)

        renewed = catalog.leases.renew(held, T0 + HOUR, TTL)

        assert renewed.expires_at == T0 + HOUR + TTL
        assert renewed.fence == held.fence

    @pytest.mark.spec("AD-019")
    def test_a_lease_that_another_took_is_lost(self, catalog: Catalog) -> None:
        lost = taken(catalog)
        current = taken_over(catalog)

        with pytest.raises(LeaseLost) as raised:
            catalog.leases.renew(lost, T0 + HOUR, TTL)

        assert raised.value.fence == lost.fence
        assert catalog.leases.current(PIPELINE) == current

    def test_a_released_lease_is_free_at_once(self, catalog: Catalog) -> None:
        held = taken(catalog)

        catalog.leases.release(held)

        assert catalog.leases.current(PIPELINE) is None
        # Also for a node whose clock is behind that of the former holder.
        assert catalog.leases.acquire(PIPELINE, BEN, T0 - HOUR, TTL) is not None

    def test_a_released_lease_cannot_be_renewed(self, catalog: Catalog) -> None:
        held = taken(catalog)
        catalog.leases.release(held)

        with pytest.raises(LeaseLost):
            catalog.leases.renew(held, T0, TTL)

        assert catalog.leases.current(PIPELINE) is None

    def test_releasing_a_lost_lease_changes_nothing(self, catalog: Catalog) -> None:
        lost = taken(catalog)
        current = taken_over(catalog)

        catalog.leases.release(lost)

        assert catalog.leases.current(PIPELINE) == current

    def test_releasing_twice_is_once(self, catalog: Catalog) -> None:
        held = taken(catalog)
        catalog.leases.release(held)
        catalog.leases.release(held)

        assert catalog.leases.current(PIPELINE) is None

    def test_the_current_lease_is_the_last_one_given_expired_or_not(self, catalog: Catalog) -> None:
        assert catalog.leases.current(PIPELINE) is None

        held = taken(catalog)
        assert catalog.leases.current(PIPELINE) == held

        current = taken_over(catalog)
        assert catalog.leases.current(PIPELINE) == current

    def test_pipelines_have_leases_of_their_own(self, catalog: Catalog) -> None:
        taken(catalog)

        assert catalog.leases.acquire(OTHER_PIPELINE, BEN, T0, TTL) is not None

    @pytest.mark.spec("AD-001")
    @pytest.mark.spec("HC-105")
    @upholds(Invariant.LINEARIZABLE_PIPELINES)
    def test_of_many_who_take_a_lease_at_once_one_gets_it(self, catalog: Catalog, opener: Opener) -> None:
        with opener.open() as other:
            handles = (catalog, other)

            def race(now: datetime) -> list[Lease]:
                given = at_once(lambda n: handles[n % 2].leases.acquire(PIPELINE, ANNA, now, TTL))
                return [lease for lease in given if lease is not None]

            winners = [race(T0 + number * TTL) for number in range(4)]

        assert [len(given) for given in winners] == [1, 1, 1, 1]
        fences = [given[0].fence for given in winners]
        assert fences == sorted(set(fences))

    @pytest.mark.spec("AD-001")
    @upholds(Invariant.LINEARIZABLE_PIPELINES)
    def test_the_store_lets_no_lease_go_back_or_be_stolen(self, catalog: Catalog, vandal: Vandal) -> None:
        taken(catalog)
        held = taken_over(catalog)

        refuses_all(
            [
                lambda: vandal.lower_fence(held),
                lambda: vandal.steal_lease(held, ANNA),
                lambda: vandal.delete_lease(PIPELINE),
            ],
            lambda: catalog.leases.current(PIPELINE),
        )
