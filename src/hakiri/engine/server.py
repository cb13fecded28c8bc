"""Finding, starting and stopping the warm servers, from a command's side."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event

from hakiri.core.clock import Clock
from hakiri.core.ids import fresh_token
from hakiri.engine.archive import archive_command, archive_for, mark_used
from hakiri.engine.errors import ServerBusy, ServerStartFailed
from hakiri.engine.home import EngineHome, FileLock, ServerDir, ServerRecord, private_directory
from hakiri.engine.keeper import Launch
from hakiri.engine.launch import SERVER_CLASS, ServerPlan, server_command, write_server_files
from hakiri.engine.process import POLL_SECONDS

START_SECONDS = 180.0
STOP_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class JoinedServer:
    """A server that stays up at least until `leave`, because our lock says so."""

    record: ServerRecord
    was_started: bool
    _clients: FileLock

    def leave(self) -> None:
        self._clients.release()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """What can be told of a server without asking Spark. No token in it."""

    key: str
    is_in_use: bool
    keeper_pid: int | None
    record: ServerRecord | None
    idle_seconds: float | None
    log: str

    @property
    def is_up(self) -> bool:
        return self.record is not None


def join_server(
    plan: ServerPlan, home: EngineHome, clock: Clock, *, while_starting: Callable[[], None] = lambda: None
) -> JoinedServer:
    """The server of this plan, started if it is not up. `while_starting` runs while the JVM comes up.

    Two commands that want the same server at the same moment get the same one: the second waits.
    Raises ServerStartFailed with the end of Spark's log.
    """
    folder = _open_folder(home, plan.key)
    with folder.start_lock().held():
        folder.write_idle_seconds(plan.config.idle_timeout.total_seconds())
        deadline = clock.monotonic() + START_SECONDS
        keeper_pid: int | None = None
        pause = Event()
        while clock.monotonic() < deadline:
            is_kept = folder.is_kept()
            record = folder.read_record() if is_kept else None
            if record is not None and _accepts(record.port):
                clients = folder.clients_lock()
                clients.take(shared=True)
                return JoinedServer(record, keeper_pid is not None, clients)
            if not is_kept:
                if keeper_pid is None:
                    keeper_pid = _start_keeper(plan, home, folder)
                    while_starting()
                elif _has_ended(keeper_pid):
                    raise _start_failure(folder, "the server ended before it was up")
            pause.wait(POLL_SECONDS)
    raise _start_failure(folder, f"the server was not up after {START_SECONDS:.0f} seconds")


def server_states(home: EngineHome) -> list[ServerState]:
    """Every server of this user that is starting or up."""
    return [_state_of(folder) for folder in home.servers() if folder.is_kept()]


def stop_servers(home: EngineHome, clock: Clock, *, force: bool = False) -> list[ServerState]:
    """Stop every server and return what they were. If one is in use it needs `force`, or none is stopped."""
    states = server_states(home)
    busy = tuple(state.key for state in states if state.is_in_use)
    if busy and not force:
        raise ServerBusy(busy)
    for state in states:
        if state.keeper_pid is not None:
            os.kill(state.keeper_pid, signal.SIGTERM)
    deadline, pause = clock.monotonic() + STOP_SECONDS, Event()
    for state in states:
        while home.server(state.key).is_kept() and clock.monotonic() < deadline:
            pause.wait(POLL_SECONDS)
    return states


def _open_folder(home: EngineHome, key: str) -> ServerDir:
    private_directory(home.runtime)
    private_directory(home.runtime / "servers")
    return ServerDir(private_directory(home.runtime / "servers" / key))


def _start_keeper(plan: ServerPlan, home: EngineHome, folder: ServerDir) -> int:
    _clear_leftovers(folder)
    archive = archive_for(plan.java, plan.spark, home)
    use_archive = plan.config.archive and archive.exists()
    if use_archive:
        mark_used(archive)
    files = write_server_files(plan, folder.path)
    Launch(
        key=plan.key,
        command=tuple(server_command(plan, files, jvm_flags=archive.use_flags if use_archive else ())),
        environment=dict(plan.environment),
        token=fresh_token(),
        master=plan.config.master,
        spark_version=plan.spark.version,
        java=f"{plan.java.version} ({plan.java.origin})",
        archive_used=use_archive,
        archive_command=archive_command(home) if plan.config.archive and not use_archive else (),
    ).write(folder.launch)
    # Spawned and not waited for: the keeper is meant to outlive this process.
    log = (
        os.POSIX_SPAWN_OPEN,
        1,
        str(folder.path / "keeper.log"),
        os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
        0o600,
    )
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "hakiri.engine.keeper", str(folder.path)],
        dict(plan.environment),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            log,
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,  # Ctrl-C in the terminal is for the command, not for the warm server
    )


def _has_ended(pid: int) -> bool:
    ended, _ = os.waitpid(pid, os.WNOHANG)
    return ended == pid


def _clear_leftovers(folder: ServerDir) -> None:
    """The record of a keeper that was killed, and its JVM where the kernel did not end that with it."""
    record = folder.read_record()
    if record is not None and _is_server_of(folder, record.pid):
        os.kill(record.pid, signal.SIGKILL)
    folder.record.unlink(missing_ok=True)


def _is_server_of(folder: ServerDir, pid: int) -> bool:
    # The number may by now belong to any process: its command line must name this very folder.
    shown = subprocess.run(
        ["ps", "-ww", "-p", str(pid), "-o", "command="], capture_output=True, text=True, check=False
    )
    return SERVER_CLASS in shown.stdout and str(folder.path) in shown.stdout


def _accepts(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _state_of(folder: ServerDir) -> ServerState:
    return ServerState(
        key=folder.key,
        is_in_use=folder.is_in_use(),
        keeper_pid=folder.read_keeper_pid(),
        record=folder.read_record(),
        idle_seconds=folder.read_idle_seconds(),
        log=str(folder.log),
    )


def _start_failure(folder: ServerDir, why: str) -> ServerStartFailed:
    tail = folder.log_errors(5) or tuple((folder.path / "keeper.log").read_text("utf-8").splitlines()[-5:])
    return ServerStartFailed(why, str(folder.log), tail)
