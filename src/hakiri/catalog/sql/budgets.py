"""Budgets: accounts of calls that all processes share."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from hakiri.catalog.contract.budgets import Account, Mark, Taken
from hakiri.catalog.sql.database import Database, Row, Transaction, sure
from hakiri.core.grammar import Rate

SLOTS_A_WINDOW = 20
# Somewhat more than a window, for those who allow for clocks that differ.
SLOTS_KEPT = 25
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


class SqlBudgets:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def clocks_apart(self) -> timedelta:
        return self._database.clocks_apart

    def get(self, name: str) -> Account:
        row = self._database.one("get_budget", budget=name)
        return Account() if row is None else _account(row)

    def take(self, name: str, *, wanted: int, most: int, rate: Rate, now: datetime) -> Taken:
        if wanted < 1:
            raise ValueError(f"{wanted} calls are none: ask for one or more")

        def work(tx: Transaction) -> Taken:
            row = tx.one("lock_budget", budget=name)
            if row is None and most < 1:
                return Taken(granted=0, account=Account())
            account = _account(row or _begun(tx, name))
            granted = min(wanted, most - account.granted)
            if granted < 1:
                return Taken(granted=0, account=account)
            after = charged(account, granted, rate, now)
            tx.run(
                "save_budget",
                budget=name,
                rate=rate.text,
                granted=after.granted,
                marks=json.dumps([[mark.at.isoformat(), mark.calls] for mark in after.marks]),
            )
            return Taken(granted=granted, account=after)

        return self._database.write(work)

    def note(self, name: str, rate: Rate | None) -> None:
        if self.get(name).rate == rate:
            return

        def work(tx: Transaction) -> None:
            if tx.one("lock_budget", budget=name) is None:
                _begun(tx, name)
            tx.run("note_budget", budget=name, rate=None if rate is None else rate.text)

        self._database.write(work)


def charged(account: Account, calls: int, rate: Rate, now: datetime) -> Account:
    """The account after so many more calls, with the marks that are still needed."""
    slot = max(rate.per // SLOTS_A_WINDOW, _TICK)
    slot_end = _EPOCH + ((now - _EPOCH) // slot + 1) * slot
    granted = account.granted + calls
    totals = {min(mark.at, slot_end): mark.calls for mark in account.marks} | {slot_end: granted}
    marks = tuple(Mark(at, total) for at, total in sorted(totals.items()))
    oldest = now - SLOTS_KEPT * slot
    # The newest of those that are too old stays: it tells what all the later ones are counted from.
    first_needed = max((place for place, mark in enumerate(marks) if mark.at <= oldest), default=0)
    # There are more only while processes disagree about the rate; without the oldest, less is granted.
    kept = marks[first_needed:][-2 * SLOTS_KEPT :]
    return Account(granted=granted, marks=kept, rate=rate)


def _begun(tx: Transaction, name: str) -> Row:
    tx.run("add_budget", budget=name)
    return sure(tx.one("lock_budget", budget=name))


def _account(row: Row) -> Account:
    return Account(
        granted=row["granted"],
        marks=tuple(Mark(datetime.fromisoformat(at), calls) for at, calls in json.loads(row["marks"])),
        rate=None if row["rate"] is None else Rate.parse(row["rate"]),
    )
