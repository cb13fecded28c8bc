"""Cursors."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from hakiri.catalog.contract.audit import NewEntry
from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.deciders import check_decider
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.runs import RunStatus
from hakiri.catalog.sql.audit import add_entry
from hakiri.catalog.sql.database import Database, Row, Transaction, moment, sure
from hakiri.catalog.sql.pipelines import lock_pipeline, lock_pipeline_under
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import PipelineId, RunId, TableName

FROM_THE_START = "null"


class SqlCursors:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, pipeline: PipelineId, table: TableName) -> Cursor | None:
        row = self._database.one("cursor", pipeline=pipeline, table=table)
        return _cursor(row) if row is not None and row["cursor_json"] != FROM_THE_START else None

    def all(self, pipeline: PipelineId) -> tuple[Cursor, ...]:
        return tuple(_cursor(row) for row in self._database.all("cursors", pipeline=pipeline))

    def put(
        self,
        pipeline: PipelineId,
        table: TableName,
        value: str,
        *,
        run: RunId,
        now: datetime,
        under: Lease | None = None,
        audit_by: str | None = None,
        reason: str | None = None,
    ) -> Cursor:
        if audit_by is not None:
            check_decider(audit_by)

        def work(tx: Transaction) -> Cursor:
            lock_pipeline_under(tx, pipeline, under, now)
            before = None if audit_by is None else tx.one("cursor", pipeline=pipeline, table=table)
            cursor = Cursor(pipeline=pipeline, table=table, value=value, run=run, seq=0, updated_at=now)
            written = _write_newest(tx, cursor)
            if audit_by is not None:
                entry = NewEntry(
                    by=audit_by,
                    action="cursor",
                    pipeline=pipeline,
                    table=table,
                    before=None if before is None else before["cursor_json"],
                    after=value,
                    reason=reason,
                )
                add_entry(tx, entry, now)
            return written

        return self._database.write(work)

    def adopt(self, cursor: Cursor, now: datetime) -> bool:
        def work(tx: Transaction) -> bool:
            state = lock_pipeline(tx, cursor.pipeline, now)
            if CursorKind(state["cursor_kind"]).needs_lease:
                return False
            theirs = _success(tx, cursor)
            row = tx.one("cursor", pipeline=cursor.pipeline, table=cursor.table)
            ours = None if row is None else _success(tx, _cursor(row))
            if theirs is None or (ours is not None and ours >= theirs):
                return False
            _write_newest(tx, cursor)
            return True

        return self._database.write(work)


def write_cursor(tx: Transaction, cursor: Cursor) -> Row | None:
    """Write a cursor that came with a claim; None when a later claim has written one already."""
    return tx.one(
        "write_cursor",
        pipeline=cursor.pipeline,
        table=cursor.table,
        value=cursor.value,
        run=cursor.run,
        seq=cursor.seq,
        now=cursor.updated_at,
    )


def _write_newest(tx: Transaction, cursor: Cursor) -> Cursor:
    """Write a cursor under a new number, which no other is higher than."""
    seq = sure(tx.one("next_seq"))["seq"]
    return _cursor(sure(write_cursor(tx, replace(cursor, seq=seq))))


def _success(tx: Transaction, cursor: Cursor) -> tuple[datetime, RunId, datetime] | None:
    """How recent the run of a cursor is, if it succeeded, in an order that all replicas see alike.

    By the end of the run, which does not change, and only within one run by the time of the cursor, which
    is set forward when a cursor overwrites a later one.
    """
    row = tx.one("run", run=cursor.run)
    if row is None or row["status"] != RunStatus.SUCCESS:
        return None
    return moment(row["ended_at"]), cursor.run, cursor.updated_at


def _cursor(row: Row) -> Cursor:
    return Cursor(
        pipeline=row["pipeline_id"],
        table=row["table_name"],
        value=row["cursor_json"],
        run=row["run_id"],
        seq=row["seq"],
        updated_at=moment(row["updated_at"]),
    )
