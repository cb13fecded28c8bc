"""What the tasks of a compaction are given, and what they report: values that travel. Nothing of Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from hakiri.compaction.conforming import Conformer, conformer
from hakiri.compaction.exchange import Pieces
from hakiri.compaction.partitions import Partitioning
from hakiri.store.parts import ROWS_A_GROUP
from hakiri.store.rows import HIDDEN_FIELDS, POSITION, SEQ
from hakiri.store.schemas import schema_from
from hakiri.store.sidecars import SidecarFile


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file to fold. `excluded` are claims whose rows in it do not count any more.

    One of the snapshot before has its `place` below the table's data, and knows its partition. `is_checked`:
    somebody has just looked whether it is what was written.
    """

    path: str
    schema_version: int
    rows: int
    bytes: int
    sha256: str
    excluded: tuple[int, ...] = ()
    is_checked: bool = False
    place: str | None = None
    partition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How the rows of a table become a snapshot: what every task of a compaction knows.

    `label` is the column that has the partition of each row while rows are on their way. No column of the
    table is called so.
    """

    table: str
    schemas: Mapping[int, str]
    primary_key: tuple[str, ...]
    cluster_by: tuple[str, ...]
    label: str
    partitioning: Partitioning | None = None
    blooms: tuple[str, ...] = ()
    rows_a_group: int = ROWS_A_GROUP

    @property
    def columns(self) -> tuple[str, ...]:
        """What its files have: the columns of today, and those that every row carries."""
        newest = schema_from(self.schemas[max(self.schemas)])
        return (*newest.names, *(each.name for each in HIDDEN_FIELDS))

    @property
    def order(self) -> tuple[str, ...]:
        """The columns that rows are sorted by; no two rows are alike in all of them."""
        label = (self.label,) if self.partitioning is not None else ()
        names = (*label, *self.cluster_by, *(self.primary_key or (SEQ, POSITION)))
        return tuple(dict.fromkeys(names))

    @property
    def order_columns(self) -> tuple[str, ...]:
        """The columns of the table that decide the order, and the partition."""
        own = [name for name in self.order if name != self.label]
        by = () if self.partitioning is None else (self.partitioning.column,)
        return tuple(dict.fromkeys((*own, *by)))

    def conformer(self) -> Conformer:
        return conformer(self.table, {version: schema_from(text) for version, text in self.schemas.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOfSnapshot:
    """A file that was written, with its path below the folder of the snapshot."""

    path: str
    rows: int
    bytes: int
    sha256: str
    partition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """What came of a fold: files that were written, those of the snapshot before that stay, rows read."""

    files: tuple[PartOfSnapshot, ...]
    rows_read: int
    kept: tuple[InputFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Rows that belong together: so many from one on, for a file of the snapshot before, or for none."""

    file: int | None
    start: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a task did: the rows that it was given, and those of them that it passed on or kept.

    `is_untouched`: it found nothing to do, and a file of the snapshot before stays as it is. `said` is what a
    task of a sidecar has to tell.
    """

    read: int = 0
    sent: int = 0
    pieces: Pieces | None = None
    files: tuple[PartOfSnapshot, ...] = ()
    bounds: Mapping[str, bytes] = field(default_factory=dict)
    slots: tuple[Slot, ...] = ()
    paths: tuple[str, ...] = ()
    is_untouched: bool = False
    made: tuple[SidecarFile, ...] = ()
    said: Mapping[str, Any] = field(default_factory=dict)


class Task(Protocol):
    """A piece of work for one Spark task. It may be done twice, at once even, and only one report counts."""

    def work(self, attempt: str) -> Report:
        """Do it; `attempt` is a name that no other try has."""


RunTasks: TypeAlias = Callable[[Sequence[Task]], list[Report]]
"""Does tasks, wherever, and gives their reports in their order."""
