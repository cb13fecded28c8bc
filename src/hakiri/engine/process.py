"""The processes the engine starts beside itself: none of them outlives the one that started it."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_READY = re.compile(rb"Spark Connect server started at: \S+?:(\d+)\s")
_PR_SET_PDEATHSIG = 1
_STOP_SECONDS = 10.0
POLL_SECONDS = 0.02


def start_beside(
    command: Sequence[str], *, env: Mapping[str, str], log: Path, niceness: int = 0
) -> subprocess.Popen[bytes]:
    """Start a process in the log's folder. On Linux the kernel ends it when this one dies, even by SIGKILL;
    elsewhere whoever starts it calls `end` on every way out."""

    def prepare() -> None:
        os.nice(niceness)
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)

    with log.open("wb") as output:
        return subprocess.Popen(
            command,
            env=dict(env),
            cwd=log.parent,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=prepare,  # noqa: PLW1509 - its callers have one thread
        )


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process, gently at first; it is gone when this returns."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def await_port(
    server: subprocess.Popen[bytes], log: Path, give_up_after: Callable[[float], bool]
) -> int | None:
    """The port a Spark server tells in its log, or None when it died or `give_up_after` a short wait said so.

    The server is asked for port 0 and tells the one it got: a port picked here could be taken by somebody
    else before the server binds it, and that somebody would be sent our token.
    """
    while server.poll() is None:
        if ready := _READY.search(log.read_bytes()):
            return int(ready.group(1))
        if give_up_after(POLL_SECONDS):
            return None
    return None
