"""One open catalog on a SQL database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from types import MappingProxyType, TracebackType
from typing import ClassVar, Self

from hakiri.catalog.contract.contents import CatalogContents
from hakiri.catalog.contract.upkeep import Breach, CatalogInfo, Divergences
from hakiri.catalog.sql.audit import SqlAudit
from hakiri.catalog.sql.breaches import find_breaches
from hakiri.catalog.sql.budgets import SqlBudgets
from hakiri.catalog.sql.chunks import SqlChunks
from hakiri.catalog.sql.counters import SqlCounters
from hakiri.catalog.sql.cursors import SqlCursors
from hakiri.catalog.sql.database import Database
from hakiri.catalog.sql.files import SqlFiles
from hakiri.catalog.sql.filling import fill_catalog
from hakiri.catalog.sql.lineage import SqlLineage
from hakiri.catalog.sql.pipelines import SqlLeases, SqlPipelines
from hakiri.catalog.sql.push import SqlPushQueue
from hakiri.catalog.sql.queue import SqlChunkQueue
from hakiri.catalog.sql.revocations import SqlRevocations
from hakiri.catalog.sql.runs import SqlRuns
from hakiri.catalog.sql.schemas import SqlSchemas
from hakiri.catalog.sql.selections import SqlSelections
from hakiri.catalog.sql.snapshots import SqlGarbage, SqlSnapshots


class SqlCatalog:
    """Every role on one database. See the contract."""

    divergences: ClassVar[Divergences] = MappingProxyType({})

    def __init__(self, database: Database, info: CatalogInfo, guards: frozenset[str]) -> None:
        self._database = database
        self._guards = guards
        self._info = info
        self._counters = SqlCounters(database)
        self.pipelines = SqlPipelines(database)
        self.leases = SqlLeases(database)
        self.runs = SqlRuns(database)
        self.cursors = SqlCursors(database)
        self.chunks = SqlChunks(database)
        self.queue = SqlChunkQueue(database)
        self.schemas = SqlSchemas(database)
        self.lineage = SqlLineage(database)
        self.snapshots = SqlSnapshots(database)
        self.garbage = SqlGarbage(database)
        self.revocations = SqlRevocations(database)
        self.files = SqlFiles(database)
        self.selections = SqlSelections(database)
        self.push = SqlPushQueue(database)
        self.audit = SqlAudit(database)
        self.budgets = SqlBudgets(database)

    def number(self, name: str, count: int = 1) -> int:
        return self._counters.number(name, count)

    def fill(self, contents: CatalogContents, now: datetime) -> None:
        fill_catalog(self._database, contents, now)

    def check(self, progress: Callable[[str], None] = lambda _: None) -> tuple[Breach, ...]:
        return find_breaches(self._database, self._guards, progress)

    def info(self) -> CatalogInfo:
        return self._info

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
