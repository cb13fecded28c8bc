"""Budgets: how many calls a second all processes together may make."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """How many calls were granted, a whole number; if none, how long until there is one."""

    granted: float
    wait_seconds: float


class Budgets(Protocol):
    """One bucket of calls a name, shared by every process that has the catalog open."""

    def take(self, name: str, *, wanted: float, per_second: float, burst: float, now: datetime) -> Taken:
        """Take as many of the wanted calls as there are now; those that were granted are gone for all.

        A bucket begins full, with `burst` calls, and fills by `per_second`, so that over any span no more
        than `burst` and what the span brought is granted. Clocks only fill it when they are ahead of all
        that were seen before: a `now` that goes back brings nothing.
        """
