"""What a check can find, and what it says about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from hakiri.core.ids import TableName


class Severity(StrEnum):
    """How bad it is: what was written is hurt, what is derived is out of step, or something is left over."""

    DAMAGE = "damage"
    DRIFT = "drift"
    LITTER = "litter"


class Kind(StrEnum):
    """What is found. These words are a promise to whoever reads them in JSON."""

    FILE_MISSING = "file_missing"
    FILE_CHANGED = "file_changed"
    FOOTER_DIFFERS = "footer_differs"
    MANIFEST_MISSING = "manifest_missing"
    MANIFEST_CHANGED = "manifest_changed"
    SIDECAR_MISSING = "sidecar_missing"
    SIDECAR_CHANGED = "sidecar_changed"
    CATALOG_BROKEN = "catalog_broken"
    CONFIG_DIFFERS = "config_differs"
    SCHEMA_DIFFERS = "schema_differs"
    VIEW_MISSING = "view_missing"
    VIEW_BEHIND = "view_behind"
    VIEW_EDITED = "view_edited"
    VIEW_ELSEWHERE = "view_elsewhere"
    DUCK_DIFFERS = "duck_differs"
    ORPHAN = "orphan"
    STAGING = "staging"
    UNKNOWN_SNAPSHOT = "unknown_snapshot"
    UNKNOWN_TABLE = "unknown_table"


_DRIFT = frozenset(
    {
        Kind.CONFIG_DIFFERS,
        Kind.SCHEMA_DIFFERS,
        Kind.VIEW_MISSING,
        Kind.VIEW_BEHIND,
        Kind.VIEW_EDITED,
        Kind.VIEW_ELSEWHERE,
        Kind.DUCK_DIFFERS,
    }
)
_LITTER = frozenset({Kind.ORPHAN, Kind.STAGING, Kind.UNKNOWN_SNAPSHOT, Kind.UNKNOWN_TABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it should be: what, where, and what to do next.

    `path` is below the root of the store. `bytes` and `age` are those of litter.
    """

    kind: Kind
    path: str
    found: str
    advice: str
    table: TableName | None = None
    bytes: int | None = None
    age: timedelta | None = None
    is_mended: bool = False

    @property
    def severity(self) -> Severity:
        if self.kind in _DRIFT:
            return Severity.DRIFT
        return Severity.LITTER if self.kind in _LITTER else Severity.DAMAGE

    @property
    def place(self) -> tuple[Kind, str]:
        """The same for the same finding of another check."""
        return self.kind, self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a check looked at, and what it found, the worst first."""

    tables: tuple[TableName, ...]
    files: int
    bytes: int
    findings: tuple[Finding, ...]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is damaged or out of step. Litter does no harm."""
        return all(one.is_mended or one.severity is Severity.LITTER for one in self.findings)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The worst first, then by path."""
    worst = list(Severity)
    return tuple(sorted(findings, key=lambda one: (worst.index(one.severity), one.path, one.kind)))


class Watch(Protocol):
    """Hears how far a check is, from whatever thread."""

    def step(self, words: str) -> None:
        """What is looked at from now on."""

    def begin(self, total_bytes: int) -> None:
        """So many bytes are to be read."""

    def advance(self, done_bytes: int) -> None:
        """So many more were read, or need not be."""
