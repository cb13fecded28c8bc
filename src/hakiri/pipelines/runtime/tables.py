"""The tables of a pipeline, made ready: what the source has, and what becomes of the stored schema."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from hakiri.catalog.contract.schemas import SchemaStep, TableSchema
from hakiri.catalog.errors import SchemaMoved
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import PipelineId, TableName
from hakiri.pipelines.chunks.knobs import Knobs, knobs_in_force
from hakiri.pipelines.chunks.planning import TableFacts
from hakiri.pipelines.deciding import decided
from hakiri.pipelines.errors import OpColumnDropped
from hakiri.pipelines.evolution import Evolution, TableShape, incoming_shape, shape_of
from hakiri.pipelines.expectations import compile_expectations
from hakiri.pipelines.inputs import empty_input, reference_frames
from hakiri.pipelines.refusals import note_refusal
from hakiri.pipelines.runtime.ground import Ground
from hakiri.pipelines.runtime.jobs import TableJob
from hakiri.pipelines.soundness import (
    check_columns,
    check_name,
    check_reading,
    check_rules,
    check_same_cursor,
    told_where,
)
from hakiri.pipelines.tables import kind_by_column, with_known_columns
from hakiri.sources.bridge.schemas import arrow_schema, spark_schema
from hakiri.sources.contract import OP_COLUMN, Extent, Hint, Table
from hakiri.sources.reading import OpenSource
from hakiri.store.schemas import fingerprint, schema_text
from hakiri.store.writing import BadRows, Shape
from hakiri.transforms import failed_step, fresh_artifacts, stored_plans, transformed

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Relation
    from pyspark.sql.connect.session import SparkSession

    from hakiri.manifest import PipelineSpec, TableSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWork:
    """One table of a pipeline in one run."""

    spec: TableSpec
    store: TableName
    table: Table
    hint: Hint
    kind: CursorKind
    cursor: str | None
    partitions: tuple[Mapping[str, str], ...]
    knobs: Knobs
    incoming: pa.Schema
    evolution: Evolution
    stored: TableSchema | None

    @property
    def target(self) -> TableShape:
        """What the table is once something of this run is committed."""
        return self.evolution.shape

    @property
    def is_pass(self) -> bool:
        """Whether news are found only by reading all of it again."""
        return self.kind is CursorKind.MONOTONIC and self.cursor is None

    @property
    def primary_key(self) -> tuple[str, ...]:
        return self.target.primary_key

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.target.schema)

    def facts(self, extent: Extent) -> TableFacts:
        return TableFacts(
            table=self.store,
            kind=self.kind,
            field=self.cursor or self.hint.cursor_field,
            extent=extent,
            partitions=self.partitions,
            is_pass=self.is_pass,
            estimated_rows=self.table.estimated_rows,
            lag=self.spec.lag,
        )

    def schema_step(self, current: TableSchema | None) -> SchemaStep | None:
        """The step from what the catalog has now to what this run writes; None when there is none to take.

        Raises SchemaMoved when it is not what was decided about any more: somebody else moved it meanwhile.
        """
        text = schema_text(self.target.schema)
        key = self.target.primary_key
        if current is not None and current.arrow_schema == text and current.primary_key == key:
            return None
        known, now = _version(self.stored), _version(current)
        if known != now:
            raise SchemaMoved(self.store, known, now)
        return SchemaStep(
            table=self.store,
            based_on=now,
            change_kind=self.evolution.change_kind,
            after=text,
            primary_key=key,
        )


def _version(schema: TableSchema | None) -> int:
    return schema.version if schema is not None else 0


def prepare_table(
    ground: Ground, spec: PipelineSpec, source: OpenSource, table: TableSpec, plans: Sequence[Relation]
) -> TableWork:
    """Ask the source for the table, and decide what becomes of the stored schema.

    Raises what is wrong with the source or the transform, BadExpectations, SchemaIncompatible for what the
    rules refuse, and LagUnsound or DeletesUnsound for what cannot be declared of a table that is read so;
    each with its place in the manifest.
    """
    found = source.table(spec.source_name(table), ground.project.place_of(spec.id))
    hint = source.connector.backfill_hint(found.name)
    kind = _kind(source, spec, table, found, hint)
    partitions = tuple(source.connector.partitions(found.name))
    in_force = replace(hint, cursor_kind=kind)
    with told_where(ground.project, spec, "backfill", "parallelism"):
        knobs = knobs_in_force(spec.backfill, in_force, table=table.name, partitions=len(partitions))
    with told_where(ground.project, spec, "tables", spec.tables.index(table)):
        return _decided_work(
            ground, spec, table, plans, found=found, hint=in_force, partitions=partitions, knobs=knobs
        )


def _decided_work(
    ground: Ground,
    spec: PipelineSpec,
    table: TableSpec,
    plans: Sequence[Relation],
    *,
    found: Table,
    hint: Hint,
    partitions: tuple[Mapping[str, str], ...],
    knobs: Knobs,
) -> TableWork:
    """The table with what becomes of its schema, if it can be read as it is declared."""
    store = TableName(spec.store_name(table))
    check_name(ground.catalog, store)
    stored = ground.catalog.schemas.current(store)
    if found.is_open and stored is not None and not plans:
        # Columns that this sample did not show are still there, and rows may well have them.
        found = with_known_columns(found, shape_of(stored).schema)
    schema = _result_schema(ground, spec, found, plans) if plans else _spark_form(found)
    if OP_COLUMN in found.schema.names and OP_COLUMN not in schema.names:
        raise OpColumnDropped(spec.id, found.name)
    check_columns(spec.id, found.name, schema.names)
    check_rules(ground.project, spec, spec.tables.index(table), schema)
    incoming = incoming_shape(schema, table, found.primary_key)
    evolution = decided(
        stored, incoming, table, store=store, is_open=found.is_open, find_files=ground.find_files
    )
    if evolution.is_refused:
        note_refusal(
            ground.catalog,
            pipeline=PipelineId(spec.id),
            table=store,
            incoming=incoming,
            refused=evolution.refused,
            now=ground.clock.now(),
        )
        raise evolution.error(store, spec.id)
    if found.is_open and not plans:
        # What the sample shows as a whole number may be stored as a fraction, and rows are read as that.
        found = with_stored_types(found, evolution.shape.schema)
    cursor = spec.cursor_of(table) or (hint.cursor_field if hint.is_cursor else None)
    key = evolution.shape.primary_key
    check_reading(table, store=store, kind=hint.cursor_kind, cursor=cursor, primary_key=key)
    if not key:
        check_same_cursor(ground.catalog, spec, table)
    return TableWork(
        spec=table,
        store=store,
        table=found,
        hint=hint,
        kind=hint.cursor_kind,
        cursor=cursor,
        partitions=partitions,
        knobs=knobs,
        incoming=schema,
        evolution=evolution,
        stored=stored,
    )


def record_schemas(ground: Ground, pipeline: PipelineId, works: Sequence[TableWork]) -> tuple[TableName, ...]:
    """Take the steps of stored schemas that no chunk has taken, as there was none to read; their tables.

    What was told of a table's columns is in its history then, and readers see the columns.
    """
    moved = []
    for work in works:
        if work.stored is None:
            continue
        with suppress(SchemaMoved):  # whoever moved it has decided about it since, and so will the next run
            step = work.schema_step(ground.catalog.schemas.current(work.store))
            if step is not None:
                ground.catalog.schemas.record(step, pipeline, ground.clock.now())
                moved.append(work.store)
    return tuple(moved)


def table_job(
    ground: Ground, spec: PipelineSpec, source: OpenSource, work: TableWork, plans: Sequence[Relation]
) -> TableJob:
    """How its chunks are read and written. The first call for any table starts Spark."""
    spark = ground.sessions.get()
    return TableJob(
        spark=spark,
        pipeline=spec.id,
        root=ground.project.root,
        source=source,
        table=work.table,
        shape=Shape(
            schema=work.target.schema,
            primary_key=work.target.primary_key,
            schema_version=(work.stored.version if work.stored is not None else 0),
            bad_rows=BadRows(work.spec.on_bad_row),
        ),
        plans=tuple(plans),
        references=reference_frames(spark, ground.project, spec, ground.find_files) if plans else {},
        expectations=compile_expectations(
            work.spec.expect, table=work.store, rows=work.incoming, stored=work.target.schema
        ),
        ignored=frozenset(change.column for change in work.evolution.ignored),
        redacted=frozenset(name for name, column in work.spec.columns.items() if column.redact),
        is_one_file=spec.backfill.destination_writes_per_sec is not None,
        native_lock=threading.Lock(),
    )


def plans_for(ground: Ground, spec: PipelineSpec, table: TableSpec) -> list[Relation]:
    """The compiled plans of the table's transform; none if it has none."""
    artifacts = fresh_artifacts(spec, ground.project.root)
    return stored_plans(artifacts, spec.source_name(table), spec.references) if artifacts else []


def with_stored_types(found: Table, stored: pa.Schema) -> Table:
    """An open table whose columns are read as the types that they are stored as."""
    types = {field.name: field.type for field in stored}
    fields = [pa.field(field.name, types.get(field.name, field.type)) for field in found.schema]
    return replace(found, schema=pa.schema(fields))


def _kind(source: OpenSource, spec: PipelineSpec, table: TableSpec, found: Table, hint: Hint) -> CursorKind:
    """What the connector declares; a column that the manifest names and the source can measure is as good."""
    named = spec.cursor_of(table)
    if hint.cursor_kind is not CursorKind.OPAQUE_TOKEN or named is None:
        return hint.cursor_kind
    return kind_by_column(hint.cursor_kind, source.connector.extent(found.name, named))


def _spark_form(table: Table) -> pa.Schema:
    return arrow_schema(spark_schema(table.schema, table.name))


def _result_schema(ground: Ground, spec: PipelineSpec, table: Table, plans: Sequence[Relation]) -> pa.Schema:
    """The columns that the transform gives, as Spark's analyzer sees them."""
    from pyspark.errors import PySparkException

    spark: SparkSession = ground.sessions.get()
    references = reference_frames(spark, ground.project, spec, ground.find_files)
    try:
        return arrow_schema(transformed(empty_input(spark, table), plans, references).schema)
    except PySparkException as error:
        told = failed_step(error, spec.id, ground.project.root)
        if told is None:
            raise
        raise told from error
