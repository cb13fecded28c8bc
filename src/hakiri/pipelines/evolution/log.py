"""Everything that was decided about the columns of a pipeline's tables, out of the catalog."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.audit import AuditEntry
from hakiri.catalog.contract.schemas import SchemaChange
from hakiri.core.ids import PipelineId, TableName
from hakiri.pipelines.evolution.changes import Change, ChangeKind, key_change, kinds_text
from hakiri.pipelines.evolution.history import changes_between
from hakiri.pipelines.evolution.recording import MIGRATED, RECONCILED
from hakiri.pipelines.evolution.shapes import TableShape
from hakiri.pipelines.refusals import REFUSED, changes_refused, entries_of
from hakiri.store.schemas import schema_from


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One decision: a version of the table, or without one what was refused."""

    table: TableName
    version: int | None
    pipeline: PipelineId
    change_kind: str
    changes: tuple[Change, ...]
    decided_by: str
    at: datetime


def schema_log(
    catalog: Catalog, pipeline: PipelineId, tables: Collection[TableName] = ()
) -> tuple[LogEntry, ...]:
    """Every step of every table that the pipeline ever changed, and of these, with what was refused.

    The oldest is the first. Steps of other pipelines that feed the same table are among them.
    """
    steps = catalog.schemas.log_of_pipeline(pipeline)
    named = dict.fromkeys((*tables, *(step.table for step in steps)))
    found = [entry for table in named for entry in _of_table(catalog, table)]
    found += [_refusal(entry) for entry in entries_of(catalog, pipeline) if entry.action == REFUSED]
    return tuple(
        sorted(found, key=lambda entry: (entry.at, entry.table, entry.version is None, entry.version or 0))
    )


def _of_table(catalog: Catalog, table: TableName) -> Iterator[LogEntry]:
    steps = catalog.schemas.log(table)
    keys = _key_changes(catalog, table, dict.fromkeys(step.pipeline for step in steps))
    for step in steps:
        changes = [*_column_changes(step)]
        if ChangeKind.CHANGE_KEY in step.change_kind.split("+"):
            changes.append(keys.get(step.version, key_change((), (), "it was migrated")))
        yield LogEntry(
            table=step.table,
            version=step.version,
            pipeline=step.pipeline,
            change_kind=step.change_kind,
            changes=tuple(changes),
            decided_by=step.decided_by,
            at=step.at,
        )


def _column_changes(step: SchemaChange) -> tuple[Change, ...]:
    before = None if step.before is None else TableShape(schema=schema_from(step.before))
    return changes_between(before, TableShape(schema=schema_from(step.after)))


def _key_changes(catalog: Catalog, table: TableName, pipelines: Collection[PipelineId]) -> dict[int, Change]:
    """The changes of the table's key by version: the history has the columns alone, the audit log this."""
    found = {}
    for entry in (entry for pipeline in pipelines for entry in entries_of(catalog, pipeline)):
        if entry.table == table and entry.action in (MIGRATED, RECONCILED) and entry.before and entry.after:
            before, after = json.loads(entry.before), json.loads(entry.after)
            found[after["version"]] = key_change(
                before["primary_key"], after["primary_key"], "it was migrated"
            )
    return found


def _refusal(entry: AuditEntry) -> LogEntry:
    refused = changes_refused(entry)
    return LogEntry(
        table=entry.table or TableName(""),
        version=None,
        pipeline=entry.pipeline or PipelineId(""),
        change_kind=kinds_text(refused),
        changes=refused,
        decided_by=entry.by,
        at=entry.at,
    )
