"""Revocation epochs on SQL databases, and the guard that goes by them."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from tests.support.databases import T0

from hakiri.catalog.contract.revocations import Scope
from hakiri.catalog.errors import (
    CatalogBusy,
    CatalogDamaged,
    CatalogError,
    CatalogUnreachable,
    RevocationUnknown,
    TokenRevoked,
)
from hakiri.catalog.revocation import RevocationGuard, TokenStamp
from hakiri.catalog.sql.database import Database
from hakiri.catalog.sql.revocations import SqlRevocations
from hakiri.core.errors import ExitCode

AGENTS = Scope("shop", "acme", "agent")
PEOPLE = Scope("shop", "acme", "person")
SECOND = timedelta(seconds=1)
TICK = timedelta(microseconds=1)
OUT_OF_REACH = CatalogUnreachable("postgresql://db", "no route to host")


class Epochs:
    """Epochs as a catalog has them, with an outage whenever a test wants one."""

    def __init__(self) -> None:
        self.outage: CatalogError | None = None
        self.reads = 0
        self._epochs: dict[Scope, int] = {}

    def epoch(self, scope: Scope) -> int:
        self.reads += 1
        if self.outage is not None:
            raise self.outage
        return self._epochs.get(scope, 0)

    def bump(self, scope: Scope, now: object = None) -> int:
        self._epochs[scope] = self._epochs.get(scope, 0) + 1
        return self._epochs[scope]

    def set_back(self, scope: Scope, epoch: int) -> None:
        """Answer as a replica that lags behind does."""
        self._epochs[scope] = epoch


def stamp(epoch: int, scope: Scope = AGENTS) -> TokenStamp:
    return TokenStamp(scope=scope, epoch=epoch)


# The epochs in the catalog ----------------------------------------------------------------------------------


def test_an_epoch_begins_at_zero_and_grows_by_one(database: Database) -> None:
    revocations = SqlRevocations(database)
    before = revocations.epoch(AGENTS)

    bumped = [revocations.bump(AGENTS, T0), revocations.bump(AGENTS, T0 - SECOND)]

    assert (before, bumped, revocations.epoch(AGENTS)) == (0, [1, 2], 2)


@pytest.mark.parametrize(
    "other", [PEOPLE, Scope("shop", "Acme", "agent"), Scope("shop2", "acme", "agent"), Scope("", "", "")]
)
def test_every_scope_has_an_epoch_of_its_own(database: Database, other: Scope) -> None:
    revocations = SqlRevocations(database)

    revocations.bump(AGENTS, T0)

    assert revocations.epoch(other) == 0


def test_no_bump_is_lost_when_many_come_at_once(database: Database) -> None:
    revocations = SqlRevocations(database)

    with ThreadPoolExecutor(8) as workers:
        bumped = list(workers.map(lambda _: revocations.bump(AGENTS, T0), range(50)))

    assert sorted(bumped) == list(range(1, 51))


@pytest.mark.spec("AD-008")
def test_no_reader_sees_an_epoch_go_back_or_one_that_was_not_written(database: Database) -> None:
    revocations = SqlRevocations(database)
    is_over = threading.Event()

    def read(_: int) -> list[int]:
        seen = []
        while not is_over.is_set():
            seen.append(revocations.epoch(AGENTS))
        return [*seen, revocations.epoch(AGENTS)]

    with ThreadPoolExecutor(4) as workers:
        reading = [workers.submit(read, number) for number in range(4)]
        written = [revocations.bump(AGENTS, T0) for _ in range(30)]
        is_over.set()
        histories = [task.result() for task in reading]

    for history in histories:
        assert history == sorted(history)
        assert set(history) <= {0, *written}
        assert history[-1] == 30


@pytest.mark.spec("AD-006")
def test_a_token_is_refused_at_once_after_a_bump_and_a_new_one_is_let_in(database: Database) -> None:
    revocations = SqlRevocations(database)
    guards = [RevocationGuard(revocations) for _ in range(3)]
    for guard in guards:
        guard.check(stamp(0), T0)

    epoch = revocations.bump(AGENTS, T0)

    for guard in guards:
        with pytest.raises(TokenRevoked):
            guard.check(stamp(0), T0)
        guard.check(stamp(epoch), T0)
        guard.check(stamp(0, PEOPLE), T0)


# The guard --------------------------------------------------------------------------------------------------


@pytest.mark.spec("AD-006")
def test_the_epoch_is_read_on_every_check() -> None:
    epochs = Epochs()
    guard = RevocationGuard(epochs)

    for _ in range(3):
        guard.check(stamp(0), T0)

    assert epochs.reads == 3


def test_a_revoked_token_is_refused_with_both_epochs_and_what_to_do() -> None:
    epochs = Epochs()
    epochs.bump(AGENTS)

    with pytest.raises(TokenRevoked) as caught:
        RevocationGuard(epochs).check(stamp(0), T0)

    error = pickle.loads(pickle.dumps(caught.value))
    assert str(error) == "the token of epoch 0 does not count: `shop/acme/agent` is at epoch 1"
    assert error.hint == "ask for a new token"
    assert (error.code, error.exit_code, error.retryable) == (
        "catalog.token_revoked",
        ExitCode.REFUSED,
        False,
    )


@pytest.mark.spec("AD-008")
def test_a_token_of_an_epoch_to_come_is_refused() -> None:
    with pytest.raises(TokenRevoked, match="the token of epoch 1 does not count"):
        RevocationGuard(Epochs()).check(stamp(1), T0)


@pytest.mark.spec("AD-007")
@pytest.mark.parametrize("outage", [OUT_OF_REACH, CatalogBusy("sqlite:///meta.sqlite")])
def test_while_the_catalog_is_out_of_reach_the_last_epoch_counts_for_the_window(outage: CatalogError) -> None:
    epochs = Epochs()
    guard = RevocationGuard(epochs)
    guard.check(stamp(0), T0)
    epochs.bump(AGENTS)
    epochs.outage = outage

    guard.check(stamp(0), T0 + 60 * SECOND)
    with pytest.raises(RevocationUnknown):
        guard.check(stamp(0), T0 + 60 * SECOND + TICK)


@pytest.mark.spec("AD-007")
def test_the_window_is_configurable_and_may_be_none_at_all() -> None:
    epochs = Epochs()
    strict, patient = RevocationGuard(epochs, timedelta()), RevocationGuard(epochs, timedelta(hours=1))
    for guard in (strict, patient):
        guard.check(stamp(0), T0)
    epochs.outage = OUT_OF_REACH

    patient.check(stamp(0), T0 + timedelta(minutes=59))
    with pytest.raises(RevocationUnknown):
        strict.check(stamp(0), T0 + TICK)


def test_a_token_that_was_known_as_revoked_stays_so_during_an_outage() -> None:
    epochs = Epochs()
    guard = RevocationGuard(epochs)
    guard.check(stamp(0), T0)
    epochs.bump(AGENTS)
    guard.check(stamp(1), T0)
    epochs.outage = OUT_OF_REACH

    guard.check(stamp(1), T0 + SECOND)
    with pytest.raises(TokenRevoked):
        guard.check(stamp(0), T0 + SECOND)


def test_an_outage_without_an_earlier_reading_refuses_and_says_why() -> None:
    epochs = Epochs()
    epochs.outage = OUT_OF_REACH

    with pytest.raises(RevocationUnknown) as caught:
        RevocationGuard(epochs).check(stamp(0), T0)

    error = caught.value
    assert str(error) == (
        "the catalog is out of reach, and the epoch of `shop/acme/agent` is not known: it was never read"
    )
    assert error.hint == "try again when the catalog answers"
    assert (error.code, error.exit_code, error.retryable) == (
        "catalog.revocation_unknown",
        ExitCode.REFUSED,
        True,
    )
    assert error.__cause__ is OUT_OF_REACH


def test_a_reading_of_one_scope_says_nothing_of_another() -> None:
    epochs = Epochs()
    guard = RevocationGuard(epochs)
    guard.check(stamp(0), T0)
    epochs.outage = OUT_OF_REACH

    with pytest.raises(RevocationUnknown):
        guard.check(stamp(0, PEOPLE), T0)


def test_during_an_outage_a_newer_token_is_not_known_to_be_wrong() -> None:
    epochs = Epochs()
    guard = RevocationGuard(epochs)
    guard.check(stamp(0), T0)
    epochs.outage = OUT_OF_REACH

    with pytest.raises(RevocationUnknown, match="newer than what was last read"):
        guard.check(stamp(1), T0 + SECOND)


def test_checks_during_an_outage_do_not_make_the_reading_younger() -> None:
    epochs = Epochs()
    guard = RevocationGuard(epochs)
    guard.check(stamp(0), T0)
    epochs.outage = OUT_OF_REACH

    for seconds in range(61):
        guard.check(stamp(0), T0 + seconds * SECOND)
    with pytest.raises(RevocationUnknown):
        guard.check(stamp(0), T0 + 61 * SECOND)


def test_a_clock_that_goes_back_an_hour_adds_one_window_at_most() -> None:
    epochs = Epochs()
    guard = RevocationGuard(epochs)
    guard.check(stamp(0), T0)
    epochs.outage = OUT_OF_REACH
    guard.check(stamp(0), T0 + 59 * SECOND)
    back = T0 - timedelta(hours=1)

    guard.check(stamp(0), back)
    guard.check(stamp(0), back + 60 * SECOND)
    with pytest.raises(RevocationUnknown):
        guard.check(stamp(0), back + 61 * SECOND)


def test_a_reading_after_the_clock_went_back_is_as_old_as_the_clock_says() -> None:
    epochs = Epochs()
    guard = RevocationGuard(epochs)
    guard.check(stamp(0), T0)
    guard.check(stamp(0), T0 - timedelta(minutes=5))
    epochs.outage = OUT_OF_REACH

    with pytest.raises(RevocationUnknown):
        guard.check(stamp(0), T0 - timedelta(minutes=3))


def test_once_the_catalog_answers_again_its_word_counts() -> None:
    epochs = Epochs()
    guard = RevocationGuard(epochs)
    guard.check(stamp(0), T0)
    epochs.outage = OUT_OF_REACH
    with pytest.raises(RevocationUnknown):
        guard.check(stamp(0), T0 + timedelta(hours=1))
    epochs.outage = None

    guard.check(stamp(0), T0 + timedelta(hours=1))


def test_an_epoch_once_seen_is_not_taken_back() -> None:
    epochs = Epochs()
    guard = RevocationGuard(epochs)
    epochs.bump(AGENTS)
    guard.check(stamp(1), T0)

    epochs.set_back(AGENTS, 0)

    guard.check(stamp(1), T0)
    with pytest.raises(TokenRevoked):
        guard.check(stamp(0), T0)


def test_a_catalog_that_is_damaged_is_not_one_out_of_reach() -> None:
    epochs = Epochs()
    guard = RevocationGuard(epochs)
    guard.check(stamp(0), T0)
    epochs.outage = CatalogDamaged("sqlite:///meta.sqlite", "malformed")

    with pytest.raises(CatalogDamaged):
        guard.check(stamp(0), T0)


def test_no_thread_lets_a_token_in_after_any_has_seen_it_revoked() -> None:
    epochs = Epochs()
    guard = RevocationGuard(epochs)

    def is_let_in(number: int) -> bool:
        if number == 50:
            epochs.bump(AGENTS)
        try:
            guard.check(stamp(0), T0 + number * TICK)
        except TokenRevoked:
            return False
        return True

    with ThreadPoolExecutor(8) as workers:
        list(workers.map(is_let_in, range(200)))

    assert not is_let_in(200)
