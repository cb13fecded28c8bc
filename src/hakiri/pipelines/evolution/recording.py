"""Decisions of people about the columns of a table, taken in the catalog."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.pipelines import Decision
from hakiri.catalog.contract.schemas import SchemaStep, TableSchema
from hakiri.core.canonical import canonical_json
from hakiri.core.ids import PipelineId, TableName
from hakiri.pipelines.evolution.brought import Brought
from hakiri.pipelines.evolution.changes import Change, kinds_text
from hakiri.pipelines.evolution.decide import accept
from hakiri.pipelines.evolution.errors import NoSchemaYet, SchemaIncompatible
from hakiri.pipelines.evolution.history import changes_between
from hakiri.pipelines.evolution.keys import migrated_key
from hakiri.pipelines.evolution.proof import exact_columns
from hakiri.pipelines.evolution.reconcile import Divergence, Side, reconciled
from hakiri.pipelines.evolution.shapes import TableShape
from hakiri.store.schemas import schema_from, schema_text

ACCEPTED, MIGRATED, RECONCILED = "schema-accepted", "schema-migrated", "schema-reconciled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What was decided about one table: its version since then, and what is still refused.

    Without changes nothing was recorded, and the version is the one that there was.
    """

    table: TableName
    version: int
    changes: tuple[Change, ...]
    refused: tuple[Change, ...] = ()


def shape_of(schema: TableSchema) -> TableShape:
    """The shape that the catalog has of a table."""
    return TableShape(schema=schema_from(schema.arrow_schema), primary_key=schema.primary_key)


def step_to(
    shape: TableShape, changes: Sequence[Change], *, table: TableName, based_on: int, decided_by: str = "auto"
) -> SchemaStep:
    """The step of the catalog that gives the table this shape; `based_on` is 0 for a new one."""
    return SchemaStep(
        table=table,
        based_on=based_on,
        change_kind=kinds_text(changes),
        after=schema_text(shape.schema),
        primary_key=shape.primary_key,
        decided_by=decided_by,
    )


def accept_changes(
    catalog: Catalog,
    brought: Brought,
    *,
    pipeline: PipelineId,
    columns: Collection[str] | None,
    files: Iterable[Path],
    by: str,
    now: datetime,
) -> Decided:
    """Let through what the table refuses of what is brought to it, or of these columns.

    `files` are all that the table has, see `exact_columns`. Raises NoSchemaYet.
    """
    current = _current(catalog, brought.table)
    stored = shape_of(current)
    accepted = accept(
        stored,
        brought.shape,
        mode=brought.mode,
        is_open=brought.is_open,
        exact=exact_columns(stored, brought.shape, files),
        columns=columns,
    )
    decided = _recorded(
        catalog, current, accepted.shape, accepted.changes, pipeline=pipeline, by=by, now=now, action=ACCEPTED
    )
    return replace(decided, refused=accepted.refused)


def migrate_key(
    catalog: Catalog, key: Sequence[str], *, pipeline: PipelineId, table: TableName, by: str, now: datetime
) -> Decided:
    """Give the table another primary key. Raises NoSchemaYet and KeyImpossible."""
    current = _current(catalog, table)
    before = shape_of(current)
    after = migrated_key(before, key)
    changes = changes_between(before, after)
    return _recorded(catalog, current, after, changes, pipeline=pipeline, by=by, now=now, action=MIGRATED)


def reconcile_table(
    catalog: Catalog, theirs: Catalog, *, table: TableName, take: Side | None, by: str, now: datetime
) -> Decided:
    """Make one schema of ours and that of another catalog, and record it here. The other is only read.

    Raises NoSchemaYet if one of them does not have the table, and SchemasDiverged without a choice that it
    needs.
    """
    current, other = _current(catalog, table), _current(theirs, table)
    before = shape_of(current)
    after = reconciled(before, shape_of(other), take=take)
    if isinstance(after, Divergence):
        raise after.error(table)
    pipeline = catalog.schemas.log(table)[-1].pipeline
    changes = changes_between(before, after) if after != before else ()
    return _recorded(catalog, current, after, changes, pipeline=pipeline, by=by, now=now, action=RECONCILED)


def settle_refusal(catalog: Catalog, pipeline: PipelineId, by: str, now: datetime) -> bool:
    """Let a pipeline that waits because of refused columns go on. False if it does not wait for that."""
    state = catalog.pipelines.get(pipeline)
    if state is None or state.failure is None or state.failure.kind != SchemaIncompatible.code:
        return False
    return catalog.pipelines.decide(pipeline, Decision.RETRY, by, now)


def _current(catalog: Catalog, table: TableName) -> TableSchema:
    found = catalog.schemas.current(table)
    if found is None:
        raise NoSchemaYet(table, catalog.info().location)
    return found


def _recorded(
    catalog: Catalog,
    before: TableSchema,
    after: TableShape,
    changes: tuple[Change, ...],
    *,
    pipeline: PipelineId,
    by: str,
    now: datetime,
    action: str,
) -> Decided:
    if not changes:
        return Decided(table=before.table, version=before.version, changes=())
    step = step_to(after, changes, table=before.table, based_on=before.version, decided_by=by)
    taken = catalog.schemas.record(step, pipeline, now)
    catalog.audit.note(
        by,
        action,
        now,
        pipeline=pipeline,
        table=before.table,
        before=_version_said(before.version, before.primary_key),
        after=_version_said(taken.version, after.primary_key),
        reason="; ".join(map(str, changes)),
    )
    return Decided(table=before.table, version=taken.version, changes=changes)


def _version_said(version: int, key: Sequence[str]) -> str:
    return canonical_json({"version": version, "primary_key": list(key)})
