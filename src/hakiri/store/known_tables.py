"""Which tables a store has, by its catalog."""

from __future__ import annotations

from hakiri.catalog.contract import Catalog
from hakiri.core.ids import TableName


def known_tables(catalog: Catalog) -> tuple[TableName, ...]:
    """Every table that ever had a schema, by name, whether its pipeline is still in the manifest or not."""
    changes = (
        change
        for pipeline in catalog.pipelines.all()
        for change in catalog.schemas.log_of_pipeline(pipeline.pipeline)
    )
    return tuple(sorted({change.table for change in changes}))
