"""Processes that end at a chosen moment: at a step of a run, at an operation on the disk, or by the clock."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tests.support.crashes_disk import keep_journal
from tests.support.faults import kill_this_process

from hakiri.pipelines.runtime.steps import Step

_DISK_EVENTS = frozenset({"open", "os.mkdir", "os.rename", "os.remove", "os.truncate"})
_LONGEST_SECONDS = 30.0
_LOOK_SECONDS = 0.002


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """When a process dies: the `count`-th time that it comes to a step, or to any operation on the disk, or
    after so many seconds. With none of them it lives on to its end.
    """

    step: Step | None = None
    count: int = 1
    is_at_disk: bool = False
    seconds: float | None = None

    @property
    def name(self) -> str:
        if self.step is not None:
            return self.step.value
        return "disk" if self.is_at_disk else "clock" if self.seconds is not None else "never"

    def reached(self, inform: Callable[[Step], None] = lambda _: None) -> Callable[[Step], None]:
        """The hook for the steps of a run in the process that is to die."""
        passed: Counter[Step] = Counter()

        def reached(step: Step) -> None:
            inform(step)
            passed[step] += 1
            if step is self.step and passed[step] == self.count:
                kill_this_process()

        return reached


UNHARMED = Kill()


def keep_disk_journal(journal: Path, root: Path, kill: Kill) -> None:
    """Have this process note what it syncs below the root, and die at an operation there if it is to."""
    left = kill.count

    def come_to_operation() -> None:
        nonlocal left
        left -= 1
        if kill.is_at_disk and left == 0:
            kill_this_process()

    def heard(event: str, args: tuple[Any, ...]) -> None:
        if event in _DISK_EVENTS and str(args[0]).startswith(str(root)):
            come_to_operation()

    if kill.is_at_disk:
        sys.addaudithook(heard)
    keep_journal(journal, come_to_operation)


def forked(work: Callable[[], object], trouble: Path) -> int:
    """A copy of this process that does the work and ends; what it raises is written down as `trouble`.

    This process has no threads, or the copy might wait for one of them for ever.
    """
    child = os.fork()
    if not child:
        _work_and_end(work, trouble)
    return child


def _work_and_end(work: Callable[[], object], trouble: Path) -> NoReturn:
    code = 1
    try:
        work()
        code = 0
    except BaseException:  # the process ends below, whatever it was
        trouble.write_text(traceback.format_exc())
    finally:
        os._exit(code)


def ended(child: int, kill: Kill) -> bool:
    """Wait until the child is dead, and kill it if its time has come; False if it came to its own end.

    Raises AssertionError for one that died of anything else.
    """
    deadline = time.monotonic() + (_LONGEST_SECONDS if kill.seconds is None else kill.seconds)
    status = _waited(child, deadline)
    if status is None:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert kill.seconds is not None, f"a process hung that was to end by {kill}"
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL), f"a process ended with {code}"
    return code != 0


def _waited(child: int, deadline: float) -> int | None:
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        time.sleep(_LOOK_SECONDS)
    return None
