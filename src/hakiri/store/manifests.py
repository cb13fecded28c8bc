"""The manifest of an attempt: what it read, and which files it wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from hakiri.catalog.contract.chunks import Replacement, Reread
from hakiri.catalog.contract.schemas import SchemaStep
from hakiri.core.canonical import canonical_json
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, NodeId, PipelineId, RunId, TableName
from hakiri.store.files import Files, LocalFiles, replace
from hakiri.store.layout import StoreLayout, attempt_place
from hakiri.store.manifest_text import said_in

FORMAT, FORMAT_WITHOUT_COMMIT = 2, 1
FILE_NAME = "_manifest.json"
_SUM_DIGITS = 32
_KEYS = MappingProxyType({"pass_number": "pass"})  # where the name in Python is another one


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """One file of an attempt's folder, durable on disk, and what is in it."""

    name: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Where the rows that were read went: read = filtered + written + quarantined."""

    read: int
    filtered: int
    written: int
    quarantined: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFacts:
    """What the catalog is told of an attempt beside its rows, so that the files alone tell it too.

    `cursor` is JSON, of the `stream`, and moves it on or is only noted. `reread` is set when the chunk reads
    what was read before, and `step` when the schema of the table changed with it.
    """

    sealed_at: datetime
    cursor_kind: CursorKind
    stream: TableName
    cursor: str | None = None
    moves_stream: bool = False
    reread: Reread | None = None
    step: SchemaStep | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptManifest:
    """All that `_manifest.json` says.

    `commit` is missing in those of format 1. `pass_number`, `pass_size` and `ends_pass` are for full
    re-reads: which one it is, of how many chunks if that is known, and whether this is its last. `unchanged`:
    it read what was stored already, and wrote nothing.
    """

    pipeline: PipelineId
    table: TableName
    run: RunId
    node: NodeId
    chunk: ChunkId
    attempt: int
    seq: int
    ingested_at: datetime
    predicate: Mapping[str, Any]
    schema_version: int
    schema_fingerprint: str
    primary_key: tuple[str, ...]
    files: tuple[WrittenFile, ...]
    quarantine: tuple[WrittenFile, ...]
    counts: Counts
    content_sum: int
    pass_number: int | None = None
    pass_size: int | None = None
    ends_pass: bool = False
    unchanged: bool = False
    commit: CommitFacts | None = None

    @property
    def rows(self) -> int:
        """How many the table has from it."""
        return 0 if self.unchanged else self.counts.written

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in (*self.files, *self.quarantine))

    @property
    def place(self) -> str:
        """The attempt's folder below the root of the store."""
        return attempt_place(
            table=self.table, run=self.run, node=self.node, chunk=self.chunk, number=self.attempt
        )

    def text(self) -> str:
        """Canonical JSON, with a last line end."""
        said = {_KEYS.get(name, name): getattr(self, name) for name in _NAMES}
        if self.commit is not None:
            said["commit"] = _commit_said(self.commit)
        said |= {
            "format": FORMAT if self.commit is not None else FORMAT_WITHOUT_COMMIT,
            "files": [asdict(file) for file in self.files],
            "quarantine": [asdict(file) for file in self.quarantine],
            "counts": asdict(self.counts),
            "content_sum": f"{self.content_sum:0{_SUM_DIGITS}x}",
        }
        return f"{canonical_json(said)}\n"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The manifest that the text says. Raises UnreadableManifest."""
        with said_in(text, FORMAT, FORMAT_WITHOUT_COMMIT) as said:
            values: dict[str, Any] = {name: said[_KEYS.get(name, name)] for name in _NAMES}
            return cls(
                **values
                | {
                    "ingested_at": datetime.fromisoformat(values["ingested_at"]),
                    "primary_key": tuple(values["primary_key"]),
                    "files": tuple(WrittenFile(**file) for file in values["files"]),
                    "quarantine": tuple(WrittenFile(**file) for file in values["quarantine"]),
                    "counts": Counts(**values["counts"]),
                    "content_sum": int(values["content_sum"], 16),
                },
                commit=None if said["format"] == FORMAT_WITHOUT_COMMIT else _commit_of(said),
            )


_NAMES = tuple(field.name for field in fields(AttemptManifest) if field.name != "commit")


def _commit_said(commit: CommitFacts) -> dict[str, Any]:
    """The part of the manifest that is for a catalog that is made anew."""
    step = commit.step
    return {
        "sealed_at": commit.sealed_at,
        "cursor_kind": commit.cursor_kind.value,
        "stream": commit.stream,
        "cursor": None if commit.cursor is None else json.loads(commit.cursor),
        "moves_stream": commit.moves_stream,
        "reread": None if commit.reread is None else asdict(commit.reread),
        "schema_step": None
        if step is None
        else {
            "change_kind": step.change_kind,
            "after": json.loads(step.after),
            "primary_key": step.primary_key,
            "decided_by": step.decided_by,
        },
    }


def _commit_of(said: Mapping[str, Any]) -> CommitFacts:
    commit = said["commit"]
    cursor, reread, step = commit["cursor"], commit["reread"], commit["schema_step"]
    return CommitFacts(
        sealed_at=datetime.fromisoformat(commit["sealed_at"]),
        cursor_kind=CursorKind(commit["cursor_kind"]),
        stream=TableName(commit["stream"]),
        cursor=None if cursor is None else canonical_json(cursor),
        moves_stream=commit["moves_stream"],
        reread=None if reread is None else _reread_of(reread),
        step=None
        if step is None
        else SchemaStep(
            table=said["table"],
            based_on=said["schema_version"] - 1,
            change_kind=step["change_kind"],
            after=canonical_json(step["after"]),
            primary_key=tuple(step["primary_key"]),
            decided_by=step["decided_by"],
        ),
    )


def _reread_of(said: Mapping[str, Any]) -> Reread:
    part = said["replacement"]
    return Reread(
        reason=said["reason"],
        asked_at=datetime.fromisoformat(said["asked_at"]),
        runs=tuple(said["runs"]),
        replacement=None
        if part is None
        else Replacement(first=part["first"], last=part["last"], old=tuple(part["old"])),
    )


def seal(layout: StoreLayout, manifests: Sequence[AttemptManifest], files: Files | None = None) -> None:
    """Write the `_manifest.json` of attempts, so that all of them outlasts a crash when this returns.

    The files they name are durable already. The folders above them are synced here once more: whoever made
    one of them may not have come to syncing it, or may have died before. Twice, the later manifest stands.
    """
    files = files or LocalFiles()
    above: set[Path] = set()
    for manifest in manifests:
        folder = layout.root / manifest.place
        replace(files, folder / FILE_NAME, manifest.text().encode())
        above.update(parent for parent in folder.parents if parent.is_relative_to(layout.root))
    for folder in sorted(above, key=lambda each: (-len(each.parts), each)):
        files.sync_folder(folder)
