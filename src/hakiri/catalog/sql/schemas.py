"""Schemas of tables and their history."""

from __future__ import annotations

import json
from datetime import datetime

from hakiri.catalog.contract.schemas import SchemaChange, SchemaStep, TableSchema
from hakiri.catalog.errors import SchemaMoved
from hakiri.catalog.sql.database import Database, Row, Transaction, built, moment, sure
from hakiri.catalog.sql.pipelines import lock_pipeline
from hakiri.catalog.sql.tables import bump_revision, lock_table
from hakiri.core.canonical import canonical_json
from hakiri.core.ids import PipelineId, TableName


class SqlSchemas:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, step: SchemaStep, pipeline: PipelineId, now: datetime) -> SchemaChange:
        def work(tx: Transaction) -> SchemaChange:
            lock_pipeline(tx, pipeline, now)
            return take_step(tx, step, pipeline, now)

        return self._database.write(work)

    def current(self, table: TableName) -> TableSchema | None:
        return built(_schema, self._database.one("table_schema", table=table))

    def log(self, table: TableName) -> tuple[SchemaChange, ...]:
        return tuple(_change(row) for row in self._database.all("schema_log", table=table))

    def log_of_pipeline(self, pipeline: PipelineId) -> tuple[SchemaChange, ...]:
        rows = self._database.all("schema_log_of_pipeline", pipeline=pipeline)
        return tuple(_change(row) for row in rows)


def take_step(tx: Transaction, step: SchemaStep, pipeline: PipelineId, now: datetime) -> SchemaChange:
    """Take the step as a part of a transaction that has locked the pipeline. Raises SchemaMoved."""
    lock_table(tx, step.table)
    stored = tx.one("table_schema", table=step.table)
    version = 0 if stored is None else stored["version"]
    if version != step.based_on:
        raise SchemaMoved(step.table, step.based_on, version)
    # History first: the store takes a schema only as the last version of its history.
    added = tx.one(
        "add_schema_change",
        table=step.table,
        version=version + 1,
        pipeline=pipeline,
        change_kind=step.change_kind,
        before=stored and stored["arrow_schema_json"],
        after=step.after,
        decided_by=step.decided_by,
        now=now,
    )
    tx.run(
        "first_table_schema" if stored is None else "next_table_schema",
        table=step.table,
        after=step.after,
        primary_key=canonical_json(step.primary_key) if step.primary_key else None,
        version=version + 1,
        now=now,
    )
    bump_revision(tx, step.table)
    return _change(sure(added))


def _change(row: Row) -> SchemaChange:
    return SchemaChange(
        table=row["table_name"],
        version=row["version"],
        pipeline=row["pipeline_id"],
        change_kind=row["change_kind"],
        before=row["before_json"],
        after=row["after_json"],
        decided_by=row["decided_by"],
        at=moment(row["at"]),
    )


def _schema(row: Row) -> TableSchema:
    return TableSchema(
        table=row["table_name"],
        version=row["version"],
        arrow_schema=row["arrow_schema_json"],
        primary_key=tuple(json.loads(row["primary_key"] or "[]")),
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
    )
