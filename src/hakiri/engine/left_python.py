"""Python that sessions have left on a server, and that nobody will use again.

Spark starts Python for every session that has code of its own: a process that forks, and its workers. It ends
workers that have had nothing to do for a minute, and keeps the one that forked them, 46 MB, as long as the
server lives (ADR-0016). A server that is used every minute would grow by gigabytes an hour.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hakiri.core.clock import Clock

_PROCESSES = Path("/proc")
_DAEMON = b"pyspark.daemon"
_SESSION = b"SPARK_JOB_ARTIFACT_UUID="
_SHARED = _SESSION + b"default"
_ENDED = b"Z"
_LOOK_SECONDS = 30.0
_LEFT_SECONDS = 600.0


@dataclass(kw_only=True)
class LeftPython:
    """What sessions have left on the server with this process. Sees nothing where there is no `/proc`."""

    server: int
    is_in_use: Callable[[], bool]
    clock: Clock
    _looked_at: float = float("-inf")
    _idle_since: dict[int, float] = field(default_factory=dict)

    def end_it(self) -> None:
        """End what no session can want any more; cheap if it was called a moment ago.

        While the server is in use, that is what has had no workers for long. A session that rested for as
        long and asks for Python once more gets it: Spark starts what it finds ended.
        """
        now = self.clock.monotonic()
        if now - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = now
        parents = _parents()
        forking = [pid for pid, parent in parents.items() if parent == self.server and _is_of_a_session(pid)]
        # Asked after they were found: whatever a session starts that comes now is not among them.
        if self.is_in_use():
            idle = set(forking) - set(parents.values())
            self._idle_since = {pid: self._idle_since.get(pid, now) for pid in idle}
            forking = [pid for pid, since in self._idle_since.items() if now - since >= _LEFT_SECONDS]
        for pid in forking:
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(pid, signal.SIGTERM)  # and it ends its workers


def _parents() -> dict[int, int]:
    """The parent of every process that runs and can be seen."""
    found = {}
    for folder in _PROCESSES.glob("[0-9]*"):
        with suppress(OSError, ValueError):  # it has ended meanwhile, or while it was read
            # The name before it is in brackets, and may hold anything.
            state, parent, *_ = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            if state != _ENDED:
                found[int(folder.name)] = int(parent)
    return found


def _is_of_a_session(pid: int) -> bool:
    """Whether it forks the Python workers of a session that has code of its own."""
    try:
        command = (_PROCESSES / str(pid) / "cmdline").read_bytes()
        environment = (_PROCESSES / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    sessions = [each for each in environment.split(b"\0") if each.startswith(_SESSION)]
    return _DAEMON in command and bool(sessions) and sessions != [_SHARED]
