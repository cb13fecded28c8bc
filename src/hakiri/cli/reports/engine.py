"""What the `engine` commands and `doctor` report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRow:
    server: str
    state: str
    master: str | None
    spark_version: str | None
    java: str | None
    pid: int | None
    started_at: str | None
    start_seconds: float | None
    archive_used: bool | None
    idle_seconds: float | None
    log: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStatusReport:
    servers: tuple[ServerRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    name: str
    status: str
    found: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport:
    is_healthy: bool
    checks: tuple[CheckRow, ...]
