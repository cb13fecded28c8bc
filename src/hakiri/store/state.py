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

_CHUNKS_A_PAGE = 1000


class LandedChunks:
    """What landed, with every manifest read only once: that of a chunk that is done never changes."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[TableName, dict[tuple[PipelineId, ChunkId, str | None], Landed]] = {}

    def read(self, table: TableName) -> list[Landed]:
        """All that landed in a table, from a catalog that may go on meanwhile."""
        before = self._known.get(table, {})
        now: dict[tuple[PipelineId, ChunkId, str | None], Landed] = {}
        for chunk in self._chunks(table):
            key = (chunk.pipeline, chunk.chunk, chunk.winning_attempt)
            known = before.get(key) or landed_from(chunk)
            is_same = known.superseded_by == chunk.superseded_by
            now[key] = known if is_same else replace(known, superseded_by=chunk.superseded_by)
        self._known[table] = now
        return list(now.values())

    def _chunks(self, table: TableName) -> Iterator[Chunk]:
        after = None
        while page := self._catalog.chunks.landed(table, after=after, limit=_CHUNKS_A_PAGE):
            yield from page
            after = (page[-1].pipeline, page[-1].chunk)


def table_state(
    layout: StoreLayout, catalog: Catalog, table: TableName, chunks: LandedChunks | None = None
) -> TableState | None:
    """The table as it is now, all of it at the same moment; None while it has no schema."""
    chunks = chunks or LandedChunks(catalog)
    while True:
        revision = catalog.chunks.version(table)
        landed = chunks.read(table)
        schema = catalog.schemas.current(table)
        log = catalog.schemas.log(table)
        # Chunks came in pages: only if nothing landed meanwhile do they belong together.
        if catalog.chunks.version(table) == revision:
            break
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
        root=root,
        files={version: tuple(paths) for version, paths in files.items() if paths},
        quarantine=tuple(f"{root}/{path}" for one in aside for path in one.quarantine),
    )
