"""What was refused of a table, kept in the audit log until somebody decides about it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.audit import AuditEntry
from hakiri.core.canonical import canonical_json
from hakiri.core.ids import PipelineId, TableName
from hakiri.pipelines.evolution import Change, ChangeKind, TableShape
from hakiri.pipelines.evolution.tidy import tidy_shape
from hakiri.store.schemas import schema_from, schema_text

REFUSED = "schema-refused"
_ENTRIES_A_PAGE = 100


def note_refusal(
    catalog: Catalog,
    *,
    pipeline: PipelineId,
    table: TableName,
    incoming: TableShape,
    refused: Sequence[Change],
    now: datetime,
) -> None:
    """Keep what a pipeline brought to a table that did not take it. The same again is not noted twice."""
    brought = tidy_shape(incoming)
    after = canonical_json(
        {
            "primary_key": brought.primary_key,
            "schema": json.loads(schema_text(brought.schema)),
            "refused": [asdict(change) for change in refused],
        }
    )
    latest = _latest(catalog, pipeline, table)
    if latest is None or latest.after != after:
        reason = "; ".join(f"{change} ({change.rule})" for change in refused)
        catalog.audit.note("auto", REFUSED, now, pipeline=pipeline, table=table, after=after, reason=reason)


def refused_shape(catalog: Catalog, pipeline: PipelineId, table: TableName) -> TableShape | None:
    """What the pipeline brought when the table last refused it; None if it never did."""
    latest = _latest(catalog, pipeline, table)
    if latest is None:
        return None
    told = _told(latest)
    return TableShape(
        schema=schema_from(canonical_json(told["schema"])), primary_key=tuple(told["primary_key"])
    )


def changes_refused(entry: AuditEntry) -> tuple[Change, ...]:
    """The changes that were refused then."""
    return tuple(Change(**{**each, "kind": ChangeKind(each["kind"])}) for each in _told(entry)["refused"])


def entries_of(catalog: Catalog, pipeline: PipelineId) -> Iterator[AuditEntry]:
    """The audit log of a pipeline, the newest entry first."""
    before: int | None = None
    while page := catalog.audit.page(pipeline=pipeline, before=before, limit=_ENTRIES_A_PAGE):
        yield from page
        before = page[-1].number


def _latest(catalog: Catalog, pipeline: PipelineId, table: TableName) -> AuditEntry | None:
    entries = entries_of(catalog, pipeline)
    return next((each for each in entries if each.action == REFUSED and each.table == table), None)


def _told(entry: AuditEntry) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(entry.after or "{}")
    return told
