"""A backend that breaks promises: SQLite without some of its triggers, honest about it or not."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.sql.catalog import SqlCatalog
from hakiri.catalog.sqlite.file import SqliteFile
from hakiri.catalog.testing import SqlVandal, UrlOpener


@dataclass(frozen=True, kw_only=True)
class UnguardedOpener:
    """Opens a catalog whose file lacks the triggers, and which declares the divergences."""

    base: Path
    lacks: tuple[str, ...] = ()
    declares: tuple[Invariant, ...] = ()

    def open(self) -> Catalog:
        with UrlOpener(url="sqlite:///meta.sqlite", project="shop", base=self.base).open() as guarded:
            info = guarded.info()
        for trigger in self.lacks:
            self.run(f"DROP TRIGGER IF EXISTS {trigger}")
        declared = dict.fromkeys(self.declares, "its triggers were dropped")
        unguarded = type("Unguarded", (SqlCatalog,), {"divergences": declared})
        file = SqliteFile(self.base / "meta.sqlite")
        return unguarded(file.database(), replace(info, divergences=declared), frozenset())

    def vandal(self) -> SqlVandal:
        return SqlVandal(self.run)

    def run(self, statement: str, **values: object) -> None:
        with closing(sqlite3.connect(self.base / "meta.sqlite")) as connection, connection:
            connection.execute(statement, values)
