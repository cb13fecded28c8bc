"""What a catalog holds after it was made anew from the files of a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hakiri.catalog.contract.chunks import Chunk
from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.lineage import Edge
from hakiri.catalog.contract.pipelines import Phase
from hakiri.catalog.contract.runs import Run
from hakiri.catalog.contract.schemas import SchemaChange
from hakiri.catalog.contract.snapshots import DoomedFile, Sidecar, Snapshot
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, PipelineId, TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPipeline:
    """A pipeline, the plans that were made for it, and the highest id that any chunk of it ever had."""

    pipeline: PipelineId
    kind: CursorKind
    phase: Phase
    last_chunk: ChunkId
    last_claim_at: datetime | None
    plans: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogContents:
    """All that an empty catalog can be filled with at once.

    `chunks` have landed, every one of them, and their pipelines are among `pipelines`. `schemas` are by table
    and version, with the primary key that each table has now in `keys`; `snapshots` of a table are in the
    order of their commits, and what they were based on does not matter. `counters` have the last number that
    each gave, and `claims` is that of the last claim.
    """

    pipelines: tuple[KnownPipeline, ...] = ()
    runs: tuple[Run, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    cursors: tuple[Cursor, ...] = ()
    schemas: tuple[SchemaChange, ...] = ()
    keys: Mapping[TableName, tuple[str, ...]] = field(default_factory=dict)
    snapshots: tuple[Snapshot, ...] = ()
    sidecars: tuple[Sidecar, ...] = ()
    edges: tuple[Edge, ...] = ()
    doomed: tuple[DoomedFile, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    claims: int = 0
