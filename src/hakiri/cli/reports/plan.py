"""What `plan` and `preview` report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hakiri.cli.reports.failure import FilePlace


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """A change that the source brings, and the rule that decides about it.

    `fate`: `applied` to the stored schema, `ignored` by contract, or `refused`, which would stop the run.
    """

    kind: str
    column: str
    before: str | None
    after: str | None
    rule: str
    fate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobRow:
    """A knob in force; `origin` is who decided it: `manifest`, `connector` or `default`."""

    value: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTableRow:
    """What would come to one table.

    - `rows`: an estimate of what the source has and the store has not; null if nobody can tell.
    - `chunks`: how many an apply would run; null if the source could not be asked.
    - `is_reread`: rows that are stored already are read once more, as only that shows what has changed.
    - `changes`: null where only Spark can tell what a transform makes of the columns.
    """

    name: str
    store: str
    rows: int | None
    chunks: int | None
    is_reread: bool
    changes: tuple[PlannedChange, ...] | None
    knobs: Mapping[str, KnobRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRow:
    """A key of the manifest that is not what was applied last; null is a key that is not there."""

    key: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemRow:
    """What would keep the pipeline from being run, or has kept it from being looked at."""

    code: str
    message: str
    hint: str | None
    places: tuple[FilePlace, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRow:
    """What an apply would do to one pipeline; there is no place for one that left the manifest."""

    id: str
    action: str
    why: str
    connector: str | None
    destination: str | None
    schedule: str | None
    place: FilePlace | None
    chunks_left: int
    tables: tuple[PlannedTableRow, ...]
    edits: tuple[EditRow, ...]
    warnings: tuple[str, ...]
    problems: tuple[ProblemRow, ...]


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
