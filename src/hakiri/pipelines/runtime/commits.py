"""The commit protocol of chunks: files, then manifests, then one row of the catalog for each chunk.

Everything before the catalog's transaction leaves litter that nobody sees, everything after it can be derived
again. It knows nothing of Spark, so it can be tried thousands of times.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from hakiri.catalog import Catalog
from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.lineage import Edge
from hakiri.catalog.contract.schemas import SchemaStep, TableSchema
from hakiri.catalog.errors import SchemaMoved
from hakiri.core.canonical import canonical_json
from hakiri.core.clock import Clock
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import TableName
from hakiri.pipelines.runtime.steps import Reached, Step
from hakiri.store.files import Files
from hakiri.store.layout import StoreLayout
from hakiri.store.manifests import AttemptManifest, CommitFacts, Counts, WrittenFile, seal


class Target(Protocol):
    """The table that is written: its schema, and the step to it from what the catalog has."""

    @property
    def store(self) -> TableName: ...

    @property
    def kind(self) -> CursorKind: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def primary_key(self) -> tuple[str, ...]: ...

    def schema_step(self, current: TableSchema | None) -> SchemaStep | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """An attempt whose files are on the disk, and what is to become true with it."""

    attempt: ChunkAttempt
    folder: Path
    files: tuple[WrittenFile, ...]
    quarantine: tuple[WrittenFile, ...]
    counts: Counts
    content_sum: int
    cursor: Mapping[str, Any] | None
    stream: TableName
    moves_stream: bool
    pass_number: int | None = None
    pass_size: int | None = None
    ends_pass: bool = False
    is_unchanged: bool = False
    edges: tuple[Edge, ...] = ()

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in (*self.files, *self.quarantine))


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocolist:
    """Commits what was finished. Raises LeaseLost, and SchemaMoved when somebody else moved the schema."""

    catalog: Catalog
    layout: StoreLayout
    clock: Clock
    files: Files
    reached: Reached

    def commit(self, target: Target, finished: Sequence[Finished], lease: Lease | None) -> None:
        """All of them in one transaction, or none."""
        current = self.catalog.schemas.current(target.store)
        try:
            self._commit(target, finished, lease, current)
        except SchemaMoved:
            # Another job may just have taken the very same step. What was decided holds then, and nothing has
            # to be read again.
            moved = self.catalog.schemas.current(target.store)
            if moved == current or target.schema_step(moved) is not None:
                raise
            self._commit(target, finished, lease, moved)

    def _commit(
        self,
        target: Target,
        finished: Sequence[Finished],
        lease: Lease | None,
        current: TableSchema | None,
    ) -> None:
        step = target.schema_step(current)
        version = step.based_on + 1 if step is not None else current.version if current is not None else 0
        sealed_at = self.clock.now()
        steps = [step if number == 0 else None for number in range(len(finished))]
        manifests = [
            self._manifest(target, each, version, _facts(target, each, own, sealed_at))
            for each, own in zip(finished, steps, strict=True)
        ]
        for each in finished:
            if each.is_unchanged:
                # Its own litter, which no manifest names: the table has these rows already.
                shutil.rmtree(each.folder, ignore_errors=True)
        seal(self.layout, manifests, self.files)
        self.reached(Step.MANIFEST_WRITTEN)
        commits = [
            (each.attempt, _commit_of(each, manifest, own))
            for each, manifest, own in zip(finished, manifests, steps, strict=True)
        ]
        self.reached(Step.COMMIT_STARTED)
        self.catalog.queue.commit_some(commits, self.clock.now(), under=lease)
        self.reached(Step.COMMITTED)

    def _manifest(self, target: Target, each: Finished, version: int, commit: CommitFacts) -> AttemptManifest:
        attempt = each.attempt
        return AttemptManifest(
            pipeline=attempt.pipeline,
            table=attempt.table,
            run=attempt.run,
            node=attempt.node,
            chunk=attempt.chunk,
            attempt=attempt.number,
            seq=attempt.seq,
            ingested_at=attempt.claimed_at,
            predicate=json.loads(attempt.predicate),
            schema_version=version,
            schema_fingerprint=target.fingerprint,
            primary_key=target.primary_key,
            files=() if each.is_unchanged else each.files,
            quarantine=() if each.is_unchanged else each.quarantine,
            counts=each.counts,
            content_sum=each.content_sum,
            pass_number=each.pass_number,
            pass_size=each.pass_size,
            ends_pass=each.ends_pass,
            unchanged=each.is_unchanged,
            commit=commit,
        )


def _facts(target: Target, each: Finished, step: SchemaStep | None, sealed_at: datetime) -> CommitFacts:
    return CommitFacts(
        sealed_at=sealed_at,
        cursor_kind=target.kind,
        stream=each.stream,
        cursor=_cursor_text(each),
        moves_stream=each.moves_stream,
        reread=each.attempt.reread,
        step=step,
    )


def _cursor_text(each: Finished) -> str | None:
    return None if each.cursor is None else canonical_json(each.cursor)


def _commit_of(each: Finished, manifest: AttemptManifest, step: SchemaStep | None) -> ChunkCommit:
    return ChunkCommit(
        rows=manifest.rows,
        bytes=manifest.bytes,
        manifest=manifest.text(),
        cursor=_cursor_text(each),
        stream=each.stream,
        moves_stream=each.moves_stream,
        schema=step,
        edges=each.edges,
    )
