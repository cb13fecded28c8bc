"""The tables of a pipeline: by whichever of their two names somebody knows, and with all that is known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hakiri.core.cursors import CursorKind
from hakiri.core.nearest import nearest
from hakiri.pipelines.errors import NoSuchTable

if TYPE_CHECKING:
    import pyarrow as pa

    from hakiri.manifest import PipelineSpec
    from hakiri.sources.contract import Extent, Table


def chosen_table(spec: PipelineSpec, name: str | None) -> str:
    """The name at the source of the table that is meant; of the first one when nobody says."""
    if name is None:
        return spec.source_name(spec.tables[0])
    for table in spec.tables:
        if name in (table.name, spec.source_name(table), spec.store_name(table)):
            return spec.source_name(table)
    known = [table.name for table in spec.tables]
    raise NoSuchTable(spec.id, name, known, nearest(name, known))


def kind_by_column(kind: CursorKind, extent: Extent) -> CursorKind:
    """How a table is read by a column that the manifest names: by its values if the source can measure them.

    It has measured a table without any row as well, of which there is nothing to cut.
    """
    is_told = extent.rows == 0 or extent.has_nulls is False
    is_empty = extent.highest is None and not extent.has_nulls and is_told
    is_measured = extent.highest is not None or is_empty
    return CursorKind.MONOTONIC if kind is CursorKind.OPAQUE_TOKEN and is_measured else kind


def with_known_columns(found: Table, known: pa.Schema) -> Table:
    """An open table with the columns and types that are known of it already, beside those it shows now."""
    import pyarrow as pa

    from hakiri.sources.contract import EXTRA_COLUMN

    fields = {field.name: field for field in found.schema if field.name != EXTRA_COLUMN}
    for field in known:
        if field.name != EXTRA_COLUMN:
            fields.setdefault(field.name, pa.field(field.name, field.type))
    extra = [field for field in found.schema if field.name == EXTRA_COLUMN]
    return replace(found, schema=pa.schema([*fields.values(), *extra]))
