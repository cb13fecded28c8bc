"""What `plan` and `preview` report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRow:
    id: str
    action: str
    connector: str
    tables: tuple[str, ...]
    destination: str
    schedule: str | None
    place: str


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
