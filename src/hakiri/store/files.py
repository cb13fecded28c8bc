"""The one door to the disk: every write of the store goes through these few steps.

`Files` has only the primitive steps, so that a recording one sees the real order of writes, syncs and
renames; what is made of them stands below as functions.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from hakiri.store.errors import StoreNotWritable

_PIECE_BYTES = 1 << 20
_NO_RIGHTS = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


class Outlet(Protocol):
    """A new file while it is written."""

    def write(self, data: bytes) -> int:
        """Append all of the data."""

    def sync(self) -> None:
        """Make durable what was written. The name of the file is not, until its folder is synced."""

    def close(self) -> None:
        """Twice is once."""


class Files(Protocol):
    """The steps that change or read the store."""

    def make_folder(self, folder: Path) -> bool:
        """Make one folder in one that exists. False if it was there."""

    def sync_folder(self, folder: Path) -> None:
        """Make durable which names the folder has."""

    def create(self, path: Path) -> Outlet:
        """A new file. Raises FileExistsError if there is one."""

    def rename(self, source: Path, target: Path) -> None:
        """Give a file another name in one step, in place of whatever had it."""

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""

    def names(self, folder: Path) -> tuple[str, ...]:
        """What is in a folder, sorted; nothing if there is none."""

    def read(self, path: Path, size: int | None = None) -> bytes | None:
        """All of a file, or its first bytes, or None if there is none."""

    def lock(self, path: Path) -> AbstractContextManager[None]:
        """Wait until nobody else, in any thread or process of this machine, is in such a block, and enter.

        Whoever dies inside has left it. The file stays, empty.
        """


class LocalFiles:
    """The disk of this machine."""

    def make_folder(self, folder: Path) -> bool:
        try:
            folder.mkdir()
        except FileExistsError:
            return False
        return True

    def sync_folder(self, folder: Path) -> None:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def create(self, path: Path) -> Outlet:
        return _LocalOutlet(path)

    def rename(self, source: Path, target: Path) -> None:
        os.replace(source, target)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def names(self, folder: Path) -> tuple[str, ...]:
        try:
            return tuple(sorted(os.listdir(folder)))
        except FileNotFoundError:
            return ()

    def read(self, path: Path, size: int | None = None) -> bytes | None:
        try:
            with path.open("rb") as file:
                return file.read() if size is None else file.read(size)
        except FileNotFoundError:
            return None

    @contextmanager
    def lock(self, path: Path) -> Iterator[None]:
        import fcntl

        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


class _LocalOutlet:
    """Without a buffer of its own: what comes here comes in large pieces."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb", buffering=0)

    def write(self, data: bytes) -> int:
        left = memoryview(data).cast("B")
        size = len(left)
        while left:  # a disk that is nearly full takes a part
            left = left[self._file.write(left) :]
        return size

    def sync(self) -> None:
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


@contextmanager
def missing_rights_told(root: Path) -> Iterator[None]:
    """Raise StoreNotWritable for what may not be written below the root of a store."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_RIGHTS and Path(str(error.filename)).is_relative_to(root):
            raise StoreNotWritable(str(root), os.strerror(error.errno).lower()) from error
        raise


def make_folders(files: Files, folder: Path, *, is_synced: bool = True) -> None:
    """Make the folder and those above it that are missing; durably, unless somebody else syncs them.

    A folder that is there already need not be durable: whoever made it may not have come to syncing the one
    above yet, or have died before. Whoever relies on the whole path syncs it once more.
    """
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for made in reversed(missing):
        files.make_folder(made)
        if is_synced:
            files.sync_folder(made.parent)


def write_new(files: Files, path: Path, data: bytes) -> None:
    """A new file, durable when this returns, in folders that are made. Raises FileExistsError."""
    make_folders(files, path.parent)
    _fill(files, path, data)
    files.sync_folder(path.parent)


def replace(files: Files, path: Path, data: bytes) -> None:
    """Put the data there so that every reader sees the old file or the new one, also after a crash.

    One at a time for a path: whoever calls it has taken the lock that guards it.
    """
    make_folders(files, path.parent)
    pending = path.with_name(f".{path.name}.pending")
    files.remove(pending)  # of somebody who died here
    _fill(files, pending, data)
    files.rename(pending, path)
    files.sync_folder(path.parent)


def copied(files: Files, source: Path, target: Path) -> str:
    """A new file with what another has, in folders that are made; its SHA-256. Its name is not durable yet.

    What somebody who died here left of it is written again.
    """
    digest = sha256()
    make_folders(files, target.parent, is_synced=False)
    files.remove(target)
    outlet = files.create(target)
    try:
        with source.open("rb") as given:
            while piece := given.read(_PIECE_BYTES):
                digest.update(piece)
                outlet.write(piece)
        outlet.sync()
    finally:
        outlet.close()
    return digest.hexdigest()


def sync_above(files: Files, path: Path, root: Path) -> None:
    """Make durable the names in a folder, and those of all folders above it up to the root."""
    for folder in (path, *path.parents):
        if not folder.is_relative_to(root):
            return
        files.sync_folder(folder)


def _fill(files: Files, path: Path, data: bytes) -> None:
    outlet = files.create(path)
    try:
        outlet.write(data)
        outlet.sync()
    finally:
        outlet.close()
