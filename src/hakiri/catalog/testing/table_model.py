"""What the contract promises of tables: schemas, snapshots, files that may go. And of revocation epochs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from hakiri.catalog.contract.revocations import Scope
from hakiri.catalog.contract.schemas import SchemaChange, SchemaStep, TableSchema
from hakiri.catalog.contract.snapshots import DoomedFile, Sidecar, Snapshot
from hakiri.catalog.errors import MissingSidecars, SchemaMoved, SnapshotExists, SnapshotStale
from hakiri.core.ids import PipelineId, SnapshotId, TableName


class SchemasModel:
    """Every step of every table, and the revisions that grow with them."""

    def __init__(self) -> None:
        self.changes: dict[TableName, list[SchemaChange]] = {}
        self.schemas: dict[TableName, TableSchema] = {}
        self.revisions: Counter[TableName] = Counter()

    def record(self, step: SchemaStep, pipeline: PipelineId, now: datetime) -> SchemaChange:
        before = self.schemas.get(step.table)
        version = 0 if before is None else before.version
        if version != step.based_on:
            raise SchemaMoved(step.table, step.based_on, version)
        change = SchemaChange(
            table=step.table,
            version=version + 1,
            pipeline=pipeline,
            change_kind=step.change_kind,
            before=None if before is None else before.arrow_schema,
            after=step.after,
            decided_by=step.decided_by,
            at=now,
        )
        self.schemas[step.table] = TableSchema(
            table=step.table,
            version=version + 1,
            arrow_schema=step.after,
            primary_key=step.primary_key,
            created_at=now if before is None else before.created_at,
            updated_at=now,
        )
        self.changes.setdefault(step.table, []).append(change)
        self.revisions[step.table] += 1
        return change

    def current(self, table: TableName) -> TableSchema | None:
        return self.schemas.get(table)

    def log(self, table: TableName) -> tuple[SchemaChange, ...]:
        return tuple(self.changes.get(table, ()))

    def log_of_pipeline(self, pipeline: PipelineId) -> tuple[SchemaChange, ...]:
        logs = (self.log(table) for table in sorted(self.changes))
        return tuple(change for log in logs for change in log if change.pipeline == pipeline)


class GarbageModel:
    """The files that may go."""

    def __init__(self, revisions: Counter[TableName]) -> None:
        self.doomed: dict[str, DoomedFile] = {}
        self._revisions = revisions

    def doom(self, files: Iterable[DoomedFile], now: datetime) -> None:
        named = tuple(files)
        self._revisions.update({file.table for file in named})
        self.name(named)

    def name(self, files: Iterable[DoomedFile]) -> None:
        for file in files:
            known = self.doomed.get(file.path, file)
            self.doomed[file.path] = replace(known, keep_until=max(known.keep_until, file.keep_until))

    def due(self, now: datetime, *, limit: int = 1000) -> tuple[DoomedFile, ...]:
        due = [file for file in self.doomed.values() if file.keep_until <= now]
        return tuple(sorted(due, key=lambda file: (file.keep_until, file.path))[:limit])

    def forget(self, paths: Iterable[str], now: datetime) -> int:
        gone = [self.doomed.pop(path) for path in {*paths} if path in self.doomed]
        for table in {file.table for file in gone}:
            self._revisions[table] += 1
        return len(gone)


class SnapshotsModel:
    """Snapshots, each with its sidecars."""

    def __init__(self, revisions: Counter[TableName], garbage: GarbageModel) -> None:
        self.committed: dict[SnapshotId, Snapshot] = {}
        self.committed_at: dict[SnapshotId, datetime] = {}
        self.noted: dict[SnapshotId, dict[str, Sidecar]] = {}
        self._revisions = revisions
        self._garbage = garbage

    def revision(self, table: TableName) -> int:
        return self._revisions[table]

    def note_sidecar(self, sidecar: Sidecar, now: datetime) -> None:
        self.noted.setdefault(sidecar.snapshot, {})[sidecar.index] = sidecar

    def commit(self, snapshot: Snapshot, now: datetime, drops: Sequence[DoomedFile] = ()) -> None:
        known = self.committed.get(snapshot.snapshot)
        if known == snapshot:
            return
        if known is not None:
            raise SnapshotExists(snapshot.snapshot)
        missing = {*snapshot.indexes} - {*self.noted.get(snapshot.snapshot, ())}
        if missing:
            raise MissingSidecars(snapshot.snapshot, sorted(missing))
        if snapshot.based_on != self._revisions[snapshot.table]:
            raise SnapshotStale(snapshot.table, snapshot.based_on, self._revisions[snapshot.table])
        self._revisions[snapshot.table] += 1
        self.committed[snapshot.snapshot] = snapshot
        self.committed_at[snapshot.snapshot] = now
        self._garbage.name(drops)

    def current(self, table: TableName) -> Snapshot | None:
        return next(reversed(self.all(table)), None)

    def get(self, snapshot: SnapshotId) -> Snapshot | None:
        return self.committed.get(snapshot)

    def all(self, table: TableName) -> tuple[Snapshot, ...]:
        return tuple(snapshot for snapshot in self.committed.values() if snapshot.table == table)

    def commits(self, table: TableName) -> tuple[tuple[SnapshotId, datetime], ...]:
        return tuple((one.snapshot, self.committed_at[one.snapshot]) for one in self.all(table))

    def sidecars(self, snapshot: SnapshotId) -> tuple[Sidecar, ...]:
        noted = self.noted.get(snapshot, {})
        return tuple(noted[index] for index in sorted(noted))


class RevocationsModel:
    """One epoch a scope."""

    def __init__(self) -> None:
        self.epochs: Counter[Scope] = Counter()

    def epoch(self, scope: Scope) -> int:
        return self.epochs[scope]

    def bump(self, scope: Scope, now: datetime) -> int:
        self.epochs[scope] += 1
        return self.epochs[scope]
