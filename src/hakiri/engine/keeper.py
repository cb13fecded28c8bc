"""The keeper: a small process beside every server, which starts it, watches it and ends it.

It runs as `python -m hakiri.engine.keeper <server directory>`, detached from the command that wanted
the server, and does five things: start the JVM and publish how to reach it; end it after the idle time
or when told to (SIGTERM); clean up when it dies; end the Python that sessions have left on it; and, in a
quiet moment, have the archive made that lets the next server start in half the time.
"""

from __future__ import annotations

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
from hakiri.engine.home import ServerDir, ServerRecord, write_private
from hakiri.engine.launch import TOKEN_VARIABLE
from hakiri.engine.left_python import LeftPython
from hakiri.engine.process import await_port, end, start_beside

_WATCH_SECONDS = 0.5
_QUIET_SECONDS = 5.0
_CHARGE_SECONDS = 0.5
_LOWEST_PRIORITY = 19


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
        server = start_beside(
            self._launch.command,
            env=self._launch.environment | {TOKEN_VARIABLE: self._launch.token},
            log=self._folder.log,
        )
        try:
            port = await_port(server, self._folder.log, self._told_to_stop.wait)
            if port is None:
                return 1
            self._publish(server, port, self._clock.monotonic() - began)
            return self._watch(server)
        finally:
            self._folder.record.unlink(missing_ok=True)
            if self._archive is not None:
                end(self._archive)
            end(server)

    def _publish(self, server: subprocess.Popen[bytes], port: int, start_seconds: float) -> None:
        self._folder.write_record(
            ServerRecord(
                key=self._launch.key,
                port=port,
                token=self._launch.token,
                pid=server.pid,
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
        python = LeftPython(server=server.pid, is_in_use=self._folder.is_in_use, clock=self._clock)
        while not self._told_to_stop.wait(_WATCH_SECONDS):
            if server.poll() is not None:
                return 1
            python.end_it()
            if self._folder.is_in_use():
                last_used = self._clock.monotonic()
                continue
            idle_seconds = self._clock.monotonic() - last_used
            if idle_seconds >= _QUIET_SECONDS:
                self._make_archive()
            idle_limit = self._folder.read_idle_seconds()
            if idle_limit is not None and idle_seconds >= idle_limit and self._retire():
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
            self._archive = start_beside(
                self._launch.archive_command,
                env=self._launch.environment,
                log=self._folder.path / "archive.log",
                niceness=_LOWEST_PRIORITY,
            )


def main(directory: str) -> int:
    os.chdir(directory)
    folder = ServerDir(Path(directory))
    charge = folder.keeper_lock()
    if not charge.take_within(_CHARGE_SECONDS):
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
