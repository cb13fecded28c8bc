"""What every table of the store has in the catalog: a row to lock, and a revision."""

from __future__ import annotations

from collections.abc import Iterable

from hakiri.catalog.sql.database import Transaction, sure
from hakiri.core.ids import TableName


def lock_table(tx: Transaction, table: TableName) -> int:
    """The table's revision, and nobody else changes what belongs to the table until the end.

    Of several tables, the one whose name sorts first is locked first; a pipeline is locked before any table.
    """
    row = tx.one("lock_table", table=table)
    if row is None:
        tx.run("add_table", table=table)
        row = sure(tx.one("lock_table", table=table))
    return int(row["revision"])


def lock_tables(tx: Transaction, tables: Iterable[TableName]) -> None:
    """Lock several tables, each once, in their order."""
    for table in sorted(set(tables)):
        lock_table(tx, table)


def bump_revision(tx: Transaction, table: TableName) -> int:
    """Note that the table's past has changed, and return its new revision."""
    lock_table(tx, table)
    return int(sure(tx.one("bump_revision", table=table))["revision"])
