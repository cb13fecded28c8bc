"""What `hakiri singer` reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hakiri.cli.reports.sources import SourceColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class SingerStreamRow:
    """One stream of a tap; `rows` are the first ones, and `file` holds all, if they were written."""

    name: str
    primary_key: tuple[str, ...]
    cursor_fields: tuple[str, ...]
    columns: tuple[SourceColumn, ...]
    rows: tuple[Mapping[str, Any], ...]
    rows_read: int
    file: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SingerReport:
    """A tap that was run by hand. `state` is its last one, and `manifest` a pipeline that reads the same."""

    tap: str
    streams: tuple[SingerStreamRow, ...]
    state: Any
    manifest: str
    notes: tuple[str, ...]
