"""The keeper: a small process beside every server, which starts it, watches it and ends it.

It runs as `python -m hakiri.engine.keeper <server directory>`, detached from the command that wanted
the server, and does four things: start the JVM and publish how to reach it; end it after the idle time
or when told to (SIGTERM); clean up when it dies; and, in a quiet moment, have the archive made that
lets the next server start in half the time.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event
from types import FrameType

from hakiri.core.clock import Clock, SystemClock
from hakiri.engine.home import FileLock, ServerDir, ServerRecord, write_private
from hakiri.engine.launch import TOKEN_VARIABLE
from hakiri.engine.ready import POLL_SECONDS, await_port

_WATCH_SECONDS = 0.5
_QUIET_SECONDS = 5.0
_STOP_SECONDS = 10.0
_CHARGE_TRIES = 25
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What the keeper is to start, written by the command that wants a server."""

    key: str
    command: tuple[str, ...]
    environment: dict[str, str]
    token: str
    master: str
    spark_version: str
    java: str
    idle_seconds: float
    archive_used: bool
    archive_command: tuple[str, ...]

    def write(self, path: Path) -> None:
        write_private(path, json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> Launch:
        facts = json.loads(path.read_text("utf-8"))
        for name in ("command", "archive_command"):
            facts[name] = tuple(facts[name])
        return cls(**facts)


class Keeper:
    def __init__(self, folder: ServerDir, launch: Launch, clock: Clock) -> None:
        self._folder = folder
        self._launch = launch
        self._clock = clock
        self._told_to_stop = Event()
        self._archive: subprocess.Popen[bytes] | None = None

    def stop_soon(self, _signal: int, _frame: FrameType | None) -> None:
        self._told_to_stop.set()

    def keep(self) -> int:
        """Run the server from start to end; the exit code is 0 when it ended as it should."""
        began = self._clock.monotonic()
        with self._folder.log.open("wb") as log:
            server = subprocess.Popen(
                self._launch.command,
                env=self._launch.environment | {TOKEN_VARIABLE: self._launch.token},
                cwd=self._folder.path,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 - one thread
            )
        try:
            port = await_port(server, self._folder.log, self._told_to_stop.wait)
            if port is None:
                return 1
            self._publish(server, port, self._clock.monotonic() - began)
            return self._watch(server)
        finally:
            self._folder.record.unlink(missing_ok=True)
            _end(self._archive)
            _end(server)

    def _publish(self, server: subprocess.Popen[bytes], port: int, start_seconds: float) -> None:
        self._folder.write_record(
            ServerRecord(
                key=self._launch.key,
                port=port,
                token=self._launch.token,
                pid=server.pid,
                keeper_pid=os.getpid(),
                master=self._launch.master,
                spark_version=self._launch.spark_version,
                java=self._launch.java,
                started_at=self._clock.now().isoformat(),
                start_seconds=round(start_seconds, 3),
                archive_used=self._launch.archive_used,
            )
        )

    def _watch(self, server: subprocess.Popen[bytes]) -> int:
        last_used = self._clock.monotonic()
        while not self._told_to_stop.wait(_WATCH_SECONDS):
            if server.poll() is not None:
                return 1
            if self._folder.is_in_use():
                last_used = self._clock.monotonic()
                continue
            idle_seconds = self._clock.monotonic() - last_used
            if idle_seconds >= _QUIET_SECONDS:
                self._make_archive()
            idle_limit = self._folder.read_idle_seconds() or self._launch.idle_seconds
            if idle_seconds >= idle_limit and self._retire():
                return 0
        return 0

    def _retire(self) -> bool:
        """Withdraw the record, unless a command is just joining. After this nobody finds the server."""
        start = self._folder.start_lock()
        if not start.take(wait=False):
            return False
        try:
            if self._folder.is_in_use():
                return False
            self._folder.record.unlink(missing_ok=True)
            return True
        finally:
            start.release()

    def _make_archive(self) -> None:
        if self._archive is None and self._launch.archive_command:
            with (self._folder.path / "archive.log").open("wb") as log:
                self._archive = subprocess.Popen(
                    self._launch.archive_command,
                    env=self._launch.environment,
                    cwd=self._folder.path,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    preexec_fn=_low_priority_child,  # noqa: PLW1509 - the keeper has one thread
                )


def _die_with_parent() -> None:
    """Ask the kernel to end this process when the keeper is killed; there is no such call elsewhere."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _low_priority_child() -> None:
    os.nice(19)
    if sys.platform == "linux":
        _die_with_parent()


def _end(process: subprocess.Popen[bytes] | None) -> None:
    if process is None or process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _take_charge(folder: ServerDir) -> FileLock | None:
    """The lock that makes this keeper the one, held for life, or None where there is another.

    Asked more than once, since whoever looks at the lock holds it for a moment.
    """
    lock, pause = folder.keeper_lock(), Event()
    for _ in range(_CHARGE_TRIES):
        if lock.take(wait=False):
            return lock
        pause.wait(POLL_SECONDS)
    return None


def main(directory: str) -> int:
    os.chdir(directory)
    folder = ServerDir(Path(directory))
    charge = _take_charge(folder)
    if charge is None:
        return 0  # another keeper was first; whoever waits finds its record
    folder.write_keeper_pid(os.getpid())
    keeper = Keeper(folder, Launch.read(folder.launch), SystemClock())
    signal.signal(signal.SIGTERM, keeper.stop_soon)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        return keeper.keep()
    finally:
        charge.release()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
