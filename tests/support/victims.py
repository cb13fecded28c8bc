"""Processes of the tests: those that are killed, and those that do what cannot be done in this one."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import TypeVar

from tests.support.faults import FaultyDatabase, kill_this_process
from tests.support.grounds import Ground, catalog_on
from tests.support.writes import WRITES

Result = TypeVar("Result")

JOIN_SECONDS = 30
READY = "ready"
# A process that is forked off one without threads, in which everything is imported already.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["pytest", "tests.support.victims"])


def start(target: Callable[..., None], *args: object) -> ForkServerProcess:
    """Call a function of some module in a new process."""
    process = SERVER.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def state_of(pid: int) -> str:
    """What the system says of a process, in one letter: `T` if it is stopped, `Z` if it has ended."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def assert_killed(process: ForkServerProcess) -> None:
    """Wait until the process has died by SIGKILL, and not otherwise."""
    process.join(JOIN_SECONDS)
    assert process.exitcode == -signal.SIGKILL
    process.close()


def write_and_die(ground: Ground, name: str, stage: object, at: int) -> None:
    """Do a write on its stage, and be killed when it comes to a point."""
    write = next(write for write in WRITES if write.name == name)
    database = FaultyDatabase(ground.database())
    database.fail_at(at, kill_this_process)
    write.do(catalog_on(database), stage)


def in_child(function: Callable[..., Result], *args: object) -> Result:
    """What a function of some module gives, or raises, in a process of its own."""
    with ProcessPoolExecutor(1, SERVER) as pool:
        return pool.submit(function, *args).result(JOIN_SECONDS)


@contextmanager
def held_by_child(function: Callable[..., None], *args: object) -> Iterator[int]:
    """A process in which the function has come to say that it is ready, until the end of the block."""
    ours, theirs = SERVER.Pipe()
    process = start(function, *args, theirs)
    theirs.close()
    try:
        assert ours.recv() == READY
        assert process.pid is not None
        yield process.pid
    finally:
        ours.close()
        process.join(JOIN_SECONDS)
        process.close()


def stay_ready(told: Connection) -> None:
    """Say that all is ready, and wait until nobody listens any more."""
    told.send(READY)
    with suppress(EOFError):
        told.recv()
