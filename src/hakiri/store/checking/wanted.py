"""A file that the catalog names, and what it must hold."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hakiri.core.ids import TableName
from hakiri.store.checking.findings import Finding


class Role(StrEnum):
    """What a file is for."""

    ROWS = "rows"
    QUARANTINE = "quarantine"
    SNAPSHOT = "snapshot"
    SIDECAR = "sidecar"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedFile:
    """A file that was written once and is never changed, by its path below the root.

    One that is not `is_required` may have been collected. `rows` and `columns` are None where nobody says
    them. `advice` is for whoever finds that it is not what it must be.
    """

    path: str
    table: TableName
    role: Role
    bytes: int
    sha256: str
    is_required: bool
    advice: str
    rows: int | None = None
    columns: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedText:
    """A `_manifest.json`, which must hold the text that the catalog has."""

    path: str
    table: TableName
    text: str
    is_required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """All that the catalog names of a table, with what it could not be asked.

    `others` are files that belong to it and that somebody else looked at already.
    """

    files: tuple[WantedFile, ...] = ()
    texts: tuple[WantedText, ...] = ()
    others: frozenset[str] = frozenset()
    findings: tuple[Finding, ...] = ()
    snapshots: frozenset[str] = frozenset()

    def paths(self) -> frozenset[str]:
        """All of them."""
        return self.others.union((one.path for one in self.files), (one.path for one in self.texts))
