"""Who works on a store: one name for each process, and how it is known that a process is gone.

A process holds a lock on a file of its name as long as it lives, and the operating system lets go of the lock
when it dies, however that happens. Whoever gets the lock of another knows that the other is gone, and need
not wait until its leases run out. Workers on other machines are not seen here: their leases run out in time.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hakiri.core.ids import NodeId
from hakiri.store.files import missing_rights_told

_SUFFIX = ".lock"


@contextmanager
def known_node(folder: Path, node: NodeId) -> Iterator[None]:
    """Be known in this folder of a store as alive until the block ends. Raises StoreNotWritable."""
    path = folder / f"{node}{_SUFFIX}"
    # Locked before it has its name: nobody may find a file whose owner did not get to lock it yet.
    unnamed = folder / f".{node}"
    with missing_rights_told(folder.parent):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(unnamed, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        unnamed.rename(path)
        yield
        # Only at a good end: whoever leaves by an error may hold what it could not give back, as on a full
        # disk. The name stays then, without the lock, and the next one gives it back.
        path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def bury_dead_nodes(folder: Path, bury: Callable[[NodeId], object]) -> list[NodeId]:
    """Call `bury` for every node of this folder that is gone; their names."""
    buried = []
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # it ended in this moment, and in order
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        try:
            node = NodeId(path.name.removesuffix(_SUFFIX))
            bury(node)
            buried.append(node)
            path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)
    return buried


def living_nodes(folder: Path) -> list[NodeId]:
    """Who is alive of those that are known in this folder. Whoever is gone is left as he was found."""
    living = []
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # it ended in this moment, and in order
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            living.append(NodeId(path.name.removesuffix(_SUFFIX)))
        finally:
            os.close(descriptor)
    return living
