"""What a kind of index has to be, so that it is built beside every snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hakiri.compaction.tasks import Report, Task
from hakiri.core.ids import IndexId
from hakiri.store.files import Files
from hakiri.store.sidecars import SidecarFile


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFile:
    """A data file of the snapshot that is being made: where it is now, and its place below the table's data.

    One that `is_kept` is as it was in the snapshot before.
    """

    path: Path
    place: str
    rows: int
    is_kept: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """A snapshot that is being made: all of its data, and where the same index was before, if it was."""

    files: tuple[StagedFile, ...]
    before: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The files of a sidecar, all of them durable, and what there is to say about it."""

    files: tuple[SidecarFile, ...]
    about: Mapping[str, Any]


class Sidecar(Protocol):
    """One declared index. It travels to tasks as a part of them, if at all."""

    @property
    def index(self) -> IndexId:
        """The name of its folder."""

    @property
    def kind(self) -> str:
        """As the manifest calls it."""

    @property
    def builder(self) -> str:
        """What makes it, and in which form; another one makes another index."""

    @property
    def is_inline(self) -> bool:
        """Whether it is inside of the data files: then files that were written without it do not do."""

    def tasks(self, staged: Staged, folder: Path) -> Sequence[Task]:
        """The work on the rows, for Spark; files go into the folder."""

    def finish(self, staged: Staged, folder: Path, reports: Sequence[Report], files: Files) -> Built:
        """What is left to do when the tasks are done; `reports` are theirs, in their order."""
