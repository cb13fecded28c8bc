"""Counters that give every number once."""

from __future__ import annotations

from hakiri.catalog.sql.database import Database, Transaction, sure


class SqlCounters:
    """Numbers in a row, from 1 on, a series for every name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def number(self, name: str, count: int = 1) -> int:
        """The first of `count` numbers in a row that nobody else is given under this name."""
        if count < 1:
            raise ValueError(f"a counter gives one number or more, not {count}")

        # Apart from the counters that the catalog itself keeps, whatever the name.
        counter = f"number:{name}"

        def work(tx: Transaction) -> int:
            # Another writer may come first with the first numbers; its row is waited for, then counted on.
            row = (
                tx.one("count_on", counter=counter, count=count)
                or tx.one("first_count", counter=counter, count=count)
                or tx.one("count_on", counter=counter, count=count)
            )
            return int(sure(row)["last"]) - count + 1

        return self._database.write(work)
