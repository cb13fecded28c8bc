"""A disk with little room, for processes of the tests only."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUSER, MS_REMOUNT, MS_PRIVATE, MS_REC = 0x20000, 0x10000000, 32, 1 << 18, 16384


def mount_disk(folder: Path, size: str) -> None:
    """Put an empty disk in the folder, which only this process sees, and so only until its end."""
    user = 0 if os.geteuid() == 0 else CLONE_NEWUSER
    _call("unshare", CLONE_NEWNS | user)
    _call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    _call("mount", b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={size}".encode())


def resize_disk(folder: Path, size: str) -> None:
    _call("mount", b"tmpfs", os.fsencode(folder), b"tmpfs", MS_REMOUNT, f"size={size}".encode())


@cache
def can_mount() -> bool:
    """Whether the system lets a process have a disk of its own: Linux does, unless it was told not to."""
    from tests.support.victims import in_child

    return sys.platform == "linux" and in_child(_try_to_mount)


def _try_to_mount() -> bool:
    try:
        mount_disk(Path("/tmp"), "16k")
    except OSError:
        return False
    return True


def _call(name: str, *args: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*args) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
