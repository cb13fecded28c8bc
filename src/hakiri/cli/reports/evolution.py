"""What the commands report that show and decide how the columns of tables change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChangeRow:
    """One change. `column` is a path, empty for the table as a whole; `rule` says why it is as it is."""

    kind: str
    column: str
    before: str | None
    after: str | None
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaLogRow:
    """One decision: a version of the table, or what was refused, which has no version."""

    table: str
    version: int | None
    is_refused: bool
    pipeline: str
    change_kind: str
    changes: tuple[ColumnChangeRow, ...]
    decided_by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaLogReport:
    """Everything that was decided about the columns of a pipeline's tables, the oldest first."""

    pipeline: str
    entries: tuple[SchemaLogRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaDecisionRow:
    """What was decided about one table; without changes it was nothing, and the version is as it was."""

    table: str
    version: int
    changes: tuple[ColumnChangeRow, ...]
    refused: tuple[ColumnChangeRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaAcceptReport:
    """What was let through, and whether the pipeline, which had failed for it, goes on."""

    pipeline: str
    decided_by: str
    tables: tuple[SchemaDecisionRow, ...]
    is_released: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaMigrateReport:
    """The key that the table has now, and how many rows are not seen because a newer one has their key."""

    pipeline: str
    decided_by: str
    table: SchemaDecisionRow
    primary_key: tuple[str, ...]
    rows_hidden: int
    is_released: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaReconcileReport:
    """What our schema of the table took over from the other catalog."""

    decided_by: str
    other: str
    table: SchemaDecisionRow
