"""Who holds the write lock of a SQLite file, as far as the system tells."""

from __future__ import annotations

import os
from pathlib import Path

_LOCKS = Path("/proc/locks")  # Linux only; asking for a lock's holder by `fcntl` could drop locks of our own
_WRITE_BYTE = 120  # of the `-shm` file: in WAL mode whoever writes has locked it


def writing_process(path: Path) -> int | None:
    """The process that holds the write lock, or None if the system does not tell."""
    try:
        memory = path.with_name(f"{path.name}-shm").stat()
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return None
    place = f"{os.major(memory.st_dev):02x}:{os.minor(memory.st_dev):02x}:{memory.st_ino}"
    for line in lines:
        match line.split():
            # What waits for a lock has an arrow before its kind; processes of other containers are 0 or less.
            case [_, "POSIX", _, "WRITE", pid, found, first, last] if found == place and int(pid) > 0:
                if int(first) <= _WRITE_BYTE and (last == "EOF" or int(last) >= _WRITE_BYTE):
                    return int(pid)
    return None


def is_stopped(pid: int) -> bool:
    """Whether the process was stopped, and lets go of nothing before it goes on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "Tt"
    except OSError:
        return False
