"""What a pipeline brings to its tables, as far as that is known without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hakiri.core.clock import Clock
from hakiri.core.ids import PipelineId, TableName
from hakiri.pipelines.evolution.changes import ContractMode
from hakiri.pipelines.evolution.incoming import incoming_shape
from hakiri.pipelines.evolution.shapes import TableShape
from hakiri.pipelines.refusals import refused_shape
from hakiri.pipelines.tables import chosen_table
from hakiri.sources.contract import EXTRA_COLUMN
from hakiri.sources.opening import open_connector
from hakiri.transforms import artifacts_of

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.manifest import PipelineSpec, Project, TableSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """The shape of the rows that come to one table, and the contract that they meet."""

    table: TableName
    shape: TableShape
    mode: ContractMode
    is_open: bool


def brought_now(
    project: Project,
    spec: PipelineSpec,
    catalog: Catalog,
    *,
    env: Mapping[str, str],
    clock: Clock,
    only: str | None = None,
) -> list[Brought]:
    """What comes to every table of the pipeline, or to one, by either of its names. Raises NoSuchTable.

    The source is asked what it has now. What a transform makes of that only Spark can say, so of a pipeline
    that has one it is what was refused last, and tables that refused nothing are left out.
    """
    tables = spec.tables if only is None else (table_named(spec, only),)
    if artifacts_of(spec, project.root):
        return [found for table in tables for found in _refused(spec, table, catalog)]
    with open_connector(spec, project, env, clock) as connector:
        found = [connector.discover([spec.source_name(table)])[0] for table in tables]
    return [
        Brought(
            table=TableName(spec.store_name(table)),
            shape=incoming_shape(seen.schema, table, seen.primary_key),
            mode=ContractMode(table.contract),
            is_open=seen.is_open,
        )
        for table, seen in zip(tables, found, strict=True)
    ]


def table_named(spec: PipelineSpec, name: str) -> TableSpec:
    """The table of the pipeline by its name at the source or in the store. Raises NoSuchTable."""
    chosen_table(spec, name)
    return next(
        table
        for table in spec.tables
        if name in (table.name, spec.source_name(table), spec.store_name(table))
    )


def _refused(spec: PipelineSpec, table: TableSpec, catalog: Catalog) -> Iterator[Brought]:
    store = TableName(spec.store_name(table))
    shape = refused_shape(catalog, PipelineId(spec.id), store)
    if shape is not None:
        is_open = EXTRA_COLUMN in shape.schema.names
        yield Brought(table=store, shape=shape, mode=ContractMode(table.contract), is_open=is_open)
