"""Rows that stay in a table without a key when the pipeline that brought them is not declared any more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hakiri.catalog.contract.chunks import ChunkStatus
from hakiri.core.ids import ChunkId, PipelineId, TableName

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.manifest import PipelineSpec, Project

# No chunk has a higher id: what comes behind it is of another pipeline.
_BEHIND_ALL = ChunkId(2**62)


def feeders(catalog: Catalog, table: TableName) -> Iterator[PipelineId]:
    """The pipelines whose rows a reader of the table sees, by id."""
    after: tuple[PipelineId, ChunkId] | None = None
    while page := catalog.chunks.landed(table, after=after):
        first = page[0].pipeline
        own = [chunk for chunk in page if chunk.pipeline == first]
        after = (first, own[-1].chunk)
        if any(chunk.rows and chunk.status is ChunkStatus.DONE for chunk in own):
            yield first
            after = (first, _BEHIND_ALL)


def leftovers(catalog: Catalog, project: Project, spec: PipelineSpec) -> Iterator[str]:
    """A warning for every table of the pipeline without a key that has rows of one that is gone.

    As after a pipeline got another id: to Hakiri it is another one, and nothing replaces what the former
    brought.
    """
    declared = {each.id for each in project.pipelines}
    for table in spec.tables:
        store = TableName(spec.store_name(table))
        schema = catalog.schemas.current(store)
        if schema is None or schema.primary_key:
            continue
        gone = [f"`{name}`" for name in feeders(catalog, store) if name not in declared]
        if gone:
            yield (
                f"table `{store}` has no primary key and still has the rows of {', '.join(gone)}, which the "
                "manifest does not declare any more, and no command takes them out; name a key with "
                "`primary_key`, so that the newest row of each is seen, or pull into another table with `as`"
            )
