"""Schema history: every step a table's schema took, and who decided it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hakiri.catalog.contract.deciders import check_decider
from hakiri.core.ids import PipelineId, TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaStep:
    """A change that was decided on the ground of version `based_on`; 0 means the table is new.

    `primary_key` is the whole key after the step, none if it is empty. `decided_by` is `auto`,
    `operator:<id>` or `agent:<id>`.
    """

    table: TableName
    based_on: int
    change_kind: str
    after: str
    primary_key: tuple[str, ...] = ()
    decided_by: str = "auto"

    def __post_init__(self) -> None:
        check_decider(self.decided_by)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChange:
    """A step that was taken. Versions of a table are 1, 2, 3 … without a gap."""

    table: TableName
    version: int
    pipeline: PipelineId
    change_kind: str
    before: str | None
    after: str
    decided_by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """The schema of a table as it is now, as Arrow's JSON."""

    table: TableName
    version: int
    arrow_schema: str
    primary_key: tuple[str, ...]
    created_at: datetime
    updated_at: datetime


class Schemas(Protocol):
    """The schemas of all tables. A version once written is never changed and never seen to go back."""

    def record(self, step: SchemaStep, pipeline: PipelineId, now: datetime) -> SchemaChange:
        """Take the step. Raises SchemaMoved when the table is not at version `based_on` any more."""

    def current(self, table: TableName) -> TableSchema | None:
        """The schema now, or None for a table that has none yet."""

    def log(self, table: TableName) -> tuple[SchemaChange, ...]:
        """Every step of a table, the first one first."""

    def log_of_pipeline(self, pipeline: PipelineId) -> tuple[SchemaChange, ...]:
        """Every step that a pipeline brought about, by table and version."""
