"""What the commands report that make and set up a project."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class InitReport:
    """What `hakiri init` made."""

    project: str
    folder: str
    files: tuple[str, ...]
    overwritten: tuple[str, ...]
    next: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaExportReport:
    """The schema files that `hakiri schema export` wrote, by their paths in the project."""

    folder: str
    files: tuple[str, ...]
