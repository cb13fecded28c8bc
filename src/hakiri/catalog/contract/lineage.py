"""Lineage: which run came from which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from hakiri.core.ids import RunId


class EdgeKind(StrEnum):
    """What made the child out of the parent."""

    CHUNK = "chunk"
    REWIND = "rewind"
    COMPACTION = "compaction"
    MODEL = "model"
    PARSE = "parse"
    EXPORT = "export"
    PUSH = "push"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One step from a parent run to a child run, of one record if it is named."""

    child: RunId
    parent: RunId
    kind: EdgeKind
    at: datetime
    record: str | None = None
    reason: str | None = None


class Lineage(Protocol):
    """Edges are added and read. Nothing, not even the database's own language, changes or removes one."""

    def add(self, edges: Iterable[Edge]) -> int:
        """Add the edges that are not there yet, and say how many were new."""

    def parents(self, run: RunId) -> tuple[Edge, ...]:
        """What a run came from, in the order of parent, kind and record."""

    def children(self, run: RunId) -> tuple[Edge, ...]:
        """What came from a run, in the order of child, kind and record."""
