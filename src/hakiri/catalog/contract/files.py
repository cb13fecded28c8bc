"""Files that were scanned, and selections of them that never change."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hakiri.core.ids import FileId, SelectionId, SpecId

_ID_DIGITS = 32


def file_id(source: str, path: str) -> FileId:
    """The id of a file: 32 hexadecimal digits of a hash of where it is, and nothing else."""
    import hashlib  # 7 ms, and most commands hash nothing

    # A path that is not Unicode has an id as well; storing it is what a catalog refuses.
    place = f"{source}\0{path}".encode(errors="surrogatepass")
    return FileId(hashlib.sha256(place).hexdigest()[:_ID_DIGITS])


def extension_of(path: str) -> str:
    """The extension in lower case with its dot; nothing for `README`, `.profile` and `odd.`."""
    extension = posixpath.splitext(path)[1].lower()
    return "" if extension == "." else extension


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedFile:
    """A file as a scan saw it. `path` is relative to the source's root, with forward slashes."""

    source: str
    path: str
    size: int
    modified_at: datetime
    content_hash: str | None = None
    fields: str = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFile:
    """A file the catalog knows. Its id stays the same as long as source and path do."""

    file: FileId
    source: str
    path: str
    ext: str
    size: int
    modified_at: datetime
    content_hash: str | None
    fields: str
    tags: frozenset[str]
    first_seen: datetime
    last_seen: datetime
    gone_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanTally:
    """What a scan found."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileQuery:
    """Which files to find; every part that is given must hold. Files that are gone are not found.

    `ext` may be written in capitals and without its dot. `modified_from` is part of the time, and
    `modified_before` is not.
    """

    source: str | None = None
    tag: str | None = None
    ext: str | None = None
    modified_from: datetime | None = None
    modified_before: datetime | None = None


class Files(Protocol):
    """Every file that scans have seen."""

    def note(self, files: Iterable[ScannedFile], tags: Iterable[str], now: datetime) -> ScanTally:
        """Add new files, update changed ones, and give all of them the tags, in one step.

        A file is changed when its size, time or content hash is another; a scan that took no hash says
        nothing about the content. One that was gone comes back under its id.
        """

    def mark_gone(self, source: str, not_seen_since: datetime, now: datetime) -> int:
        """Mark the files of a source that no scan saw since then; they keep their ids. How many were."""

    def find(
        self, query: FileQuery, *, after: FileId | None = None, limit: int = 1000
    ) -> tuple[KnownFile, ...]:
        """Files by id, from the one behind `after` on."""

    def get(self, file: FileId) -> KnownFile | None:
        """One file, also one that is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The files that a spec meant on a logical date, fixed for ever; the hash covers all of it."""

    selection: SelectionId
    spec: SpecId
    snapshot_hash: str
    logical_date: str
    watermark: str | None
    created_at: datetime


class Selections(Protocol):
    """Specs and what they selected. Nothing that was saved is ever changed."""

    def save_spec(self, spec: SpecId, spec_json: str, now: datetime) -> None:
        """Keep a spec under its own hash. The same one again changes nothing."""

    def spec(self, spec: SpecId) -> str | None:
        """The JSON of a spec."""

    def save(self, selection: Selection, files: Iterable[FileId]) -> None:
        """Keep a selection with its files, in one step. The same one again changes nothing.

        Raises SelectionExists when another selection has that id.
        """

    def get(self, selection: SelectionId) -> Selection | None:
        """One selection."""

    def latest(self, spec: SpecId) -> Selection | None:
        """The selection of a spec with the latest logical date; of several, the one saved last."""

    def files(
        self, selection: SelectionId, *, after: FileId | None = None, limit: int = 1000
    ) -> tuple[FileId, ...]:
        """The selected files by id, from the one behind `after` on."""
