"""Breaking the promises of a catalog behind its back, to see whether the store itself keeps them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from hakiri.catalog.contract.audit import AuditEntry
from hakiri.catalog.contract.chunks import ChunkAttempt
from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.lineage import Edge
from hakiri.catalog.contract.revocations import Scope
from hakiri.catalog.contract.snapshots import Snapshot
from hakiri.core.ids import NodeId, PipelineId, RunId, TableName


class Vandal(Protocol):
    """Writes to the store by its own means, past the contract. Every method must raise, whatever it is.

    What is named in the arguments is there when a method is called. Where the store has no means to do such
    a thing, raise.
    """

    def lower_fence(self, lease: Lease) -> None:
        """Give the lease a fence below its own."""

    def steal_lease(self, lease: Lease, thief: NodeId) -> None:
        """Make another the holder of a lease that has not expired, under the next fence."""

    def delete_lease(self, pipeline: PipelineId) -> None:
        """Forget the lease, and its fence with it."""

    def change_run(self, run: RunId) -> None:
        """Change the rows of a run that has ended."""

    def delete_run(self, run: RunId) -> None:
        """Remove a run."""

    def turn_cursor_back(self, cursor: Cursor) -> None:
        """Write another value with a lower number over the cursor."""

    def rewrite_schema(self, table: TableName, version: int) -> None:
        """Change what a version of the schema history says."""

    def delete_schema(self, table: TableName, version: int) -> None:
        """Remove a version of the schema history."""

    def skip_schema_version(self, table: TableName, last: int) -> None:
        """Add version `last + 2` to the schema history."""

    def turn_schema_back(self, table: TableName, version: int) -> None:
        """Make an older version the present schema of the table."""

    def claim_twice(self, attempt: ChunkAttempt, thief: NodeId) -> None:
        """Give the very attempt that a node works on to another node."""

    def claim_early(self, attempt: ChunkAttempt, thief: NodeId) -> None:
        """Give the chunk to another node under the next attempt, before the lease has run out."""

    def change_winner(self, attempt: ChunkAttempt, thief: NodeId) -> None:
        """Make another attempt the winner of a chunk that is done."""

    def undo_chunk(self, attempt: ChunkAttempt) -> None:
        """Make a chunk that is done pending again."""

    def delete_chunk(self, attempt: ChunkAttempt) -> None:
        """Remove a chunk."""

    def turn_version_back(self, table: TableName) -> None:
        """Lower the number that tells how often what landed in a table has changed."""

    def change_edge(self, edge: Edge) -> None:
        """Change the reason of an edge."""

    def replace_edge(self, edge: Edge) -> None:
        """Write another edge over one of the same key."""

    def delete_edge(self, edge: Edge) -> None:
        """Remove an edge."""

    def change_entry(self, entry: AuditEntry) -> None:
        """Change the reason of an entry of the audit log."""

    def delete_entry(self, entry: AuditEntry) -> None:
        """Remove an entry of the audit log."""

    def skip_entry(self, last: AuditEntry) -> None:
        """Add an entry to the audit log whose number is two higher than the last one's."""

    def insert_snapshot(self, snapshot: Snapshot) -> None:
        """Add a snapshot that names indexes whose sidecars are not durable."""

    def change_snapshot(self, snapshot: Snapshot) -> None:
        """Change the rows of a snapshot that was committed."""

    def delete_snapshot(self, snapshot: Snapshot) -> None:
        """Remove a snapshot that was committed."""

    def delete_sidecars(self, snapshot: Snapshot) -> None:
        """Remove the sidecars of a snapshot that was committed."""

    def lower_epoch(self, scope: Scope) -> None:
        """Lower an epoch by one."""

    def delete_epoch(self, scope: Scope) -> None:
        """Remove an epoch, which would begin at 0 again."""

    def turn_budget_back(self, name: str) -> None:
        """Have it look as if a budget had granted all its calls long ago."""

    def empty_budget(self, name: str) -> None:
        """Have a budget forget all the calls that it has granted."""

    def delete_budget(self, name: str) -> None:
        """Remove a budget, which would grant everything again."""


def refuses_all(attacks: Sequence[Callable[[], None]], look: Callable[[], object]) -> None:
    """Fail unless every attack raises, and what `look` sees stays as it is."""
    before = look()
    for number, attack in enumerate(attacks, start=1):
        refusal = _refusal_of(attack)
        after = look()
        assert refusal is not None, f"attack {number} was let through: {before} became {after}"
        assert after == before, f"attack {number} was refused ({refusal}), and changed something"


def _refusal_of(attack: Callable[[], None]) -> Exception | None:
    """What the store said, each in words of its own; None if it let it happen."""
    try:
        attack()
    except Exception as refusal:
        return refusal
    return None
