"""A disk in memory, on which no sync is waited for: what the tests try is the order of steps, not a disk."""

from __future__ import annotations

import os
from pathlib import Path

PLACE = Path("/dev/shm")
# What all tests leave lying about at one moment is a fraction of it.
ROOM_BYTES = 4 * 2**30


def memory_disk() -> Path | None:
    """The folder of such a disk, if there is one with room on it on which programs can be run."""
    if not os.access(PLACE, os.W_OK | os.X_OK):
        return None
    disk = os.statvfs(PLACE)
    has_room = disk.f_bavail * disk.f_frsize >= ROOM_BYTES
    return PLACE if has_room and not disk.f_flag & os.ST_NOEXEC else None
