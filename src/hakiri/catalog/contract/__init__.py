"""The contract of the catalog: the only state of the system, in the words of the product.

Every role is small enough for a key-value store with conditional writes, and none speaks SQL. Time is an
argument everywhere. A write either happened as a whole or not at all; when its answer is lost on the way, the
backend reads back which it was.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import ClassVar, Protocol, Self

from hakiri.catalog.contract.audit import Audit
from hakiri.catalog.contract.budgets import Budgets
from hakiri.catalog.contract.chunks import ChunkQueue, Chunks
from hakiri.catalog.contract.contents import CatalogContents
from hakiri.catalog.contract.cursors import Cursors
from hakiri.catalog.contract.files import Files, Selections
from hakiri.catalog.contract.leases import Leases
from hakiri.catalog.contract.lineage import Lineage
from hakiri.catalog.contract.pipelines import Pipelines
from hakiri.catalog.contract.push import PushQueue
from hakiri.catalog.contract.revocations import Revocations
from hakiri.catalog.contract.runs import Runs
from hakiri.catalog.contract.schemas import Schemas
from hakiri.catalog.contract.snapshots import Garbage, Snapshots
from hakiri.catalog.contract.upkeep import Breach, CatalogInfo, Divergences


class Catalog(Protocol):
    """One open catalog, for any number of threads. Close it, or use it in a `with` statement."""

    divergences: ClassVar[Divergences]
    """The promises this backend does not keep, each with the reason. Empty for those that keep them all."""

    @property
    def pipelines(self) -> Pipelines: ...

    @property
    def leases(self) -> Leases: ...

    @property
    def runs(self) -> Runs: ...

    @property
    def cursors(self) -> Cursors: ...

    @property
    def chunks(self) -> Chunks: ...

    @property
    def queue(self) -> ChunkQueue: ...

    @property
    def schemas(self) -> Schemas: ...

    @property
    def lineage(self) -> Lineage: ...

    @property
    def snapshots(self) -> Snapshots: ...

    @property
    def garbage(self) -> Garbage: ...

    @property
    def revocations(self) -> Revocations: ...

    @property
    def files(self) -> Files: ...

    @property
    def selections(self) -> Selections: ...

    @property
    def push(self) -> PushQueue: ...

    @property
    def audit(self) -> Audit: ...

    @property
    def budgets(self) -> Budgets: ...

    def number(self, name: str, count: int = 1) -> int:
        """The first of `count` numbers in a row that the counter `name` gives to nobody else; from 1 on."""

    def fill(self, contents: CatalogContents, now: datetime) -> None:
        """Fill a catalog that nobody has used yet, in one step. Raises CatalogNotEmpty."""

    def check(self, progress: Callable[[str], None] = ...) -> tuple[Breach, ...]:
        """Look for broken promises in all that is stored. Calls `progress` before each kind of look."""

    def info(self) -> CatalogInfo:
        """What and where this catalog is."""

    def close(self) -> None:
        """Give back connections and files. Twice is once."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
