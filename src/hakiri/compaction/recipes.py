"""How the snapshots of a table are to be, and whether one that is there is so already. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa

from hakiri.catalog.contract.schemas import SchemaChange, TableSchema
from hakiri.compaction.errors import ColumnNotIndexable, ColumnsNotSortable
from hakiri.compaction.partitions import Partitioning, label_beside
from hakiri.compaction.sidecars.blooms import Blooms
from hakiri.compaction.sidecars.checksums import Checksums
from hakiri.compaction.sidecars.contract import Sidecar
from hakiri.compaction.tasks import Recipe
from hakiri.store.column_uses import why_unfiltered, why_unsorted
from hakiri.store.descent import Node, descent
from hakiri.store.rows import HIDDEN_FIELDS, INGESTED_AT
from hakiri.store.schemas import schema_from
from hakiri.store.snapshots import SnapshotManifest


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """How the rows of snapshots are laid out, which indexes they have, and how long old files are kept.

    Checksums lie beside every snapshot.
    """

    cluster_by: tuple[str, ...] = ()
    partitioning: Partitioning | None = None
    indexes: tuple[Sidecar, ...] = ()
    retain: timedelta = timedelta(days=7)

    @property
    def sidecars(self) -> tuple[Sidecar, ...]:
        return (Checksums(), *self.indexes)

    @property
    def blooms(self) -> tuple[str, ...]:
        """The columns that have a filter in every file."""
        columns = (name for each in self.indexes if isinstance(each, Blooms) for name in each.columns)
        return tuple(dict.fromkeys(columns))


def recipe_of(schema: TableSchema, log: Iterable[SchemaChange], laid_out: TableLayout) -> Recipe:
    """What every task has to know. Raises ColumnsNotSortable and ColumnNotIndexable."""
    cluster_by = laid_out.cluster_by or schema.primary_key or (INGESTED_AT,)
    columns = pa.schema([*schema_from(schema.arrow_schema), *HIDDEN_FIELDS])
    for name in cluster_by:
        if why := why_unsorted(columns, name):
            raise ColumnsNotSortable(schema.table, name, why)
    by = laid_out.partitioning
    if by is not None and (why := by.why_not(columns)):
        raise ColumnsNotSortable(schema.table, by.column, why)
    for index in laid_out.indexes:
        for name in index.columns if isinstance(index, Blooms) else ():
            if why := why_unfiltered(columns, name):
                raise ColumnNotIndexable(schema.table, index.index, name, why)
    return Recipe(
        table=schema.table,
        schemas={step.version: step.after for step in log if step.version <= schema.version},
        primary_key=schema.primary_key,
        cluster_by=cluster_by,
        label=label_beside(columns.names),
        partitioning=laid_out.partitioning,
        blooms=laid_out.blooms,
    )


def is_laid_out(snapshot: SnapshotManifest | None, recipe: Recipe, laid_out: TableLayout) -> bool:
    """Whether the files of a snapshot are in the wanted order, with all that has to be inside of them."""
    if snapshot is None:
        return False
    text = None if recipe.partitioning is None else recipe.partitioning.text
    wanted = {sidecar.index for sidecar in laid_out.sidecars if sidecar.is_inline}
    return (
        (snapshot.primary_key, snapshot.cluster_by, snapshot.partition_by)
        == (recipe.primary_key, recipe.cluster_by, text)
        and wanted <= {*snapshot.indexes}
        and _is_same_order(recipe, snapshot)
    )


def _is_same_order(recipe: Recipe, snapshot: SnapshotManifest) -> bool:
    """Whether the columns that decide the order are those of today, with the same types in all files."""
    known = descent({version: schema_from(text) for version, text in recipe.schemas.items()})
    today = [node for node in known[max(known)] if node.name in recipe.order_columns]
    then = {node.name: node.identity for node in known[snapshot.schema_version]}
    if any(then.get(node.name) != node.identity for node in today):
        return False
    versions = {file.schema_version for file in snapshot.files}

    def kind_of(node: Node, version: int) -> pa.DataType | None:
        return next((old.kind for old in known[version] if old.identity == node.identity), None)

    return all(kind_of(node, version) == node.kind for version in versions for node in today)
