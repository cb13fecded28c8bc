"""The budget of a source that several processes share through the catalog."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.callers import Caller
from tests.support.github_api import GithubApi
from tests.support.http_api import HttpApi, Reply
from tests.support.runtime import Lab, stopping_at
from tests.support.services import busy_repository, most_in_window
from tests.support.victims import SERVER

from hakiri.catalog import Catalog, open_catalog
from hakiri.catalog.contract.budgets import Account, Budgets, Taken
from hakiri.core.clock import SystemClock
from hakiri.core.grammar import Rate
from hakiri.core.ids import PipelineId
from hakiri.pipelines.runtime.budgets import CatalogBudget, shared_budget
from hakiri.pipelines.runtime.steps import Step
from hakiri.sources.budget import SharedBudget, StoppedWaiting

NAME = "source/p"
HAKIRI = Path(sys.executable).parent / "hakiri"


@dataclass
class CountedBudgets:
    """The budgets of a catalog, with the writes counted."""

    inner: Budgets
    writes: list[int] = field(default_factory=list)

    @property
    def clocks_apart(self) -> timedelta:
        return self.inner.clocks_apart

    def get(self, name: str) -> Account:
        return self.inner.get(name)

    def take(self, name: str, *, wanted: int, most: int, rate: Rate, now: datetime) -> Taken:
        taken = self.inner.take(name, wanted=wanted, most=most, rate=rate, now=now)
        self.writes.append(taken.granted)
        return taken

    def note(self, name: str, rate: Rate | None) -> None:
        self.inner.note(name, rate)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    url = "sqlite:///meta.sqlite"
    with open_catalog(url, project="shop", base=tmp_path, now=SystemClock().now()) as catalog:
        yield catalog


def wider_budget(budgets: Budgets, rate: str, stop: threading.Event | None = None) -> CatalogBudget:
    return CatalogBudget(
        budgets=budgets,
        name=NAME,
        rate=Rate.parse(rate),
        clock=SystemClock(),
        has_stopped=(stop or threading.Event()).is_set,
    )


def test_calls_at_a_high_rate_share_transactions_and_nearly_all_of_them_are_made(catalog: Catalog) -> None:
    budgets = CountedBudgets(catalog.budgets)
    wider = wider_budget(budgets, "100000/min")
    for _ in range(2000):
        assert wider.take() is None

    assert len(budgets.writes) < 100
    assert catalog.budgets.get(NAME).granted <= 2 * 2000


def test_calls_at_a_low_rate_are_taken_one_by_one(catalog: Catalog) -> None:
    budgets = CountedBudgets(catalog.budgets)
    wider = wider_budget(budgets, "3/h")

    answers = [wider.take() for _ in range(4)]

    assert (answers[:3], budgets.writes) == ([None] * 3, [1, 1, 1])
    refused = answers[3]
    assert refused is not None
    assert 3600 < refused.seconds <= 1.075 * 3600
    assert refused.ask_again_seconds == refused.seconds  # nobody else takes, so nothing changes before


def test_whoever_has_company_looks_more_often_than_it_waits(catalog: Catalog) -> None:
    one, other = (wider_budget(catalog.budgets, "3/h") for _ in range(2))
    one.take()
    other.take()
    one.take()

    refused = one.take()

    assert refused is not None
    assert refused.ask_again_seconds == 3600 / 80


def test_a_block_is_good_for_a_twentieth_of_the_window(catalog: Catalog) -> None:
    budgets = CountedBudgets(catalog.budgets)
    wider = wider_budget(budgets, "100000/min")
    for _ in range(20):
        wider.take()
    left, wider._good_until = wider._left, 0.0
    writes = len(budgets.writes)
    wider.take()

    assert left > 0
    assert len(budgets.writes) == writes + 1


def test_the_next_run_knows_what_the_last_one_called(catalog: Catalog) -> None:
    first = SharedBudget(Rate.parse("5/h"), SystemClock(), wider_budget(catalog.budgets, "5/h"))
    for _ in range(5):
        with first.turn():
            pass
    stop = threading.Event()
    second = SharedBudget(Rate.parse("5/h"), SystemClock(), wider_budget(catalog.budgets, "5/h", stop))
    told: list[float] = []

    def stop_then(seconds: float) -> None:
        told.append(seconds)
        stop.set()

    second.on_wait = stop_then

    with pytest.raises(StoppedWaiting):
        second.take()

    (seconds,) = told
    assert 3600 < seconds <= 3900
    assert catalog.budgets.get(NAME).granted == 5


def test_a_source_without_a_budget_says_so_for_those_who_look(tmp_path: Path) -> None:
    lab = Lab(root=tmp_path, spark=None).write("")
    with lab.ground() as ground:
        rates = []
        for rate in (None, Rate.parse("5/s"), None):
            wider = shared_budget(ground, PipelineId("p"), rate)
            rates.append((wider is not None, ground.catalog.budgets.get(NAME).rate))

    assert rates == [(False, None), (True, Rate.parse("5/s")), (False, None)]


@pytest.fixture(params=["sqlite", "postgres"])
def catalog_url(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "sqlite":
        yield "sqlite:///meta.sqlite"
        return
    server = request.getfixturevalue("postgres_server")
    name = server.create_database()
    yield server.url(name)
    server.drop_database(name)


@pytest.mark.proof
@pytest.mark.spec("HP-134")
def test_processes_together_never_call_more_often_than_the_budget_allows(
    catalog_url: str, tmp_path: Path
) -> None:
    open_catalog(catalog_url, project="shop", base=tmp_path, now=SystemClock().now()).close()
    with HttpApi(lambda call: Reply()) as api, ProcessPoolExecutor(2, SERVER) as processes:
        caller = Caller(catalog_url=catalog_url, base=tmp_path, server_url=api.url, rate="30/2s", seconds=7)
        made = [future.result(40) for future in [processes.submit(caller.work) for _ in range(2)]]

    assert most_in_window(api.calls, 2.0) <= 30
    assert sum(made) == len(api.calls)
    assert min(made) > 0
    # One window at once, and what two and a half further ones bring.
    assert sum(made) >= 30 + 2 * 30


@pytest.mark.proof
@pytest.mark.spec("HP-134")
def test_one_process_alone_makes_nine_tenths_of_the_calls_that_it_may(tmp_path: Path) -> None:
    with HttpApi(lambda call: Reply()) as api:
        caller = Caller(
            catalog_url="sqlite:///meta.sqlite", base=tmp_path, server_url=api.url, rate="50/s", seconds=5
        )
        made = caller.work()

    assert most_in_window(api.calls, 1.0) <= 50
    assert made >= 0.9 * 50 * 5


@pytest.mark.spark
@pytest.mark.spec("HP-141")
def test_another_process_sees_in_the_middle_of_a_backfill_how_much_of_the_budget_is_used(
    tmp_path: Path, spark: Any
) -> None:
    """The budget is not in the manifest: the connector knows what its source stands."""
    told: list[dict[str, Any]] = []

    def look() -> None:
        status = subprocess.run(
            [HAKIRI, "status", "p", "--json"], cwd=tmp_path, capture_output=True, check=True, env=os.environ
        )
        told.append({**json.loads(status.stdout), "calls": len(api.calls)})

    with GithubApi(busy_repository("o/r", days=12)) as api:
        lab = Lab(root=tmp_path, spark=spark).write(
            f'[[pipeline]]\nid = "p"\nsource = {{ connector = "github", config = '
            f'{{ repo = "o/r", base_url = "{api.url}" }} }}\ntables = ["issues"]\n'
            'incremental = "updated_at"\nbackfill = { window = "3d" }\n'
        )
        lab.applied(reached=stopping_at(Step.COMMITTED, look))

    (status,) = told
    assert (status["phase"], status["rate_budget"]) == ("backfilling", "60/h")
    assert 0 < status["calls"] < 60
    assert round(status["calls"] / 0.6) <= status["rate_budget_consumed_pct"] <= 100
