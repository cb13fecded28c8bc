"""Which tables a store has, and what each is made of, as its catalog says. Nothing here needs Arrow."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import Chunk
from hakiri.catalog.contract.schemas import SchemaChange
from hakiri.core.ids import ChunkId, PipelineId, TableName
from hakiri.store.snapshots import Place, SnapshotManifest
from hakiri.store.visible import Landed, landed_from, visible

# In pages, to be gentle with memory; after so many tries all at once, which nobody can come in between.
_PAGES = (1000, 1000, 10_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a table is made of: chunks that are read from their own files, beside a snapshot if there is one.

    `chunks` are those that a reader sees, by the number of their claim. `excluded` are claims whose rows the
    snapshot holds, and which something has replaced since; in a table with a key newer rows see to that.
    `landed` is all that counts, seen or not, and `forgotten` what the snapshot has no place for, or a restore
    has withdrawn.
    """

    revision: int
    snapshot: SnapshotManifest | None
    landed: tuple[Landed, ...]
    chunks: tuple[Landed, ...]
    excluded: tuple[int, ...] = ()
    forgotten: tuple[Landed, ...] = ()

    @property
    def shown(self) -> frozenset[int]:
        """The claims whose rows a reader sees, unless newer ones of the same keys hide them."""
        gone = {*self.excluded}
        folded = {one.seq for one in self.landed if not one.unchanged and self.is_folded(one)}
        return frozenset((folded - gone) | {one.seq for one in self.chunks})

    def is_folded(self, one: Landed) -> bool:
        """Whether the snapshot holds the rows of a chunk."""
        return self.snapshot is not None and self.snapshot.place_of(one.seq) is Place.SNAPSHOT


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTable:
    """What the catalog says of a table, at one moment.

    `log` has the steps of its schema until then, and `since` is when the catalog got to know it.
    """

    table: TableName
    primary_key: tuple[str, ...]
    log: tuple[SchemaChange, ...]
    since: datetime
    contents: Contents


class LandedChunks:
    """What landed, with every manifest read only once: that of a chunk that is done never changes."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[TableName, dict[tuple[PipelineId, ChunkId, str | None], Landed]] = {}
        self._snapshots: dict[TableName, SnapshotManifest] = {}

    def read(self, table: TableName) -> tuple[int, list[Landed], SnapshotManifest | None]:
        """All that landed in a table at one moment, the catalog's version of it, and the snapshot by then.

        Or a version just before.
        """
        for page in _PAGES:
            revision, snapshot = self._catalog.chunks.version(table), self._snapshot(table)
            landed = self._read(table, page)
            if self._catalog.chunks.version(table) == revision and self._snapshot(table) == snapshot:
                break
        return revision, landed, snapshot

    def _snapshot(self, table: TableName) -> SnapshotManifest | None:
        known, current = self._snapshots.get(table), self._catalog.snapshots.current_id(table)
        if current is None or (known is not None and known.snapshot == current):
            return None if current is None else known
        row = self._catalog.snapshots.get(current)
        if row is None:
            return None
        self._snapshots[table] = SnapshotManifest.parse(row.manifest)
        return self._snapshots[table]

    def _read(self, table: TableName, page: int) -> list[Landed]:
        before = self._known.get(table, {})
        now: dict[tuple[PipelineId, ChunkId, str | None], Landed] = {}
        for chunk in self._chunks(table, page):
            key = (chunk.pipeline, chunk.chunk, chunk.winning_attempt)
            known = before.get(key) or landed_from(chunk)
            if known.superseded_by != chunk.superseded_by:
                known = replace(known, superseded_by=chunk.superseded_by, successors=chunk.successors or 1)
            now[key] = known
        self._known[table] = now
        return list(now.values())

    def _chunks(self, table: TableName, page: int) -> Iterator[Chunk]:
        after = None
        while chunks := self._catalog.chunks.landed(table, after=after, limit=page):
            yield from chunks
            if len(chunks) < page:
                return
            after = (chunks[-1].pipeline, chunks[-1].chunk)


def contents(
    landed: Iterable[Landed],
    snapshot: SnapshotManifest | None,
    *,
    has_key: bool,
    revision: int = 0,
    withdrawn: Collection[int] = (),
) -> Contents:
    """Where the rows of a table are, from what landed and the snapshot. Pure.

    `withdrawn` are claims that do not count though no snapshot says so, because it is not known any more.
    """
    every = tuple(landed)
    if snapshot is None:
        lost = tuple(one for one in every if one.seq in withdrawn)
        counting = tuple(one for one in every if one.seq not in withdrawn)
        return Contents(
            revision=revision,
            snapshot=None,
            landed=counting,
            chunks=visible(counting, has_key=has_key, withdrawn=lost),
            forgotten=lost,
        )
    places = {one.seq: snapshot.place_of(one.seq) for one in every}
    counting = tuple(one for one in every if places[one.seq] is not Place.NOWHERE)
    forgotten = tuple(one for one in every if places[one.seq] is Place.NOWHERE)
    seen = visible(counting, has_key=has_key, withdrawn=forgotten)
    folded = {one.seq for one in counting if places[one.seq] is Place.SNAPSHOT}
    gone = folded - {one.seq for one in seen} - {one.seq for one in counting if one.unchanged}
    return Contents(
        revision=revision,
        snapshot=snapshot,
        landed=counting,
        chunks=tuple(one for one in seen if one.seq not in folded),
        excluded=() if has_key else tuple(sorted(gone)),
        forgotten=forgotten,
    )


def known_table(catalog: Catalog, table: TableName, chunks: LandedChunks | None = None) -> KnownTable | None:
    """The table as the catalog has it now; None while it has no schema."""
    revision, landed, snapshot = (chunks or LandedChunks(catalog)).read(table)
    # After the chunks: a schema that is newer than they are reads them, an older one would not.
    schema = catalog.schemas.current(table)
    log = catalog.schemas.log(table)
    if schema is None:
        return None
    return KnownTable(
        table=table,
        primary_key=schema.primary_key,
        log=tuple(step for step in log if step.version <= schema.version),
        since=schema.created_at,
        contents=contents(landed, snapshot, has_key=bool(schema.primary_key), revision=revision),
    )


def set_aside(found: Contents) -> tuple[Landed, ...]:
    """Those with rows in quarantine; rows that were refused have no key, so what is read again hides them."""
    seen = visible(found.landed, has_key=False, withdrawn=found.forgotten)
    return tuple(one for one in seen if one.quarantine)


def known_tables(catalog: Catalog) -> tuple[TableName, ...]:
    """Every table that ever had a schema, by name, whether its pipeline is still in the manifest or not."""
    changes = (
        change
        for pipeline in catalog.pipelines.all()
        for change in catalog.schemas.log_of_pipeline(pipeline.pipeline)
    )
    return tuple(sorted({change.table for change in changes}))
