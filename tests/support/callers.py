"""A process that calls an HTTP server as often as the budget in a catalog lets it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from hakiri.catalog import open_catalog
from hakiri.core.clock import SystemClock
from hakiri.core.grammar import Rate
from hakiri.core.ids import PipelineId
from hakiri.pipelines.budgets import budget_name
from hakiri.pipelines.runtime.budgets import CatalogBudget
from hakiri.sources.budget import SharedBudget


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """What one process does: so many threads call the server, one call after the other, for some seconds."""

    catalog_url: str
    base: Path
    server_url: str
    rate: str
    seconds: float
    threads: int = 3
    pipeline: str = "p"

    def work(self) -> int:
        """How many calls it made."""
        clock, rate = SystemClock(), Rate.parse(self.rate)
        with (
            open_catalog(self.catalog_url, project="shop", base=self.base, now=clock.now()) as catalog,
            ThreadPoolExecutor(self.threads) as threads,
        ):
            wider = CatalogBudget(
                budgets=catalog.budgets,
                name=budget_name(PipelineId(self.pipeline)),
                rate=rate,
                clock=clock,
                has_stopped=lambda: False,
            )
            budget = SharedBudget(rate, clock, wider)
            end = clock.monotonic() + self.seconds
            return sum(threads.map(lambda _: self._call_until(end, budget, clock), range(self.threads)))

    def _call_until(self, end: float, budget: SharedBudget, clock: SystemClock) -> int:
        calls = 0
        while clock.monotonic() < end:
            with budget.turn(), urlopen(self.server_url) as answer:
                answer.read()
            calls += 1
        return calls
