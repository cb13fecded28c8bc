"""Learning from a server's log that it is up, and on which port."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

_READY = re.compile(rb"Spark Connect server started at: \S+?:(\d+)\s")
POLL_SECONDS = 0.02


def await_port(
    server: subprocess.Popen[bytes], log: Path, give_up_after: Callable[[float], bool]
) -> int | None:
    """The port, or None when the server died or `give_up_after` a short wait said so.

    The server is asked for port 0 and tells the one it got: a port picked here could be taken by somebody
    else before the server binds it, and that somebody would be sent our token.
    """
    while server.poll() is None:
        if ready := _READY.search(log.read_bytes()):
            return int(ready.group(1))
        if give_up_after(POLL_SECONDS):
            return None
    return None
