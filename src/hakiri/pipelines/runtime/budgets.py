"""The budget of a pipeline's source, shared by all processes that have the catalog open."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from hakiri.catalog.budget_watch import BudgetWatch
from hakiri.catalog.contract.budgets import Budgets
from hakiri.core.clock import Clock
from hakiri.core.grammar import Rate
from hakiri.core.ids import PipelineId
from hakiri.pipelines.budgets import budget_name
from hakiri.pipelines.runtime.ground import Ground
from hakiri.sources.budget import Refused, WiderBudget

# One process takes no more than such a part of the budget at a time, so that something is left for others.
LARGEST_PART = 4


def shared_budget(ground: Ground, pipeline: PipelineId, rate: Rate | None) -> WiderBudget | None:
    """What the process shares of the pipeline's budget, after noting which it is for those who look."""
    name = budget_name(pipeline)
    ground.catalog.budgets.note(name, rate)
    if rate is None:
        return None
    return CatalogBudget(
        budgets=ground.catalog.budgets,
        name=name,
        rate=rate,
        clock=ground.clock,
        has_stopped=lambda: ground.stop.is_asked,
    )


@dataclass(kw_only=True)
class CatalogBudget:
    """A budget in the catalog. Calls are taken from it in blocks, so that many calls cost one transaction.

    A block is as large as what was used lately in half the time that it is good for. So it is used up in
    time, and callers that are slow, or seldom call, take one call at a time.
    """

    budgets: Budgets
    name: str
    rate: Rate
    clock: Clock
    has_stopped: Callable[[], bool]
    _watch: BudgetWatch = field(init=False)
    _left: int = 0
    _good_until: float = 0.0
    _used_at: deque[float] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._watch = BudgetWatch(self.rate, clocks_apart=self.budgets.clocks_apart)

    @property
    def is_stopped(self) -> bool:
        return self.has_stopped()

    def take(self) -> Refused | None:
        """See the protocol."""
        at = self.clock.monotonic()
        if not (self._left and at < self._good_until) and not self._took_block():
            at = self.clock.monotonic()
            seconds = self._watch.seconds_until_free(at)
            look_seconds = self._watch.look_seconds
            ask_again_seconds = min(seconds, look_seconds) if self._watch.has_company(at) else seconds
            return Refused(seconds=seconds, ask_again_seconds=ask_again_seconds)
        self._left -= 1
        self._used_at.append(at)
        return None

    def _took_block(self) -> bool:
        account = self.budgets.get(self.name)
        at = self.clock.monotonic()
        self._watch.see(account, at=at, now=self.clock.now())
        if self._watch.seconds_until_free(at):
            return False
        taken = self.budgets.take(
            self.name,
            wanted=self._block_size(at),
            most=self._watch.most(at),
            rate=self.rate,
            now=self.clock.now(),
        )
        at = self.clock.monotonic()
        self._watch.see(taken.account, at=at, now=self.clock.now(), taken=taken.granted)
        self._left = taken.granted
        self._good_until = at + self._watch.good_seconds
        return taken.granted > 0

    def _block_size(self, at: float) -> int:
        while self._used_at and self._used_at[0] < at - self._watch.good_seconds / 2:
            self._used_at.popleft()
        return max(1, min(len(self._used_at), self.rate.count // LARGEST_PART))
