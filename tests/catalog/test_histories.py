"""Random concurrent histories of every backend, checked for linearizability; and whether a check notices."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import pytest
from tests.support.memory_catalog import BROKEN, Handle, MemoryCatalog

from hakiri.catalog.contract import Catalog
from hakiri.catalog.errors import CommitUnknown
from hakiri.catalog.testing.base import UrlOpener
from hakiri.catalog.testing.calls import Call, perform
from hakiri.catalog.testing.histories import find_faults, record_history

HISTORIES = 150
HANDLES = 3
ENOUGH_HISTORIES = 100  # in so many, any of the broken catalogs is found out
SEED = int(os.environ.get("HAKIRI_TEST_SEED") or SystemRandom().randrange(2**32))


def check_histories(handles: Sequence[Catalog], count: int = HISTORIES) -> None:
    """Record histories and check each; the seed in the message plays the first bad one first."""
    for number in range(count):
        seed = SEED + number
        history = record_history(handles, f"history-{number}", seed)
        faults = find_faults(history)
        assert not faults, f"HAKIRI_TEST_SEED={seed} plays a history like this one:\n" + "\n\n".join(faults)


@pytest.fixture(params=["sqlite", "postgres"])
def handles(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Catalog]]:
    """Several handles on one empty catalog."""
    is_sqlite = request.param == "sqlite"
    url = f"sqlite:///{tmp_path}/meta.sqlite" if is_sqlite else request.getfixturevalue("postgres_url")
    opener = UrlOpener(url=url, project="histories", base=tmp_path)
    with ExitStack() as stack:
        yield [stack.enter_context(opener.open()) for _ in range(HANDLES)]


@pytest.mark.spec("AD-001")
def test_every_history_of_a_pipeline_has_an_order(handles: list[Catalog]) -> None:
    check_histories(handles)

    assert handles[0].check() == ()


@pytest.mark.spec("AD-001")
def test_every_history_has_an_order_when_answers_get_lost(handles: list[Catalog]) -> None:
    chance = Random(SEED)

    def answer(call: Call) -> object:
        fate = chance.random()
        if fate < 0.04:
            raise CommitUnknown("here", "the call never arrived")
        told = getattr(getattr(handles[0], call.role), call.method)(**call.arguments)
        if fate > 0.96:
            raise CommitUnknown("here", "the answer never arrived")
        return told

    lossy: Any = Handle(answer)

    check_histories([lossy, handles[1]], HISTORIES // 3)


def test_a_catalog_that_keeps_its_promises_is_never_suspected() -> None:
    catalog = MemoryCatalog()

    check_histories([catalog.handle() for _ in range(HANDLES)])


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_catalog_is_found_out(broken: type[MemoryCatalog]) -> None:
    catalog = broken()

    with pytest.raises(AssertionError, match="HAKIRI_TEST_SEED="):
        check_histories([catalog.handle() for _ in range(HANDLES)], ENOUGH_HISTORIES)


def test_a_cache_before_a_real_catalog_is_found_out(handles: list[Catalog]) -> None:
    cached: dict[str, object] = {}

    def answer(call: Call) -> object:
        told = perform(handles[0], call)
        return cached.setdefault(call.pipeline, told) if call.method == "tally" else told

    cache: Any = Handle(answer)

    with pytest.raises(AssertionError, match="HAKIRI_TEST_SEED="):
        check_histories([cache, handles[1]], ENOUGH_HISTORIES)


def test_a_real_catalog_that_loses_cursors_is_found_out(handles: list[Catalog]) -> None:
    lost = threading.Semaphore(3)

    def answer(call: Call) -> object:
        if call.role == "cursors" and call.method == "put" and lost.acquire(blocking=False):
            elsewhere = {**call.arguments, "table": "elsewhere"}
            return perform(handles[0], Call("cursors", "put", elsewhere))
        return perform(handles[0], call)

    lossy: Any = Handle(answer)

    with pytest.raises(AssertionError, match="HAKIRI_TEST_SEED="):
        check_histories([lossy, handles[1]], ENOUGH_HISTORIES)
