"""Snapshots of tables, the sidecars they need, and the files that may go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hakiri.catalog.contract.audit import NewEntry
from hakiri.catalog.contract.lineage import Edge
from hakiri.core.ids import IndexId, RunId, SnapshotId, TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """An index of a snapshot whose files and manifest are on disk for good."""

    snapshot: SnapshotId
    index: IndexId
    manifest_hash: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DoomedFile:
    """A file that nothing refers to any more, and how long it is kept all the same."""

    path: str
    table: TableName
    reason: str
    keep_until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A table at one moment: the runs folded into it and the indexes that belong to it.

    `based_on` is the table's revision when the work on it began; `manifest` is JSON that the catalog does not
    look into.
    """

    snapshot: SnapshotId
    table: TableName
    created_at: datetime
    includes_runs: tuple[RunId, ...]
    indexes: tuple[IndexId, ...]
    rows: int
    based_on: int
    manifest: str
    key_version: str | None = None


class Snapshots(Protocol):
    """The snapshots of all tables. A reader sees a snapshot with all it needs, or not at all."""

    def revision(self, table: TableName) -> int:
        """A number that grows when a table's past changes: schema steps, rewinds, snapshots, collections."""

    def frontier(self, table: TableName) -> int:
        """A number below which every claim on a chunk of the table has landed, or never will.

        It is that of the earliest claim that may still land, or the next one that there will be.
        """

    def note_sidecar(self, sidecar: Sidecar, now: datetime) -> None:
        """Say that a sidecar is durable. Only after that can a snapshot that names it be committed."""

    def commit(
        self,
        snapshot: Snapshot,
        now: datetime,
        drops: Sequence[DoomedFile] = (),
        *,
        edges: Sequence[Edge] = (),
        entries: Sequence[NewEntry] = (),
    ) -> None:
        """Make the snapshot the current one, doom the files it replaces, and note what it was made of and who
        wanted it, in one step.

        The same snapshot twice is one commit. Raises MissingSidecars when an index it names was not noted as
        durable, SnapshotStale when the table's revision is not `based_on` any more; then nothing has changed.
        """

    def current(self, table: TableName) -> Snapshot | None:
        """The snapshot that was committed last."""

    def current_id(self, table: TableName) -> SnapshotId | None:
        """Its id alone, at a cost that does not grow with what its manifest says."""

    def get(self, snapshot: SnapshotId) -> Snapshot | None:
        """One snapshot."""

    def all(self, table: TableName) -> tuple[Snapshot, ...]:
        """Every snapshot of a table, in the order of their commits."""

    def commits(self, table: TableName) -> tuple[tuple[SnapshotId, datetime], ...]:
        """Every snapshot of a table with the moment of its commit, in their order, without their manifests.

        The moment is that of whoever committed it: by another's clock it may be before the one in front.
        """

    def sidecars(self, snapshot: SnapshotId) -> tuple[Sidecar, ...]:
        """The sidecars that were noted for a snapshot, by index."""


class Garbage(Protocol):
    """The only files that may be deleted: those named here, once their time has come."""

    def doom(self, files: Iterable[DoomedFile], now: datetime) -> None:
        """Name files that nothing refers to. One that is named already keeps the later date.

        Their tables' revisions grow: whoever is about to commit a snapshot has to look again whether these
        are its own, which somebody took for left behind.
        """

    def due(self, now: datetime, *, limit: int = 1000) -> tuple[DoomedFile, ...]:
        """Files whose time has come, the longest due first."""

    def forget(self, paths: Iterable[str], now: datetime) -> int:
        """Note that files were deleted, and say how many of them were named. Their tables' revisions grow."""
