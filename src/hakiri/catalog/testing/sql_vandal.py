"""A vandal for the backends that speak SQL and have the tables of `hakiri.catalog.sql`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hakiri.catalog.contract.audit import AuditEntry
from hakiri.catalog.contract.chunks import ChunkAttempt
from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.lineage import Edge
from hakiri.catalog.contract.revocations import Scope
from hakiri.catalog.contract.snapshots import Snapshot
from hakiri.core.ids import NodeId, PipelineId, RunId, TableName

# Longer than any lease in the tests: whoever looks at the clock sees that it has not run out.
LATE = "2099-01-01T00:00:00.000000Z"
EARLY = "1999-01-01T00:00:00.000000Z"


class SqlVandal:
    """Breaks promises with plain SQL.

    `run` executes one statement, with values for its `:name` parameters, and commits it.
    """

    def __init__(self, run: Callable[..., Any]) -> None:
        self._run = run

    def lower_fence(self, lease: Lease) -> None:
        self._run("UPDATE pipeline_lease SET fence = fence - 1 WHERE pipeline_id = :id", id=lease.pipeline)

    def steal_lease(self, lease: Lease, thief: NodeId) -> None:
        self._run(
            "UPDATE pipeline_lease SET holder_node = :thief, fence = fence + 1, nonce = 'stolen'"
            " WHERE pipeline_id = :id",
            id=lease.pipeline,
            thief=thief,
        )

    def delete_lease(self, pipeline: PipelineId) -> None:
        self._run("DELETE FROM pipeline_lease WHERE pipeline_id = :id", id=pipeline)

    def change_run(self, run: RunId) -> None:
        self._run("UPDATE pipeline_run SET row_count = 99 WHERE run_id = :id", id=run)

    def delete_run(self, run: RunId) -> None:
        self._run("DELETE FROM pipeline_run WHERE run_id = :id", id=run)

    def turn_cursor_back(self, cursor: Cursor) -> None:
        self._run(
            "UPDATE pipeline_cursor SET cursor_json = '{}', seq = seq - 1"
            " WHERE pipeline_id = :id AND table_name = :table_name",
            id=cursor.pipeline,
            table_name=cursor.table,
        )

    def rewrite_schema(self, table: TableName, version: int) -> None:
        self._run(
            "UPDATE schema_history SET after_json = '{}' WHERE table_name = :id AND version = :version",
            id=table,
            version=version,
        )

    def delete_schema(self, table: TableName, version: int) -> None:
        self._run(
            "DELETE FROM schema_history WHERE table_name = :id AND version = :version",
            id=table,
            version=version,
        )

    def skip_schema_version(self, table: TableName, last: int) -> None:
        self._run(
            "INSERT INTO schema_history"
            " (table_name, version, pipeline_id, change_kind, before_json, after_json, decided_by, at)"
            " SELECT table_name, version + 2, pipeline_id, change_kind, after_json, '{}', decided_by, at"
            "   FROM schema_history WHERE table_name = :id AND version = :version",
            id=table,
            version=last,
        )

    def turn_schema_back(self, table: TableName, version: int) -> None:
        self._run(
            "UPDATE table_schema SET version = :version WHERE table_name = :id", id=table, version=version
        )

    def claim_twice(self, attempt: ChunkAttempt, thief: NodeId) -> None:
        self._change_chunk("holder_node = :thief, nonce = 'stolen'", attempt, thief=thief)

    def claim_early(self, attempt: ChunkAttempt, thief: NodeId) -> None:
        self._change_chunk(
            "attempts = attempts + 1, holder_node = :thief, nonce = 'stolen', seq = seq + 1",
            attempt,
            thief=thief,
        )

    def change_winner(self, attempt: ChunkAttempt, thief: NodeId) -> None:
        self._change_chunk("winning_attempt = :winner", attempt, winner=f"{thief}/attempt-2")

    def undo_chunk(self, attempt: ChunkAttempt) -> None:
        self._change_chunk("status = 'pending', winning_attempt = NULL", attempt)

    def delete_chunk(self, attempt: ChunkAttempt) -> None:
        self._run(
            "DELETE FROM pipeline_chunks WHERE pipeline_id = :id AND chunk_id = :chunk",
            id=attempt.pipeline,
            chunk=attempt.chunk,
        )

    def turn_version_back(self, table: TableName) -> None:
        self._run("UPDATE table_state SET landed = landed - 1 WHERE table_name = :id", id=table)

    def change_edge(self, edge: Edge) -> None:
        self._run(f"UPDATE lineage SET reason = 'other' {_THE_EDGE}", **_edge(edge))

    def replace_edge(self, edge: Edge) -> None:
        # The one way to say it that SQLite and Postgres share; on SQLite `INSERT OR REPLACE` does the same.
        self._run(
            "INSERT INTO lineage (child_run_id, parent_run_id, kind, record_id, reason, at)"
            f" SELECT child_run_id, parent_run_id, kind, record_id, 'other', at FROM lineage {_THE_EDGE}"
            " ON CONFLICT (child_run_id, parent_run_id, kind, record_id) DO UPDATE SET reason = 'other'",
            **_edge(edge),
        )

    def delete_edge(self, edge: Edge) -> None:
        self._run(f"DELETE FROM lineage {_THE_EDGE}", **_edge(edge))

    def change_entry(self, entry: AuditEntry) -> None:
        self._run("UPDATE audit SET reason = 'other' WHERE number = :id", id=entry.number)

    def delete_entry(self, entry: AuditEntry) -> None:
        self._run("DELETE FROM audit WHERE number = :id", id=entry.number)

    def skip_entry(self, last: AuditEntry) -> None:
        self._run(
            "INSERT INTO audit (number, at, decided_by, action)"
            " SELECT number + 2, at, decided_by, action FROM audit WHERE number = :id",
            id=last.number,
        )

    def insert_snapshot(self, snapshot: Snapshot) -> None:
        self._run(
            "INSERT INTO snapshot (snapshot_id, table_name, created_at, includes_runs, row_count, indexes,"
            " based_on, manifest, revision, committed_at)"
            " VALUES (:id, :table_name, :at, '[]', 1, :indexes, :based_on, '{}', :revision, :at)",
            id=snapshot.snapshot,
            table_name=snapshot.table,
            at=LATE,
            indexes=json.dumps(snapshot.indexes),
            based_on=snapshot.based_on,
            revision=snapshot.based_on + 1,
        )

    def change_snapshot(self, snapshot: Snapshot) -> None:
        self._run("UPDATE snapshot SET row_count = 99 WHERE snapshot_id = :id", id=snapshot.snapshot)

    def delete_snapshot(self, snapshot: Snapshot) -> None:
        self._run("DELETE FROM snapshot WHERE snapshot_id = :id", id=snapshot.snapshot)

    def delete_sidecars(self, snapshot: Snapshot) -> None:
        self._run("DELETE FROM sidecar WHERE snapshot_id = :id", id=snapshot.snapshot)

    def lower_epoch(self, scope: Scope) -> None:
        self._run(f"UPDATE revocation_epochs SET epoch = epoch - 1 {_THE_EPOCH}", **_scope(scope))

    def delete_epoch(self, scope: Scope) -> None:
        self._run(f"DELETE FROM revocation_epochs {_THE_EPOCH}", **_scope(scope))

    def turn_budget_back(self, name: str) -> None:
        self._run(
            """UPDATE budget SET marks = '[["' || :early || '", ' || granted || ']]' WHERE name = :id""",
            id=name,
            early=EARLY,
        )

    def empty_budget(self, name: str) -> None:
        self._run("UPDATE budget SET granted = 0, marks = '[]' WHERE name = :id", id=name)

    def delete_budget(self, name: str) -> None:
        self._run("DELETE FROM budget WHERE name = :id", id=name)

    def _change_chunk(self, change: str, attempt: ChunkAttempt, **values: object) -> None:
        self._run(
            f"UPDATE pipeline_chunks SET {change} WHERE pipeline_id = :id AND chunk_id = :chunk",
            id=attempt.pipeline,
            chunk=attempt.chunk,
            **values,
        )


_THE_EDGE = "WHERE child_run_id = :child AND parent_run_id = :parent AND kind = :kind AND record_id = :record"
_THE_EPOCH = "WHERE project = :project AND tenant = :tenant AND principal_class = :principal_class"


def _edge(edge: Edge) -> dict[str, str]:
    return {
        "child": edge.child,
        "parent": edge.parent,
        "kind": edge.kind.value,
        "record": edge.record or "",
    }


def _scope(scope: Scope) -> dict[str, str]:
    return {"project": scope.project, "tenant": scope.tenant, "principal_class": scope.principal_class}
