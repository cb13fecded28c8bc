"""A snapshot while it is made: its data and its sidecars, each in a staging folder, then in their places.

Nothing of it is visible before the catalog has its row, wherever it lies.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hakiri.compaction.errors import CopyDiffers
from hakiri.compaction.sidecars.contract import Sidecar, Staged, StagedFile
from hakiri.compaction.steps import Reached, Step
from hakiri.compaction.tasks import RunTasks
from hakiri.core.ids import IndexId, SnapshotId, TableName
from hakiri.store.files import Files, copied, make_folders, sync_above
from hakiri.store.files import replace as replace_file
from hakiri.store.layout import StoreLayout, snapshot_name, staging_name
from hakiri.store.manifests import FILE_NAME
from hakiri.store.sidecars import SidecarManifest
from hakiri.store.snapshots import SnapshotManifest

_EXCHANGE = "_exchange"
_PASSES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """The folders of one snapshot of one table.

    With `by_copy` folders are not renamed but copied file by file and then deleted, for disks that have no
    rename of folders in one step, such as buckets that are mounted.
    """

    layout: StoreLayout
    files: Files
    table: TableName
    snapshot: SnapshotId
    reached: Reached
    by_copy: bool = False

    @property
    def folder(self) -> Path:
        """Where its data is written."""
        return self.layout.staging_folder(self.table, self.snapshot)

    @property
    def exchange(self) -> Path:
        """For what is on its way between tasks; it need not outlast anything."""
        return self.folder / _EXCHANGE

    def clear_exchange(self) -> None:
        shutil.rmtree(self.exchange, ignore_errors=True)

    def write(self, manifest: SnapshotManifest) -> None:
        """Put its manifest there, in place of an earlier one. It is durable when this returns."""
        make_folders(self.files, self.folder)
        replace_file(self.files, self.folder / FILE_NAME, manifest.text().encode())

    def build(self, sidecar: Sidecar, staged: Staged, run: RunTasks) -> SidecarManifest:
        """Build an index in a staging folder of its own; its manifest comes last, when all else is there."""
        folder = self._sidecar(sidecar.index, is_staging=True)
        make_folders(self.files, folder)
        tasks = sidecar.tasks(staged, folder)
        built = sidecar.finish(staged, folder, run(tasks) if tasks else [], self.files)
        manifest = SidecarManifest(
            index=sidecar.index,
            kind=sidecar.kind,
            builder=sidecar.builder,
            table=self.table,
            snapshot=self.snapshot,
            files=built.files,
            about=built.about,
        )
        replace_file(self.files, folder / FILE_NAME, manifest.text().encode())
        return manifest

    def staged(self, manifest: SnapshotManifest, index: IndexId) -> Staged:
        """What an index is built from."""
        data, own = self.layout.data_folder(self.table), f"{snapshot_name(self.snapshot)}/"
        before = None if manifest.base is None else self._sidecar_of(index, manifest.base)
        return Staged(
            files=tuple(
                StagedFile(
                    path=self.folder / file.path.removeprefix(own)
                    if file.path.startswith(own)
                    else data / file.path,
                    place=file.path,
                    rows=file.rows,
                    is_kept=not file.path.startswith(own),
                )
                for file in manifest.files
            ),
            before=before,
        )

    def move(self, manifest: SnapshotManifest, sidecars: Sequence[SidecarManifest]) -> None:
        """Give everything its final place: the data first, then each sidecar. Raises CopyDiffers.

        What the manifests do not name stays behind.
        """
        own = f"{snapshot_name(self.snapshot)}/"
        data = {
            file.path.removeprefix(own): file.sha256 for file in manifest.files if file.path.startswith(own)
        }
        self._move(self.folder, self._final, data)
        self.reached(Step.DATA_RENAMED)
        for sidecar in sidecars:
            hashes = {file.name: file.sha256 for file in sidecar.files}
            staging = self._sidecar(sidecar.index, is_staging=True)
            self._move(staging, self._sidecar(sidecar.index), hashes)
        self.reached(Step.SIDECARS_RENAMED)

    def clean(self, indexes: Sequence[IndexId]) -> None:
        """Take away what is left in staging folders."""
        for folder in (self.folder, *(self._sidecar(index, is_staging=True) for index in indexes)):
            _take_away(folder)

    def remove(self, indexes: Sequence[IndexId]) -> None:
        """Take away all of it, from wherever it is. Only while no catalog has its row."""
        self.clean(indexes)
        for folder in (self._final, *map(self._sidecar, indexes)):
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def _final(self) -> Path:
        return self.layout.snapshot_folder(self.table, self.snapshot)

    def _sidecar(self, index: IndexId, *, is_staging: bool = False) -> Path:
        name = staging_name(self.snapshot) if is_staging else snapshot_name(self.snapshot)
        return self.layout.index_folder(self.table, index) / name

    def _sidecar_of(self, index: IndexId, snapshot: SnapshotId) -> Path:
        return self.layout.index_folder(self.table, index) / snapshot_name(snapshot)

    def _move(self, source: Path, target: Path, hashes: Mapping[str, str]) -> None:
        """One folder with these files and a manifest. It is durable when this returns."""
        if self.by_copy:
            for name in (*hashes, FILE_NAME):
                found = copied(self.files, source / name, target / name)
                if hashes.get(name, found) != found:
                    raise CopyDiffers(self.layout.relative(target / name))
        else:
            self._thin_out(source, {*hashes, FILE_NAME})
            self.files.rename(source, target)
        sync_above(self.files, target, self.layout.root)

    def _thin_out(self, folder: Path, names: Collection[str]) -> None:
        """Leave only these files: a task that was done again, because nobody heard of it, has left others."""
        for path in sorted(folder.rglob("*"), reverse=True):  # what is in a folder comes before it
            if path.is_dir():
                with suppress(OSError):  # something is in it
                    path.rmdir()
            elif path.relative_to(folder).as_posix() not in names:
                self.files.remove(path)


def _take_away(folder: Path) -> None:
    """Also if a task that was stopped still puts files there: it cannot make folders anew."""
    for _ in range(_PASSES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
