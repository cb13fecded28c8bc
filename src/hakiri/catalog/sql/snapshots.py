"""Snapshots, their sidecars, and the files that may go."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from hakiri.catalog.contract.audit import NewEntry
from hakiri.catalog.contract.deciders import check_decider
from hakiri.catalog.contract.lineage import Edge
from hakiri.catalog.contract.snapshots import DoomedFile, Sidecar, Snapshot
from hakiri.catalog.errors import MissingSidecars, SnapshotExists, SnapshotStale
from hakiri.catalog.sql.audit import add_entry
from hakiri.catalog.sql.database import Database, Row, Transaction, built, listed, moment, sure
from hakiri.catalog.sql.lineage import add_edges
from hakiri.catalog.sql.tables import bump_revision, lock_table
from hakiri.core.canonical import canonical_json
from hakiri.core.ids import SnapshotId, TableName


class SqlSnapshots:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def revision(self, table: TableName) -> int:
        row = self._database.one("revision", table=table)
        return 0 if row is None else row["revision"]

    def frontier(self, table: TableName) -> int:
        def work(tx: Transaction) -> int:
            # In this order. Whoever claims holds its pipeline from before it takes a number until it is seen
            # that it has it, so a number that was taken before is seen once the pipelines are free.
            taken: int = sure(tx.one("claims"))["claims"]
            tx.all("lock_pipelines")
            earliest = sure(tx.one("earliest_claim", table=table))["seq"]
            return taken + 1 if earliest is None else min(taken + 1, earliest)

        return self._database.write(work)

    def note_sidecar(self, sidecar: Sidecar, now: datetime) -> None:
        def work(tx: Transaction) -> None:
            noted = built(_sidecar, tx.one("sidecar", snapshot=sidecar.snapshot, index=sidecar.index))
            if noted != sidecar:
                tx.run(
                    "note_sidecar",
                    snapshot=sidecar.snapshot,
                    index=sidecar.index,
                    manifest_hash=sidecar.manifest_hash,
                    bytes=sidecar.bytes,
                    now=now,
                )

        self._database.write(work)

    def commit(
        self,
        snapshot: Snapshot,
        now: datetime,
        drops: Sequence[DoomedFile] = (),
        *,
        edges: Sequence[Edge] = (),
        entries: Sequence[NewEntry] = (),
    ) -> None:
        for entry in entries:
            check_decider(entry.by)

        def work(tx: Transaction) -> None:
            revision = lock_table(tx, snapshot.table)
            if _is_committed(tx, snapshot):
                return
            _refuse_missing_sidecars(tx, snapshot)
            if revision != snapshot.based_on:
                raise SnapshotStale(snapshot.table, snapshot.based_on, revision)
            add_snapshot(tx, snapshot, bump_revision(tx, snapshot.table), now)
            doom_files(tx, drops, now)
            add_edges(tx, edges)
            for entry in entries:
                add_entry(tx, entry, now)

        self._database.write(work)

    def current(self, table: TableName) -> Snapshot | None:
        return built(_snapshot, self._database.one("current_snapshot", table=table))

    def current_id(self, table: TableName) -> SnapshotId | None:
        row = self._database.one("current_snapshot_id", table=table)
        return None if row is None else row["snapshot_id"]

    def get(self, snapshot: SnapshotId) -> Snapshot | None:
        return built(_snapshot, self._database.one("snapshot", snapshot=snapshot))

    def all(self, table: TableName) -> tuple[Snapshot, ...]:
        return tuple(_snapshot(row) for row in self._database.all("snapshots", table=table))

    def commits(self, table: TableName) -> tuple[tuple[SnapshotId, datetime], ...]:
        rows = self._database.all("snapshot_commits", table=table)
        return tuple((row["snapshot_id"], moment(row["committed_at"])) for row in rows)

    def sidecars(self, snapshot: SnapshotId) -> tuple[Sidecar, ...]:
        return tuple(_sidecar(row) for row in self._database.all("sidecars", snapshot=snapshot))


class SqlGarbage:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def doom(self, files: Iterable[DoomedFile], now: datetime) -> None:
        doomed = tuple(files)

        def work(tx: Transaction) -> None:
            for table in sorted({file.table for file in doomed}):
                bump_revision(tx, table)
            doom_files(tx, doomed, now)

        if doomed:
            self._database.write(work)

    def due(self, now: datetime, *, limit: int = 1000) -> tuple[DoomedFile, ...]:
        return tuple(_doomed(row) for row in self._database.all("due_files", now=now, limit=limit))

    def forget(self, paths: Iterable[str], now: datetime) -> int:
        gone = _each_once(paths)

        def work(tx: Transaction) -> int:
            # Tables before files, as in a commit, which locks its table and then dooms.
            for table in tx.all("tables_of_doomed_files", paths=gone):
                lock_table(tx, table["table_name"])
            forgotten = [row["table_name"] for row in tx.all("forget_files", paths=gone)]
            for name in sorted(set(forgotten)):
                bump_revision(tx, name)
            return len(forgotten)

        return self._database.write(work)


def doom_files(tx: Transaction, files: Iterable[DoomedFile], now: datetime) -> None:
    """Name files as a part of a transaction. One that is named already keeps the later date."""
    alike: dict[tuple[datetime, TableName, str], list[str]] = {}
    for file in files:
        alike.setdefault((file.keep_until, file.table, file.reason), []).append(file.path)
    for (keep_until, table, reason), paths in sorted(alike.items()):
        tx.run(
            "doom_files", paths=_each_once(paths), table=table, reason=reason, now=now, keep_until=keep_until
        )


def _each_once(paths: Iterable[str]) -> str:
    return listed("path", ((path,) for path in sorted(set(paths))))


def _is_committed(tx: Transaction, snapshot: Snapshot) -> bool:
    committed = built(_snapshot, tx.one("snapshot", snapshot=snapshot.snapshot))
    if committed not in (None, snapshot):
        raise SnapshotExists(snapshot.snapshot)
    return committed is not None


def _refuse_missing_sidecars(tx: Transaction, snapshot: Snapshot) -> None:
    durable = {row["index_id"] for row in tx.all("sidecars", snapshot=snapshot.snapshot)}
    missing = sorted(set(snapshot.indexes) - durable)
    if missing:
        raise MissingSidecars(snapshot.snapshot, missing)


def add_snapshot(tx: Transaction, snapshot: Snapshot, revision: int, now: datetime) -> None:
    """Write its row under this revision, which its table has by now. Raises SnapshotExists."""
    added = tx.run(
        "add_snapshot",
        snapshot=snapshot.snapshot,
        table=snapshot.table,
        created_at=snapshot.created_at,
        includes_runs=canonical_json(snapshot.includes_runs),
        rows=snapshot.rows,
        indexes=canonical_json(snapshot.indexes),
        key_version=snapshot.key_version,
        based_on=snapshot.based_on,
        manifest=snapshot.manifest,
        revision=revision,
        now=now,
    )
    if not added:  # the same id was given to another table's snapshot at this very moment
        raise SnapshotExists(snapshot.snapshot)


def _snapshot(row: Row) -> Snapshot:
    return Snapshot(
        snapshot=row["snapshot_id"],
        table=row["table_name"],
        created_at=moment(row["created_at"]),
        includes_runs=tuple(json.loads(row["includes_runs"])),
        indexes=tuple(json.loads(row["indexes"])),
        rows=row["row_count"],
        based_on=row["based_on"],
        manifest=row["manifest"],
        key_version=row["key_version"],
    )


def _sidecar(row: Row) -> Sidecar:
    return Sidecar(
        snapshot=row["snapshot_id"],
        index=row["index_id"],
        manifest_hash=row["manifest_hash"],
        bytes=row["bytes"],
    )


def _doomed(row: Row) -> DoomedFile:
    return DoomedFile(
        path=row["path"],
        table=row["table_name"],
        reason=row["reason"],
        keep_until=moment(row["keep_until"]),
    )
