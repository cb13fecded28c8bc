"""A disk that notes every step that is taken on it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from hakiri.store.files import LocalFiles, Outlet


class Recording(LocalFiles):
    """The disk of this machine, and the steps that changed it, with paths below `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.steps: list[str] = []

    def note(self, step: str, *paths: Path) -> None:
        self.steps.append(" ".join((step, *(path.relative_to(self._root).as_posix() for path in paths))))

    def make_folder(self, folder: Path) -> bool:
        self.note("mkdir", folder)
        return super().make_folder(folder)

    def sync_folder(self, folder: Path) -> None:
        self.note("syncdir", folder)
        super().sync_folder(folder)

    def create(self, path: Path) -> Outlet:
        outlet = super().create(path)
        self.note("create", path)
        return RecordingOutlet(self, path, outlet)

    def rename(self, source: Path, target: Path) -> None:
        self.note("rename", source, target)
        super().rename(source, target)

    def lock(self, path: Path) -> AbstractContextManager[None]:
        self.note("lock", path)
        return super().lock(path)


class RecordingOutlet:
    def __init__(self, disk: Recording, path: Path, outlet: Outlet) -> None:
        self._disk, self._path, self._outlet = disk, path, outlet

    def write(self, data: bytes) -> int:
        self._disk.note("write", self._path)
        return self._outlet.write(data)

    def sync(self) -> None:
        self._disk.note("sync", self._path)
        self._outlet.sync()

    def close(self) -> None:
        self._outlet.close()
