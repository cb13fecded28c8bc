"""What commands report that run pipelines, and that look at runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedRow:
    id: str
    need: str
    run: str | None
    status: str | None
    phase: str | None
    rows: int
    bytes: int
    chunks: int
    quarantined: int
    error_code: str | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyReport:
    pipelines: tuple[AppliedRow, ...]
