"""The audit log: what people and agents decided, in the order in which it took effect."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hakiri.core.ids import PipelineId, TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """One thing that is done, by whom, and what it changes, to be noted in one step with it.

    `by` is as in `Audit.note`. `before` and `after` are JSON in the words of the action, or None where there
    was nothing.
    """

    by: str
    action: str
    pipeline: PipelineId | None = None
    table: TableName | None = None
    before: str | None = None
    after: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry(NewEntry):
    """One thing that was done, and when. Numbers are 1, 2, 3 … without a gap."""

    number: int
    at: datetime


class Audit(Protocol):
    """Entries are added and read. Nothing, not even the database's own language, changes or removes one."""

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
        """Add an entry. `by` is `auto`, `operator:<id>` or `agent:<id>`."""

    def page(
        self, *, pipeline: PipelineId | None = None, before: int | None = None, limit: int = 100
    ) -> tuple[AuditEntry, ...]:
        """Entries, the newest first; those with numbers below `before`, and of one pipeline, if given."""
