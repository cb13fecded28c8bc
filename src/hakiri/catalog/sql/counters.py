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

        return self._database.write(lambda tx: count_on(tx, counter_name(name), count)) - count + 1


def counter_name(name: str) -> str:
    """Apart from the counters that the catalog itself keeps, whatever the name."""
    return f"number:{name}"


def count_on(tx: Transaction, counter: str, count: int = 1) -> int:
    """The last of the next `count` numbers. Whoever counts holds the counter until the transaction ends."""
    return int(sure(tx.one("count_on", counter=counter, count=count))["last"])
