"""Where a catalog is, whether it is there yet or not."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.contents import CatalogContents
from hakiri.catalog.contract.upkeep import CatalogInfo
from hakiri.catalog.sql.breaches import guards_of
from hakiri.catalog.sql.catalog import SqlCatalog
from hakiri.catalog.sql.database import Database
from hakiri.catalog.sql.migrations import (
    Migratable,
    Migration,
    bring_up_to_date,
    newest,
    refuse_other_versions,
)


class Target(Migratable, Protocol):
    """A database that can be migrated, and then used."""

    def database(self, *, is_look: bool = False) -> Database:
        """The database, for a catalog to work on, or only to look at without leaving a trace."""


class SqlPlace:
    """A catalog on a SQL database, before it is opened."""

    def __init__(self, backend: str, target: Target, migrations: tuple[Migration, ...]) -> None:
        self.backend = backend
        self.location = target.location
        self._target = target
        self._migrations = migrations

    def version(self) -> int:
        return self._target.version()

    def newest_version(self) -> int:
        return newest(self._migrations)

    def migrate(self, now: datetime) -> tuple[int, ...]:
        return bring_up_to_date(self._target, self._migrations, now)

    def rebuild(self, contents: CatalogContents, now: datetime) -> str | None:
        with self.open(migrated_at=now) as catalog:
            catalog.fill(contents, now)
        return None

    def open(self, *, migrated_at: datetime | None = None, is_look: bool = False) -> Catalog:
        if migrated_at is None:
            refuse_other_versions(self._target, self._migrations)
        else:
            self.migrate(migrated_at)
        info = CatalogInfo(
            backend=self.backend,
            location=self.location,
            version=self.newest_version(),
            newest_version=self.newest_version(),
            divergences=SqlCatalog.divergences,
        )
        guards = guards_of(migration.script for migration in self._migrations)
        return SqlCatalog(self._target.database(is_look=is_look), info, guards)
