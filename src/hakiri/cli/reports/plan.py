"""What `plan` and `preview` report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPlace:
    file: str
    line: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """A change of a stored schema. One that is refused would stop the run."""

    kind: str
    column: str
    before: str | None
    after: str | None
    rule: str
    is_refused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTableRow:
    """`rows` is an estimate. Changes are null where only Spark can tell what a transform makes of them."""

    name: str
    store: str
    rows: int | None
    chunks: int | None
    changes: tuple[PlannedChange, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobRow:
    value: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRow:
    id: str
    action: str
    why: str
    connector: str | None
    destination: str | None
    schedule: str | None
    place: PlanPlace | None
    chunks_left: int
    tables: tuple[PlannedTableRow, ...]
    knobs: Mapping[str, KnobRow]
    edits: tuple[str, ...]
    warnings: tuple[str, ...]
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    project: str
    has_changes: bool
    counts: Mapping[str, int]
    pipelines: tuple[PlannedRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewColumn:
    name: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewReport:
    pipeline: str
    table: str
    columns: tuple[PreviewColumn, ...]
    rows: tuple[Mapping[str, Any], ...]
    steps: tuple[str, ...]
