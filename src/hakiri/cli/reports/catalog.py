"""What the `hakiri catalog` commands report."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkCounts:
    """How many chunks of a pipeline are in which state."""

    pending: int
    running: int
    done: int
    failed: int
    skipped: int
    superseded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run; it has not ended while `ended_at` is null."""

    run: str
    node: str
    status: str
    started_at: datetime
    ended_at: datetime | None
    rows: int | None
    bytes: int | None
    error_kind: str | None
    error_message: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStateRow:
    """How far one pipeline has come; `rows` and `bytes` are what its done chunks brought."""

    id: str
    phase: str
    cursor_kind: str
    chunks: ChunkCounts
    rows: int
    bytes: int
    last_run: RunRow | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DivergenceRow:
    """A promise that the backend does not make, and why."""

    promise: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogStatusReport:
    """What and where the catalog is; `location` holds no password.

    `pending` has the numbers of the migrations that are still to come. `divergences` and `pipelines` are null
    until the catalog is there in the newest version.
    """

    backend: str
    location: str
    is_there: bool
    version: int
    newest_version: int
    pending: tuple[int, ...]
    divergences: tuple[DivergenceRow, ...] | None
    pipelines: tuple[PipelineStateRow, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogMigrateReport:
    """The migrations that were taken, none if there was nothing to do, and the version since."""

    backend: str
    location: str
    taken: tuple[int, ...]
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseRow:
    """A promise in words; `reason` says why a backend does not make it."""

    promise: str
    words: str
    state: Literal["kept", "broken", "not made"]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BreachRow:
    """A place where a promise is broken; null where the database itself is damaged."""

    promise: str | None
    where: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogCheckReport:
    """Every promise, and every place where one is broken."""

    backend: str
    location: str
    is_sound: bool
    promises: tuple[PromiseRow, ...]
    breaches: tuple[BreachRow, ...]
