"""How much of the machine Spark may take when nobody says."""

from __future__ import annotations

import os
from pathlib import Path

GIB = 1024**3
SHARE_OF_MEMORY = 0.4
SMALLEST_HEAP_BYTES = 1 * GIB
LARGEST_HEAP_BYTES = 32 * GIB  # above it the JVM gives up compressed pointers

_CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def memory_bytes() -> int:
    """The memory this process may use: the machine's, or the container's limit where that is less."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([installed, *(limit for path in _CGROUP_LIMITS if (limit := _limit_in(path)))])


def default_heap_mib(memory: int) -> int:
    """Two fifths of the memory: Python workers, DuckDB and the page cache need the rest."""
    share = int(memory * SHARE_OF_MEMORY)
    return max(SMALLEST_HEAP_BYTES, min(share, LARGEST_HEAP_BYTES)) // 1024**2


def _limit_in(path: Path) -> int | None:
    try:
        return int(path.read_text("ascii").strip())
    except (OSError, ValueError):  # no such controller, or the word `max`
        return None
