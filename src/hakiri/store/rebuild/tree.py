"""Reading the tree of a store: everything that a catalog can be made of, and what is wrong with it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hakiri.catalog.contract.schemas import SchemaChange
from hakiri.catalog.contract.snapshots import Sidecar
from hakiri.core.canonical import canonical_json
from hakiri.core.ids import PipelineId, SnapshotId, TableName
from hakiri.store.errors import UnreadableManifest, UnreadableSchema, UnsafeName
from hakiri.store.files import Files
from hakiri.store.layout import StoreLayout, snapshot_name, staging_name
from hakiri.store.manifests import FILE_NAME, AttemptManifest
from hakiri.store.rebuild.errors import Problem
from hakiri.store.schemas import key_of, schema_from
from hakiri.store.sidecars import SidecarManifest
from hakiri.store.snapshots import SnapshotManifest

_STAGING = staging_name("s").removeprefix(snapshot_name("s"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSidecar:
    """A sidecar that is whole, and the paths of all its files below the root."""

    sidecar: Sidecar
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableTree:
    """What the folder of a table has.

    `history` is that of the file, and `key` that of `schema.json`, if it tells one. `attempts` have sealed
    what they wrote; so many `unsealed` ones have not. `snapshots` are complete as far as their manifests
    tell. `sizes` has the bytes of every file below the root that a row could be in, and `view` is the text
    that readers see.
    """

    table: TableName
    history: tuple[SchemaChange, ...] = ()
    key: tuple[str, ...] | None = None
    attempts: tuple[AttemptManifest, ...] = ()
    unsealed: int = 0
    snapshots: tuple[SnapshotManifest, ...] = ()
    sidecars: Mapping[SnapshotId, tuple[FoundSidecar, ...]]
    sizes: Mapping[str, int]
    view: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """All tables of a store, by name, and everything that cannot be read."""

    tables: tuple[TableTree, ...]
    problems: tuple[Problem, ...]


def read_tree(layout: StoreLayout, files: Files) -> Tree:
    """Everything there is below the root. Nothing is changed, and nothing wrong is raised."""
    problems: list[Problem] = []
    tables = []
    for name in files.names(layout.tables):
        try:
            folder = layout.table_folder(name)
        except UnsafeName:
            continue  # nothing of ours has such a name
        if folder.is_dir():
            tables.append(_Reader(layout, files, TableName(name), problems).table())
    return Tree(tables=tuple(tables), problems=tuple(problems))


@dataclass(frozen=True, slots=True)
class _Reader:
    layout: StoreLayout
    files: Files
    name: TableName
    problems: list[Problem]

    def table(self) -> TableTree:
        sizes: dict[str, int] = {}
        attempts, unsealed = self._attempts(sizes)
        snapshots = self._snapshots(sizes)
        view = self.files.read(self.layout.view_file(self.name)) or b""
        return TableTree(
            table=self.name,
            history=self._history(),
            key=self._key(),
            attempts=tuple(attempts),
            unsealed=unsealed,
            snapshots=tuple(snapshots),
            sidecars={one.snapshot: tuple(self._sidecars(one)) for one in snapshots},
            sizes=sizes,
            view=view.decode(errors="replace"),
        )

    def _attempts(self, sizes: dict[str, int]) -> tuple[list[AttemptManifest], int]:
        sealed, unsealed = [], 0
        runs = self.layout.data_folder(self.name) / "runs"
        for folder in sorted(runs.glob("*/*/chunk-*/attempt-*")):
            text = self.files.read(folder / FILE_NAME)
            if text is None:
                unsealed += 1
                continue
            sizes |= self._sizes(folder)
            manifest = self._attempt(folder, text)
            if manifest is not None:
                sealed.append(manifest)
        return sealed, unsealed

    def _attempt(self, folder: Path, text: bytes) -> AttemptManifest | None:
        place = self.layout.relative(folder)
        try:
            manifest = AttemptManifest.parse(text.decode())
            told = manifest.place
        except (UnreadableManifest, UnsafeName, UnicodeDecodeError) as error:
            self._wrong(f"{place}/{FILE_NAME}", f"cannot be read: {_why(error)}")
            return None
        if told != place:
            self._wrong(f"{place}/{FILE_NAME}", f"is that of `{told}`")
            return None
        return manifest

    def _snapshots(self, sizes: dict[str, int]) -> list[SnapshotManifest]:
        found = []
        for folder in sorted(self.layout.data_folder(self.name).glob("snapshot=*")):
            if folder.name.endswith(_STAGING):
                continue  # nobody came to the end of it
            sizes |= self._sizes(folder)
            text = self.files.read(folder / FILE_NAME)
            place = f"{self.layout.relative(folder)}/{FILE_NAME}"
            if text is None:
                continue  # another snapshot has taken its place, and files of it
            try:
                manifest = SnapshotManifest.parse(text.decode())
            except (UnreadableManifest, UnicodeDecodeError) as error:
                self._wrong(place, f"cannot be read: {_why(error)}")
                continue
            if (manifest.table, snapshot_name(manifest.snapshot)) != (self.name, folder.name):
                self._wrong(place, f"is that of snapshot `{manifest.snapshot}` of table `{manifest.table}`")
            elif not manifest.partial:
                found.append(manifest)
        return found

    def _sidecars(self, snapshot: SnapshotManifest) -> Iterator[FoundSidecar]:
        """The sidecars of a snapshot that are there, with all of their files."""
        for index in snapshot.indexes:
            folder = self.layout.index_folder(self.name, index) / snapshot_name(snapshot.snapshot)
            text = self.files.read(folder / FILE_NAME)
            if text is None:
                continue
            try:
                manifest = SidecarManifest.parse(text.decode())
            except (UnreadableManifest, UnicodeDecodeError) as error:
                self._wrong(f"{self.layout.relative(folder)}/{FILE_NAME}", f"cannot be read: {_why(error)}")
                continue
            sizes = self._sizes(folder)
            place = self.layout.relative(folder)
            needed = {f"{place}/{file.name}": file.bytes for file in manifest.files}
            if needed.items() <= sizes.items():
                sidecar = Sidecar(
                    snapshot=snapshot.snapshot,
                    index=manifest.index,
                    manifest_hash=manifest.hash,
                    bytes=manifest.bytes,
                )
                yield FoundSidecar(sidecar=sidecar, files=(*needed, f"{place}/{FILE_NAME}"))

    def _history(self) -> tuple[SchemaChange, ...]:
        path = self.layout.schema_history(self.name)
        changes = []
        for number, line in enumerate((self.files.read(path) or b"").splitlines(), 1):
            try:
                changes.append(_change(self.name, json.loads(line)))
            except (ValueError, KeyError, TypeError, UnreadableSchema) as error:
                self._wrong(self.layout.relative(path), f"cannot be read in line {number}: {_why(error)}")
        return tuple(changes)

    def _key(self) -> tuple[str, ...] | None:
        path = self.layout.schema_file(self.name)
        try:
            text = self.files.read(path)
            return None if text is None else key_of(text.decode())
        except (UnreadableSchema, UnicodeDecodeError) as error:
            self._wrong(self.layout.relative(path), f"cannot be read: {_why(error)}")
            return None

    def _sizes(self, folder: Path) -> dict[str, int]:
        return {
            self.layout.relative(Path(root, name)): Path(root, name).stat().st_size
            for root, _, names in os.walk(folder)
            for name in names
            if name != FILE_NAME
        }

    def _wrong(self, path: str, why: str) -> None:
        self.problems.append(Problem(path=path, why=why))


def _change(table: TableName, said: Mapping[str, Any]) -> SchemaChange:
    after = canonical_json(said["after"])
    schema_from(after)
    return SchemaChange(
        table=table,
        version=said["version"],
        pipeline=PipelineId(said["pipeline"]),
        change_kind=said["change_kind"],
        before=None if said["before"] is None else canonical_json(said["before"]),
        after=after,
        decided_by=said["decided_by"],
        at=datetime.fromisoformat(said["at"]),
    )


def _why(error: Exception) -> str:
    if isinstance(error, UnreadableManifest | UnreadableSchema):
        return error.why
    return f"it has no {error}" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
