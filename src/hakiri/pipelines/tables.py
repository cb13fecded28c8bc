"""The tables of a pipeline, by whichever of their two names somebody knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hakiri.core.nearest import nearest
from hakiri.pipelines.errors import NoSuchTable

if TYPE_CHECKING:
    from hakiri.manifest import PipelineSpec


def chosen_table(spec: PipelineSpec, name: str | None) -> str:
    """The name at the source of the table that is meant; of the first one when nobody says."""
    if name is None:
        return spec.source_name(spec.tables[0])
    for table in spec.tables:
        if name in (table.name, spec.source_name(table), spec.store_name(table)):
            return spec.source_name(table)
    known = [table.name for table in spec.tables]
    raise NoSuchTable(spec.id, name, known, nearest(name, known))
