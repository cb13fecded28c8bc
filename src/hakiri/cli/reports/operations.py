"""What commands report by which an operator decides, rewinds, and moves cursors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from hakiri.cli.reports.runs import FailureRow


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceRow:
    """A chunk in short: what it reads in words, and as the catalog has it."""

    chunk: int
    table: str
    reads: str
    predicate: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionReport:
    """What was decided about a failure. `chunks` are those that had failed."""

    pipeline_id: str
    decision: Literal["retry", "skip"]
    by: str
    failure: FailureRow
    chunks: tuple[PieceRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorRow:
    """How far a stream was read; it is null when it is read from the start.

    A stream is a table, or one partition of it. `read_whole_at` is when it was last read, for one that is
    read as a whole each time and so has no cursor.
    """

    stream: str
    table: str
    partition: Mapping[str, str]
    cursor: Any
    updated_at: datetime | None
    run: str | None
    read_whole_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorGetReport:
    pipeline_id: str
    cursors: tuple[CursorRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorMove:
    """A cursor before and after. `chunks` are pulled again because of it, in place of the `kept` ones."""

    stream: str
    before: Any
    after: Any
    chunks: tuple[PieceRow, ...]
    kept: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorChangeReport:
    pipeline_id: str
    by: str
    reason: str | None
    cursors: tuple[CursorMove, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """Something that was decided; `before` and `after` are in the words of the action."""

    number: int
    at: datetime
    by: str
    action: str
    table: str | None
    before: Any
    after: Any
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """The newest entries first."""

    pipeline_id: str
    entries: tuple[AuditRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RewindReport:
    """The chunks that are pulled again, and those that are kept for audit.

    `begins` has the tables whose history begins only after `since`, with where it does: what lies before was
    never pulled, and is not pulled again.
    """

    pipeline_id: str
    by: str
    reason: str
    since: str
    until: str
    chunks: tuple[PieceRow, ...]
    kept: tuple[int, ...]
    begins: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChunkRow:
    """One chunk of the plan; `reason` says why it gave way to `superseded_by`."""

    chunk: int
    table: str
    reads: str
    predicate: Any
    status: str
    attempts: int
    run: str | None
    rows: int | None
    bytes: int | None
    error_kind: str | None
    error_message: str | None
    superseded_by: int | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunksReport:
    """The plan of a pipeline, by chunk."""

    pipeline_id: str
    chunks: tuple[PlannedChunkRow, ...]
