"""A table as the catalog says it is at one moment, with the files that a reader reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import Chunk
from hakiri.core.ids import TableName
from hakiri.store.layout import StoreLayout
from hakiri.store.manifests import AttemptManifest, WrittenFile
from hakiri.store.schemas import schema_from
from hakiri.store.views import TableState
from hakiri.store.visible import landed_from, visible

_CHUNKS_A_PAGE = 1000


def table_state(layout: StoreLayout, catalog: Catalog, table: TableName) -> TableState | None:
    """The table as it is now, all of it at the same moment; None while it has no schema."""
    while True:
        revision = catalog.chunks.version(table)
        landed = [landed_from(chunk) for chunk in _landed_chunks(catalog, table)]
        schema = catalog.schemas.current(table)
        log = catalog.schemas.log(table)
        # It came in pages: only if nothing landed meanwhile do they belong together.
        if catalog.chunks.version(table) == revision:
            break
    if schema is None:
        return None
    files: dict[int, list[str]] = defaultdict(list)
    for one in visible(landed, has_key=bool(schema.primary_key)):
        files[one.manifest.schema_version] += _paths(layout, one.manifest, one.manifest.files)
    aside = visible(landed, has_key=False)
    return TableState(
        table=table,
        primary_key=schema.primary_key,
        schemas={step.version: schema_from(step.after) for step in log if step.version <= schema.version},
        revision=revision,
        root=str(layout.root),
        files={version: tuple(paths) for version, paths in files.items() if paths},
        quarantine=tuple(
            path for one in aside for path in _paths(layout, one.manifest, one.manifest.quarantine)
        ),
    )


def _landed_chunks(catalog: Catalog, table: TableName) -> Iterator[Chunk]:
    after = None
    while page := catalog.chunks.landed(table, after=after, limit=_CHUNKS_A_PAGE):
        yield from page
        after = (page[-1].pipeline, page[-1].chunk)


def _paths(layout: StoreLayout, manifest: AttemptManifest, files: Iterable[WrittenFile]) -> list[str]:
    if not files:
        return []
    folder = layout.attempt_folder(
        table=manifest.table,
        run=manifest.run,
        node=manifest.node,
        chunk=manifest.chunk,
        number=manifest.attempt,
    )
    return [f"{folder}/{file.name}" for file in files]
