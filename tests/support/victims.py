"""What happens in processes that are killed."""

from __future__ import annotations

import multiprocessing
import signal
from multiprocessing.context import ForkServerProcess

from tests.support.faults import FaultyDatabase, kill_this_process
from tests.support.grounds import Ground, catalog_on
from tests.support.writes import WRITES

JOIN_SECONDS = 30
# A process that is forked off one without threads, in which everything is imported already.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["pytest", "tests.support.victims"])


def start(target: object, *args: object) -> ForkServerProcess:
    """Call a function of this module in a new process."""
    process = SERVER.Process(target=target, args=args, daemon=True)  # type: ignore[arg-type]
    process.start()
    return process


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
