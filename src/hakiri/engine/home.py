"""Where the engine keeps its servers and archives, and the files by which processes find each other.

A server's directory, `<runtime>/servers/<key>/`, belongs to the user alone:

    start.lock    held while somebody starts, joins or stops the server
    keeper.lock   held by the keeper for as long as it lives: whoever cannot take it knows that it does
    clients.lock  shared by every command that uses the server: whoever can take it alone knows it is idle
    keeper.pid    whom to tell to stop
    idle          the idle time in seconds that the last command asked for
    launch.json   what the keeper is to start
    server.json   port, token and pids of the server that is up: the record
    server.log    what Spark printed

Liveness is a question of locks, which the kernel drops when their holder dies, and never of process
numbers, which come round again.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event

from hakiri.engine.errors import UnsafeDirectory

# Not the frames of a Java stack trace, which fill the end of the log when a server dies.
_SAYS_WHAT_WENT_WRONG = re.compile(r"\S.*(\bERROR\b|Exception\b|Error\b|\bcould not\b)")
_LINES_SEARCHED = 500
_LOOK_SECONDS = 0.015
_RETRY_SECONDS = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineHome:
    """The two folders outside any project: short-lived runtime files and the long-lived cache."""

    runtime: Path
    cache: Path

    @classmethod
    def of(cls, env: Mapping[str, str]) -> EngineHome:
        """HAKIRI_RUNTIME_DIR and HAKIRI_CACHE_DIR, else what the system has for such files."""
        return cls(runtime=_runtime_folder(env), cache=_cache_folder(env))

    def server(self, key: str) -> ServerDir:
        return ServerDir(self.runtime / "servers" / key)

    def servers(self) -> list[ServerDir]:
        folder = self.runtime / "servers"
        return [ServerDir(path) for path in sorted(folder.iterdir())] if folder.is_dir() else []


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRecord:
    """How to reach a server that is up. Holds its token, so it is never printed whole."""

    key: str
    port: int
    token: str
    pid: int
    master: str
    spark_version: str
    java: str
    started_at: str
    start_seconds: float
    archive_used: bool

    @property
    def address(self) -> str:
        # `localhost` and not 127.0.0.1: only for that name does Spark's client send a token without TLS.
        return f"sc://localhost:{self.port}/;token={self.token}"


@dataclass(frozen=True, slots=True)
class ServerDir:
    path: Path

    @property
    def key(self) -> str:
        return self.path.name

    @property
    def log(self) -> Path:
        return self.path / "server.log"

    @property
    def launch(self) -> Path:
        return self.path / "launch.json"

    @property
    def record(self) -> Path:
        return self.path / "server.json"

    def start_lock(self) -> FileLock:
        return FileLock(self.path / "start.lock")

    def keeper_lock(self) -> FileLock:
        return FileLock(self.path / "keeper.lock")

    def clients_lock(self) -> FileLock:
        return FileLock(self.path / "clients.lock")

    def read_record(self) -> ServerRecord | None:
        """The record, or None where there is none or another version wrote it."""
        try:
            return ServerRecord(**json.loads(self.record.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write_record(self, record: ServerRecord) -> None:
        write_private(self.record, json.dumps(asdict(record)))

    def read_idle_seconds(self) -> float | None:
        try:
            return float((self.path / "idle").read_text("ascii"))
        except (OSError, ValueError):
            return None

    def write_idle_seconds(self, seconds: float) -> None:
        write_private(self.path / "idle", str(seconds))

    def read_keeper_pid(self) -> int | None:
        """The keeper's process number; to be trusted only while `is_kept`."""
        try:
            return int((self.path / "keeper.pid").read_text("ascii"))
        except (OSError, ValueError):
            return None

    def write_keeper_pid(self, pid: int) -> None:
        write_private(self.path / "keeper.pid", str(pid))

    def is_kept(self) -> bool:
        """Whether a keeper lives: it starts, runs or stops the server."""
        lock = self.keeper_lock()
        if lock.take(shared=True, wait=False):
            lock.release()
            return False
        return True

    def is_in_use(self) -> bool:
        """Whether a command holds the server right now."""
        clients = self.clients_lock()
        if clients.take_within(_LOOK_SECONDS):
            clients.release()
            return False
        return True

    def log_tail(self, lines: int) -> tuple[str, ...]:
        try:
            text = self.log.read_text("utf-8", "replace")
        except OSError:
            return ()
        return tuple(line for line in text.splitlines() if line.strip())[-lines:]

    def log_errors(self, lines: int) -> tuple[str, ...]:
        """The last lines that say what went wrong; the very last ones where none does."""
        errors = [line for line in self.log_tail(_LINES_SEARCHED) if _SAYS_WHAT_WENT_WRONG.match(line)]
        return tuple(errors[-lines:]) or self.log_tail(lines)


class FileLock:
    """An advisory lock on a file (flock). Dropped by the kernel when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None  # a bare number, so that forgetting the object never drops the lock

    def take(self, *, shared: bool = False, wait: bool = True) -> bool:
        """Whether the lock is ours now. With `wait` the answer is always yes, sooner or later."""
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        how = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
        try:
            fcntl.flock(handle, how)
        except BlockingIOError:
            os.close(handle)
            return False
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle
        return True

    def take_within(self, seconds: float) -> bool:
        """Whether the lock could be had in this time. Whoever merely looks at it holds it for a moment, so
        a single refusal says little."""
        pause = Event()
        for _ in range(math.ceil(seconds / _RETRY_SECONDS)):
            if self.take(wait=False):
                return True
            pause.wait(_RETRY_SECONDS)
        return False

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    @contextmanager
    def held(self, *, shared: bool = False) -> Iterator[None]:
        self.take(shared=shared)
        try:
            yield
        finally:
            self.release()


def private_directory(path: Path) -> Path:
    """Make the directory so that only its owner can enter it, or raise UnsafeDirectory.

    The runtime folder may lie in a world-writable one, where somebody else can have been first.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if why := why_unsafe(path.lstat(), os.getuid()):
        raise UnsafeDirectory(str(path), why)
    path.chmod(0o700)
    return path


def why_unsafe(facts: os.stat_result, uid: int) -> str | None:
    """What keeps this from being a directory of the user's own, or None when nothing does."""
    if not stat.S_ISDIR(facts.st_mode):
        return "it is a link or a file"
    if facts.st_uid != uid:
        return f"it belongs to user {facts.st_uid}"
    return None


def write_private(path: Path, text: str) -> None:
    """Replace the file at once, readable by its owner only from its first byte on."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp makes it 0600
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(draft).replace(path)


def _runtime_folder(env: Mapping[str, str]) -> Path:
    if chosen := env.get("HAKIRI_RUNTIME_DIR"):
        return Path(chosen).absolute()
    session = env.get("XDG_RUNTIME_DIR")
    if session and Path(session).is_dir():
        return Path(session) / "hakiri"
    return Path(env.get("TMPDIR") or "/tmp") / f"hakiri-{os.getuid()}"  # noqa: S108 - checked in private_directory


def _cache_folder(env: Mapping[str, str]) -> Path:
    if chosen := env.get("HAKIRI_CACHE_DIR"):
        return Path(chosen).absolute()
    if cache := env.get("XDG_CACHE_HOME"):
        return Path(cache) / "hakiri"
    home = Path(env.get("HOME") or tempfile.gettempdir())
    mac = home / "Library" / "Caches"
    return (mac if mac.is_dir() else home / ".cache") / "hakiri"
