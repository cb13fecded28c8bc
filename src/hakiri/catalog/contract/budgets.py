"""Budgets: how many calls of a source all processes together have been granted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from hakiri.core.grammar import Rate


class Mark(NamedTuple):
    """The first `calls` of a budget were granted before that moment, by the clock of whoever took last."""

    at: datetime
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a budget has granted.

    - `granted`: how many calls since it began.
    - `marks`: how many it were by which moment, oldest first and coarse, a window back and somewhat more.
    - `rate`: how often the source may be called, as was said last; None for as often as one likes.
    """

    granted: int = 0
    marks: tuple[Mark, ...] = ()
    rate: Rate | None = None

    def granted_since(self, moment: datetime) -> int:
        """How many calls were granted from that moment on; rather some too many than one too few."""
        return self.granted - max((mark.calls for mark in self.marks if mark.at <= moment), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """How many calls were granted just now, and all that the budget has granted with them."""

    granted: int
    account: Account


class Budgets(Protocol):
    """One account of calls a name, shared by every process that has the catalog open.

    An account only adds up. How far it may go is for each taker to know, by what it saw of the account a
    window ago and by its own clock: see `hakiri.catalog.budget_watch`. So no two clocks have to agree.
    """

    @property
    def clocks_apart(self) -> timedelta:
        """How far the clocks of those may be apart who take; nothing where all of them share one."""

    def get(self, name: str) -> Account:
        """What was granted so far; nothing for a name that nobody has taken from."""

    def take(self, name: str, *, wanted: int, most: int, rate: Rate, now: datetime) -> Taken:
        """Take as many of the wanted calls as leave the account at `most` calls or fewer.

        What was granted is gone for all, used or not. Who gets nothing leaves nothing behind. Marks are a
        twentieth of the rate's window apart; one that another's clock dates after `now` is dated anew, since
        what it tells of has happened by now.
        """

    def note(self, name: str, rate: Rate | None) -> None:
        """Say how often the source may be called from now on. What was granted stays granted."""
