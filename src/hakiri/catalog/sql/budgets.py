"""Budgets: buckets of calls that all processes share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from hakiri.catalog.contract.budgets import Taken
from hakiri.catalog.sql.database import Database, Row, Transaction, moment, sure

_CALL = 1_000_000  # levels are in millionths of a call, whole numbers, so that nothing is ever rounded up
_TICK = timedelta(microseconds=1)
_TICKS_A_SECOND = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """What was left of a budget after the last call that was granted, in millionths of a call."""

    level: int
    filled_at: datetime


class SqlBudgets:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, name: str, *, wanted: float, per_second: float, burst: float, now: datetime) -> Taken:
        _check_rate(wanted, per_second, burst)

        def work(tx: Transaction) -> Taken:
            row = tx.one("lock_budget", budget=name)
            if row is None:
                tx.run("add_budget", budget=name, level=_millionths(burst), filled_at=now)
                row = sure(tx.one("lock_budget", budget=name))
            left, taken = take_from(_bucket(row), wanted=wanted, per_second=per_second, burst=burst, now=now)
            # Who gets nothing leaves nothing behind: asking often costs no write, and not a part of a call.
            if taken.granted:
                tx.run("save_budget", budget=name, level=left.level, filled_at=left.filled_at)
            return taken

        return self._database.write(work)


def take_from(
    bucket: Bucket, *, wanted: float, per_second: float, burst: float, now: datetime
) -> tuple[Bucket, Taken]:
    """The bucket after it was filled up to `now` and taken from, and what was granted."""
    calls, seconds = per_second.as_integer_ratio()  # exact: so many millionths in so many microseconds
    elapsed_ticks = max(0, (now - bucket.filled_at) // _TICK)
    level = min(_millionths(burst), bucket.level + elapsed_ticks * calls // seconds)
    granted = min(math.floor(wanted), level // _CALL)
    if granted:
        left = Bucket(level=level - granted * _CALL, filled_at=max(bucket.filled_at, now))
        return left, Taken(granted=granted, wait_seconds=0.0)
    ticks_to_fill = -((bucket.level - _CALL) * seconds // calls)  # rounded up, so that one is there then
    wait_ticks = ticks_to_fill + (bucket.filled_at - now) // _TICK
    return bucket, Taken(granted=0, wait_seconds=wait_ticks / _TICKS_A_SECOND)


def _check_rate(wanted: float, per_second: float, burst: float) -> None:
    if not (1 <= wanted < math.inf and 0 < per_second < math.inf and 1 <= burst < math.inf):
        raise ValueError(
            f"a budget of {burst} calls, filled by {per_second} a second, never gives {wanted}: "
            "ask for one call or more, of a budget of one or more that is filled"
        )


def _millionths(calls: float) -> int:
    numerator, denominator = calls.as_integer_ratio()
    return numerator * _CALL // denominator


def _bucket(row: Row) -> Bucket:
    return Bucket(level=row["level"], filled_at=moment(row["filled_at"]))
