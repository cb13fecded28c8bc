"""What the `hakiri config` commands report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """One setting: its value as text with secrets masked, null if it has none, and where that came from."""

    key: str
    value: str | None
    origin: Literal["flag", "environment", "manifest", "default"]
    where: str
    is_secret: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigReport:
    """The settings that were asked for, and what looks like a mistake among the variables."""

    settings: tuple[SettingRow, ...]
    warnings: tuple[str, ...]
