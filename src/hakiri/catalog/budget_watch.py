"""How many calls one process may take from a budget that others take from as well.

A process believes what it has seen itself, by its own steady clock: if an account had granted `n` calls when
it was looked at, then whatever is granted in a window that begins later comes after the first `n`. So an
account that was at `n` a window ago may go up to `n` and the rate's count, and not one further, whoever
takes. No clock of another process is asked, so it does not matter what it says or whether it jumps.

Calls are made a while after they were granted, and arrive a while after that. What was seen therefore counts
only when it is older than the window and both of these together.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import NamedTuple

from hakiri.catalog.contract.budgets import Account
from hakiri.core.grammar import Rate

# Shares of the window. Together with a look now and then they cost less than a tenth of the rate.
GOOD_SHARE = 1 / 20
TRANSIT_SHARE = 1 / 40
LOOK_SHARE = 1 / 80
# Nobody has to look more often than this, however short the window is.
SHORTEST_LOOK_SECONDS = 0.005


class Sight(NamedTuple):
    """The first `calls` were granted before `at`, in seconds of the watcher's own steady clock."""

    at: float
    calls: int


class BudgetWatch:
    """What one process has seen of one account, and how far it may therefore bring it.

    - `good_seconds`: how long calls that were granted may wait before they are made.
    - `look_seconds`: how often to look at the account while others take from it, too.

    Only who has not looked for a whole window goes by the marks of others, and allows for `clocks_apart`.
    """

    def __init__(self, rate: Rate, *, clocks_apart: timedelta) -> None:
        window = rate.per.total_seconds()
        self.good_seconds = window * GOOD_SHARE
        self.look_seconds = max(window * LOOK_SHARE, SHORTEST_LOOK_SECONDS)
        self._reach_seconds = window * (1 + GOOD_SHARE + TRANSIT_SHARE)
        self._count = rate.count
        self._clocks_apart = clocks_apart
        self._granted = 0
        self._sights = [Sight(-math.inf, 0)]
        self._looked_at = -math.inf
        self._company_at = -math.inf

    def see(self, account: Account, *, at: float, now: datetime, taken: int = 0) -> None:
        """Remember the account as it was a moment ago, after this process took so many calls of it.

        `at` and `now` are read after the account was: by the steady clock, and by the one on the wall.
        """
        sights = [*self._sights, Sight(at, account.granted)]
        if at - self._looked_at > self._reach_seconds:
            ages = [(now - mark.at - self._clocks_apart).total_seconds() for mark in account.marks]
            sights += [
                Sight(at - age, mark.calls) for age, mark in zip(ages, account.marks, strict=True) if age >= 0
            ]
        elif account.granted - taken > self._granted:
            self._company_at = at
        self._sights = self._needed(sights, at)
        self._granted = account.granted
        self._looked_at = at

    def most(self, at: float) -> int:
        """How many calls the account may have granted at this time, at most."""
        past = [sight.calls for sight in self._sights if sight.at + self._reach_seconds <= at]
        return past[-1] + self._count

    def seconds_until_free(self, at: float) -> float:
        """How long until a call may be taken if nobody else takes it; 0 is at once."""
        wanted = next(sight for sight in self._sights if sight.calls + self._count > self._granted)
        return max(0.0, wanted.at + self._reach_seconds - at)

    def has_company(self, at: float) -> bool:
        """Whether somebody else has taken calls lately, so that it is worth to look often."""
        return at - self._company_at <= self._reach_seconds

    def _needed(self, sights: list[Sight], at: float) -> list[Sight]:
        """Those in their order that tell something; to leave one out only makes what is known coarser."""
        kept: list[Sight] = []
        for sight in sorted(sights):
            if kept and sight.calls <= kept[-1].calls:
                continue
            is_past = sight.at + self._reach_seconds <= at
            if kept and is_past:
                kept = [sight]  # nobody asks for an older one any more
            elif len(kept) > 1 and sight.at - kept[-2].at < self.look_seconds:
                kept[-1] = sight
            else:
                kept.append(sight)
        return kept
