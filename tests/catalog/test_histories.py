"""Random concurrent histories of every backend, checked for linearizability; and whether a check notices."""

from __future__ import annotations

import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.support.memory_catalog import BROKEN, Handle, MemoryCatalog
from tests.support.seeds import chosen_seed

from hakiri.catalog.contract import Catalog
from hakiri.catalog.errors import CatalogError, CommitUnknown
from hakiri.catalog.testing import Opener, UrlOpener
from hakiri.catalog.testing.calls import Call
from hakiri.catalog.testing.histories import HANDLES, HistoryContract, check_histories

pytestmark = pytest.mark.proof

FEWER_HISTORIES = 50
ENOUGH_HISTORIES = 100  # in so many, any of the broken catalogs is found out
NO_ORDER = "no order of these calls|the number of the second"


def performed(catalog: Catalog, call: Call) -> object:
    return getattr(getattr(catalog, call.role), call.method)(**call.arguments)


class ImperfectHistories(HistoryContract):
    """The same behind something that loses answers, or that spoils them."""

    @pytest.fixture
    def seed(self) -> int:
        return chosen_seed()

    @pytest.mark.spec("AD-001")
    def test_every_history_has_an_order_when_answers_get_lost(
        self, catalog: Catalog, opener: Opener, seed: int
    ) -> None:
        chance = Random(seed)

        def answer(call: Call) -> object:
            fate = chance.random()
            if fate < 0.04:
                raise CommitUnknown("here", "the call never arrived")
            told = performed(catalog, call)
            if fate > 0.96:
                raise CommitUnknown("here", "the answer never arrived")
            return told

        lossy: Any = Handle(answer)

        with opener.open() as other:
            check_histories([lossy, other], seed, FEWER_HISTORIES)

    def test_a_cache_before_a_real_catalog_is_found_out(
        self, catalog: Catalog, opener: Opener, seed: int
    ) -> None:
        cached: dict[str, object] = {}

        def answer(call: Call) -> object:
            told = performed(catalog, call)
            return cached.setdefault(call.pipeline, told) if call.method == "tally" else told

        stale: Any = Handle(answer)

        with opener.open() as other, pytest.raises(AssertionError, match=NO_ORDER):
            check_histories([stale, other], seed, ENOUGH_HISTORIES)

    def test_a_real_catalog_that_loses_cursors_is_found_out(
        self, catalog: Catalog, opener: Opener, seed: int
    ) -> None:
        lost = threading.Semaphore(3)

        def answer(call: Call) -> object:
            if (call.role, call.method) != ("cursors", "put") or not lost.acquire(blocking=False):
                return performed(catalog, call)
            try:
                return performed(catalog, Call("cursors", "put", {**call.arguments, "table": "elsewhere"}))
            except CatalogError:
                lost.release()  # what is refused is not lost
                raise

        forgetful: Any = Handle(answer)

        with opener.open() as other, pytest.raises(AssertionError, match=NO_ORDER):
            check_histories([forgetful, other], seed, ENOUGH_HISTORIES)


class TestSqliteHistories(ImperfectHistories):
    @pytest.fixture
    def opener(self, tmp_path: Path) -> Opener:
        return UrlOpener(url="sqlite:///meta.sqlite", project="histories", base=tmp_path)


class TestPostgresHistories(ImperfectHistories):
    @pytest.fixture
    def opener(self, tmp_path: Path, postgres_url: str) -> Opener:
        return UrlOpener(url=postgres_url, project="histories", base=tmp_path)


def test_a_catalog_that_keeps_its_promises_is_never_suspected() -> None:
    catalog = MemoryCatalog()

    check_histories([catalog.handle() for _ in range(HANDLES)], chosen_seed())


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_catalog_is_found_out(broken: type[MemoryCatalog]) -> None:
    catalog = broken()
    seed = chosen_seed()

    with pytest.raises(AssertionError, match=NO_ORDER) as raised:
        check_histories([catalog.handle() for _ in range(HANDLES)], seed, ENOUGH_HISTORIES)

    first_words, last_word = raised.value.__notes__[0].rstrip(".").rsplit(" ", 1)
    assert first_words == "This was with seed"
    assert seed <= int(last_word) < seed + ENOUGH_HISTORIES
