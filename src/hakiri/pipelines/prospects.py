"""What would come of a pipeline's tables: rows, chunks and schema changes, from what its source says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from hakiri.core.cursors import CursorKind
from hakiri.core.ids import PipelineId, TableName
from hakiri.pipelines.asking import TableLook
from hakiri.pipelines.chunks.cautions import warnings
from hakiri.pipelines.chunks.knobs import Knobs, knobs_in_force
from hakiri.pipelines.chunks.pieces import stream_name
from hakiri.pipelines.chunks.planning import TableFacts, estimate, plan_table
from hakiri.pipelines.evolution import ContractMode, TableShape, evolve, incoming_shape
from hakiri.pipelines.needs import Need
from hakiri.pipelines.plan import PlannedTable
from hakiri.sources.bridge.schemas import arrow_schema, spark_schema
from hakiri.store.schemas import schema_from
from hakiri.transforms import artifacts_of

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.manifest import PipelineSpec, Project, TableSpec
    from hakiri.pipelines.evolution import Evolution


def prospect_of(
    project: Project,
    spec: PipelineSpec,
    catalog: Catalog | None,
    *,
    looks: Sequence[TableLook],
    need: Need,
    now: datetime,
) -> tuple[tuple[PlannedTable, ...], Knobs | None, list[str]]:
    """Every table, the knobs in force, and what to be warned of."""
    has_transform = bool(artifacts_of(spec, project.root))
    tables: list[PlannedTable] = []
    cautions: list[str] = []
    knobs: Knobs | None = None
    for table, look in zip(spec.tables, looks, strict=True):
        knobs = knobs_in_force(spec.backfill, look.hint, table=table.name, partitions=len(look.partitions))
        facts = facts_of(spec, table, look)
        store = TableName(spec.store_name(table))
        evolution = None if has_transform else _evolution(catalog, store, table, look)
        tables.append(
            PlannedTable(
                name=look.table.name,
                store=store,
                rows=_rows(catalog, spec, facts, knobs, need),
                chunks=_chunks(catalog, spec, facts, knobs, now),
                changes=None if evolution is None else evolution.changes,
                refused=() if evolution is None else evolution.refused,
            )
        )
        cautions += [f"{each.message}; {each.hint}" for each in warnings(knobs, look.hint, facts, now)]
    return tuple(tables), knobs, list(dict.fromkeys(cautions))


def facts_of(spec: PipelineSpec, table: TableSpec, look: TableLook) -> TableFacts:
    """What a plan of chunks needs to know."""
    return TableFacts(
        table=spec.store_name(table),
        kind=look.kind,
        field=look.cursor or look.hint.cursor_field,
        extent=look.extent,
        partitions=look.partitions,
        is_pass=look.kind is CursorKind.MONOTONIC and look.cursor is None,
        estimated_rows=look.table.estimated_rows,
        lag=table.lag,
    )


def _evolution(catalog: Catalog | None, store: TableName, table: TableSpec, look: TableLook) -> Evolution:
    schema = arrow_schema(spark_schema(look.table.schema, look.table.name))
    stored = None if catalog is None else catalog.schemas.current(store)
    before = None
    if stored is not None:
        before = TableShape(schema=schema_from(stored.arrow_schema), primary_key=stored.primary_key)
    incoming = incoming_shape(schema, table, look.table.primary_key)
    return evolve(before, incoming, mode=ContractMode(table.contract), is_open=look.table.is_open)


def _rows(
    catalog: Catalog | None, spec: PipelineSpec, facts: TableFacts, knobs: Knobs, need: Need
) -> int | None:
    start = knobs.start_from.value
    if catalog is None or need is Need.NEW:
        return estimate(facts, start_from=start)
    total = 0
    for partition in facts.partitions:
        kept = catalog.cursors.get(PipelineId(spec.id), TableName(stream_name(facts.table, partition)))
        cursor = json.loads(kept.value) if kept is not None else None
        if cursor is None and need in (Need.NOTHING, Need.WAITS, Need.CHANGED):
            return 0 if facts.is_pass and need is Need.NOTHING else None
        rows = estimate(facts, cursor=cursor or None, start_from=start)
        if rows is None:
            return None
        total += rows
    return total


def _chunks(
    catalog: Catalog | None, spec: PipelineSpec, facts: TableFacts, knobs: Knobs, now: datetime
) -> int:
    """How many chunks the history of the table would be cut into; none if it was cut already."""
    pipeline = PipelineId(spec.id)
    stream = facts.table if facts.is_pass else stream_name(facts.table, facts.partitions[0])
    if catalog is not None and catalog.chunks.is_planned(pipeline, f"history of {stream}"):
        return 0
    return len(plan_table(facts, knobs, now))
