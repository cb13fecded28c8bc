"""Tests of `catalog.revocations`, by itself and through the guard that checks tokens."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.revocations import Scope
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.errors import TokenRevoked
from hakiri.catalog.revocation import STALENESS_WINDOW, RevocationGuard, TokenStamp
from hakiri.catalog.testing.base import Contract, Opener
from hakiri.catalog.testing.divergences import upholds
from hakiri.catalog.testing.samples import T0, THREADS, at_once, tried
from hakiri.catalog.testing.vandal import Vandal, refuses_all

SCOPE = Scope(project="shop", tenant="acme", principal_class="agent")
OTHERS = (
    Scope(project="blog", tenant="acme", principal_class="agent"),
    Scope(project="shop", tenant="", principal_class="agent"),
    Scope(project="shop", tenant="acme", principal_class="operator"),
)


class RevocationContract(Contract):
    """One epoch a scope, which only grows."""

    def test_epochs_begin_at_0(self, catalog: Catalog) -> None:
        assert catalog.revocations.epoch(SCOPE) == 0

    def test_a_bump_makes_the_next_epoch(self, catalog: Catalog) -> None:
        for expected in (1, 2, 3):
            assert catalog.revocations.bump(SCOPE, T0) == expected
            assert catalog.revocations.epoch(SCOPE) == expected

    def test_scopes_are_revoked_apart(self, catalog: Catalog) -> None:
        catalog.revocations.bump(SCOPE, T0)

        assert [catalog.revocations.epoch(scope) for scope in OTHERS] == [0, 0, 0]

    @pytest.mark.spec("AD-007")
    @upholds(Invariant.BOUNDED_REVOCATION)
    def test_every_reader_sees_a_bump_at_once_and_so_within_any_window(
        self, catalog: Catalog, opener: Opener
    ) -> None:
        with ExitStack() as stack:
            readers = [stack.enter_context(opener.open()) for _ in range(4)]
            assert [reader.revocations.epoch(SCOPE) for reader in readers] == [0] * 4

            epoch = catalog.revocations.bump(SCOPE, T0)

            assert [reader.revocations.epoch(SCOPE) for reader in readers] == [epoch] * 4

    @pytest.mark.spec("AD-006")
    @pytest.mark.spec("AD-021")
    @upholds(Invariant.BOUNDED_REVOCATION)
    def test_every_guard_refuses_an_old_token_within_the_window_and_takes_a_new_one(
        self, catalog: Catalog, opener: Opener
    ) -> None:
        old = TokenStamp(scope=SCOPE, epoch=catalog.revocations.epoch(SCOPE))
        with ExitStack() as stack:
            guards = [
                RevocationGuard(stack.enter_context(opener.open()).revocations, STALENESS_WINDOW)
                for _ in range(4)
            ]
            for guard in guards:
                guard.check(old, T0)

            new = TokenStamp(scope=SCOPE, epoch=catalog.revocations.bump(SCOPE, T0))

            for guard in guards:
                with pytest.raises(TokenRevoked):
                    guard.check(old, T0 + STALENESS_WINDOW)
                guard.check(new, T0 + STALENESS_WINDOW)

    @pytest.mark.spec("AD-008")
    @upholds(Invariant.BOUNDED_REVOCATION)
    def test_no_reader_is_ahead_of_the_truth_or_goes_back(self, catalog: Catalog, opener: Opener) -> None:
        bumps = 20
        about_to_be = 0  # the highest epoch that may have been written
        was = 0  # the lowest that surely was
        is_over = threading.Event()

        def bump() -> None:
            nonlocal about_to_be, was
            for number in range(1, bumps + 1):
                about_to_be = number
                assert catalog.revocations.bump(SCOPE, T0) == number
                was = number

        def read(handle: Catalog) -> None:
            seen = 0
            while not is_over.is_set():
                least = max(seen, was)
                seen = handle.revocations.epoch(SCOPE)
                assert least <= seen <= about_to_be

        def take_part(number: int) -> None:
            if number:
                read((catalog, other)[number % 2])
                return
            try:
                bump()
            finally:
                is_over.set()

        with opener.open() as other:
            at_once(take_part, threads=4)

        assert catalog.revocations.epoch(SCOPE) == bumps

    @pytest.mark.spec("AD-008")
    @upholds(Invariant.BOUNDED_REVOCATION)
    def test_many_who_bump_at_once_each_make_an_epoch_of_their_own(self, catalog: Catalog) -> None:
        epochs = at_once(lambda _: [catalog.revocations.bump(SCOPE, T0) for _ in range(3)])

        assert sorted(epoch for some in epochs for epoch in some) == list(range(1, 3 * THREADS + 1))

    @pytest.mark.spec("AD-006")
    def test_a_guard_checks_against_the_catalog_every_time(self, catalog: Catalog) -> None:
        guard = RevocationGuard(catalog.revocations)
        stamp = TokenStamp(scope=SCOPE, epoch=0)
        guard.check(stamp, T0)

        catalog.revocations.bump(SCOPE, T0)

        # At the same moment: nothing was kept from the first look.
        assert isinstance(tried(lambda: guard.check(stamp, T0)), TokenRevoked)

    @upholds(Invariant.BOUNDED_REVOCATION)
    def test_the_store_lowers_and_removes_no_epoch(self, catalog: Catalog, vandal: Vandal) -> None:
        catalog.revocations.bump(SCOPE, T0)
        catalog.revocations.bump(SCOPE, T0)

        refuses_all(
            [lambda: vandal.lower_epoch(SCOPE), lambda: vandal.delete_epoch(SCOPE)],
            lambda: catalog.revocations.epoch(SCOPE),
        )
