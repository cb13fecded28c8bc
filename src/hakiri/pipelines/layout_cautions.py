"""How a table is to be laid out and cannot be, told by a plan before a compaction is refused for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hakiri.core.ids import TableName
from hakiri.manifest.tables import BloomIndex
from hakiri.pipelines.partition_sizes import rule_of

if TYPE_CHECKING:
    import pyarrow as pa

    from hakiri.catalog import Catalog
    from hakiri.manifest import PipelineSpec, TableSpec
    from hakiri.pipelines.asking import TableLook


def stored_misfits(catalog: Catalog, spec: PipelineSpec) -> Iterator[str]:
    """Warnings of layouts that tables cannot have with the columns that they have now."""
    for table in spec.tables:
        schema = catalog.schemas.current(TableName(spec.store_name(table))) if _has_layout(table) else None
        if schema is not None:
            from hakiri.store.schemas import schema_from

            yield from _misfits(schema.table, table, schema_from(schema.arrow_schema))


def expected_misfits(spec: PipelineSpec, table: TableSpec, look: TableLook) -> Iterator[str]:
    """Warnings of layouts that a table will not have with columns that its source tells; it may have more."""
    if _has_layout(table):
        yield from _misfits(spec.store_name(table), table, look.table.schema, is_all=False)


def _has_layout(table: TableSpec) -> bool:
    return bool(table.compaction.cluster_by or rule_of(table.compaction) or _filtered(table))


def _misfits(name: str, table: TableSpec, own: pa.Schema, *, is_all: bool = True) -> Iterator[str]:
    import pyarrow as pa

    from hakiri.store.column_uses import why_timeless, why_unfiltered, why_unsorted
    from hakiri.store.rows import HIDDEN_FIELDS, INGESTED_AT

    columns = pa.schema([*own, *HIDDEN_FIELDS])
    sorted_by, rule = table.compaction.cluster_by or (), rule_of(table.compaction)
    found = [(each, "sorted", why_unsorted(columns, each), "`cluster_by`") for each in sorted_by]
    if rule is not None and rule.column is None:
        by = next(iter(sorted_by), INGESTED_AT)
        why = why_timeless(columns, by, rule.text)
        found.append((by, "partitioned", why, "`cluster_by`, which begins with it, or `access_pattern`"))
    elif rule is not None and rule.column is not None:
        by = rule.column
        why = why_unsorted(columns, by) if rule.unit is None else why_timeless(columns, by, rule.text)
        found.append((by, "partitioned", why, f"`{rule.key}`"))
    found += [
        (each, "filtered", why_unfiltered(columns, each), "the index of kind `bloom`")
        for each in _filtered(table)
    ]
    for column, what, why, key in found:
        if why is not None and (is_all or column in columns.names):
            yield (
                f"table `{name}` will not be compacted, because it cannot be {what} by column `{column}`: "
                f"{why}; change {key}"
            )


def _filtered(table: TableSpec) -> tuple[str, ...]:
    return tuple(name for index in table.indexes if isinstance(index, BloomIndex) for name in index.on)
