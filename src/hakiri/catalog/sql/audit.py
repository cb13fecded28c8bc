"""The audit log."""

from __future__ import annotations

from datetime import datetime

from hakiri.catalog.contract.audit import AuditEntry, NewEntry
from hakiri.catalog.contract.deciders import check_decider
from hakiri.catalog.sql.counters import count_on
from hakiri.catalog.sql.database import Database, Row, Transaction, moment, sure
from hakiri.core.ids import PipelineId, TableName

_BEYOND_ALL = 2**63 - 1


class SqlAudit:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(
        self,
        by: str,
        action: str,
        now: datetime,
        *,
        pipeline: PipelineId | None = None,
        table: TableName | None = None,
        before: str | None = None,
        after: str | None = None,
        reason: str | None = None,
    ) -> AuditEntry:
        check_decider(by)
        entry = NewEntry(
            by=by, action=action, pipeline=pipeline, table=table, before=before, after=after, reason=reason
        )
        return self._database.write(lambda tx: add_entry(tx, entry, now))

    def page(
        self, *, pipeline: PipelineId | None = None, before: int | None = None, limit: int = 100
    ) -> tuple[AuditEntry, ...]:
        name = "entries" if pipeline is None else "entries_of_pipeline"
        highest = _BEYOND_ALL if before is None else before
        rows = self._database.all(name, pipeline=pipeline, before=highest, limit=limit)
        return tuple(_entry(row) for row in rows)


def add_entry(tx: Transaction, entry: NewEntry, now: datetime) -> AuditEntry:
    """Add an entry as the last thing of a transaction: nobody else adds one until its end."""
    count_on(tx, "audit")
    added = tx.one(
        "add_entry",
        now=now,
        by=entry.by,
        action=entry.action,
        pipeline=entry.pipeline,
        table=entry.table,
        before=entry.before,
        after=entry.after,
        reason=entry.reason,
    )
    return _entry(sure(added))


def _entry(row: Row) -> AuditEntry:
    return AuditEntry(
        number=row["number"],
        at=moment(row["at"]),
        by=row["decided_by"],
        action=row["action"],
        pipeline=row["pipeline_id"],
        table=row["table_name"],
        before=row["before_json"],
        after=row["after_json"],
        reason=row["reason"],
    )
