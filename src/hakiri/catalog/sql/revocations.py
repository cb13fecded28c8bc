"""Revocation epochs."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from hakiri.catalog.contract.revocations import Scope
from hakiri.catalog.sql.database import Database, Transaction, sure


class SqlRevocations:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def epoch(self, scope: Scope) -> int:
        row = self._database.one("epoch", **asdict(scope))
        return 0 if row is None else row["epoch"]

    def bump(self, scope: Scope, now: datetime) -> int:
        def work(tx: Transaction) -> int:
            whose = asdict(scope)
            # Another writer may come first with the first one; its row is waited for, then counted on.
            row = (
                tx.one("bump_epoch", **whose, now=now)
                or tx.one("first_epoch", **whose, now=now)
                or tx.one("bump_epoch", **whose, now=now)
            )
            return int(sure(row)["epoch"])

        return self._database.write(work)
