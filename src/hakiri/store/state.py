"""A table as the catalog says it is at one moment, with the files that a reader reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import Chunk
from hakiri.core.ids import ChunkId, PipelineId, TableName
from hakiri.store.layout import StoreLayout
from hakiri.store.schemas import schema_from
from hakiri.store.views import TableState
from hakiri.store.visible import Landed, landed_from, visible

# In pages, to be gentle with memory; after so many tries all at once, which nobody can come in between.
_PAGES = (1000, 1000, 10_000_000)


class LandedChunks:
    """What landed, with every manifest read only once: that of a chunk that is done never changes."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[TableName, dict[tuple[PipelineId, ChunkId, str | None], Landed]] = {}

    def read(self, table: TableName) -> tuple[int, list[Landed]]:
        """All that landed in a table at one moment, and the catalog's version of it, or one just before."""
        for page in _PAGES:
            revision = self._catalog.chunks.version(table)
            landed = self._read(table, page)
            if self._catalog.chunks.version(table) == revision:
                break
        return revision, landed

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


def table_state(
    layout: StoreLayout, catalog: Catalog, table: TableName, chunks: LandedChunks | None = None
) -> TableState | None:
    """The table as it is now; None while it has no schema."""
    revision, landed = (chunks or LandedChunks(catalog)).read(table)
    # After the chunks: a schema that is newer than they are reads them, an older one would not.
    schema = catalog.schemas.current(table)
    log = catalog.schemas.log(table)
    if schema is None:
        return None
    root = str(layout.root)
    files: dict[int, list[str]] = defaultdict(list)
    for one in visible(landed, has_key=bool(schema.primary_key)):
        files[one.schema_version] += [f"{root}/{path}" for path in one.files]
    aside = [one for one in visible(landed, has_key=False) if one.quarantine]
    return TableState(
        table=table,
        primary_key=schema.primary_key,
        schemas={step.version: schema_from(step.after) for step in log if step.version <= schema.version},
        revision=revision,
        since=schema.created_at,
        root=root,
        files={version: tuple(paths) for version, paths in files.items() if paths},
        quarantine=tuple(f"{root}/{path}" for one in aside for path in one.quarantine),
    )
