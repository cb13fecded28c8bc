"""Run a command that ends, with all it has started, as soon as whoever wants it is gone.

    python -I -S leash.py <folder> <command> …

Whoever wants the command holds the other end of this process's stdin, and lets go of it to end the command;
the system lets go of it for one that was killed. `<folder>` is the command's own, and is removed at the end,
since there may be secrets in it. The exit code is the command's, or 128 and the number of the signal that
ended it.

A process of its own, as the kernel's own leash (PR_SET_PDEATHSIG) ends with the thread that started the
command, and a read may well be handed on from one thread to another.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import threading
from contextlib import suppress

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
# A command that is asked to end has so long to tidy up.
GRACE_SECONDS = 2.0
# Somebody may hold stdin's other end by accident, as a process that was forked just then.
LOOK_EVERY_SECONDS = 2.0
NOT_STARTED = 127
SIGNALLED = 128


def run(folder: str, command: list[str]) -> int:
    """Run the command to its end, or to that of its master; its exit code."""
    master = os.getppid()
    # Only its master ends this process: the folder must be removed.
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    if sys.platform == "linux":
        # What the command starts and leaves behind comes to this process, wherever it hides.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    pid = _started(command)
    # What the command writes ends when it ends, and not when this process does.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    has_ended = threading.Event()
    threading.Thread(target=_watch, args=(pid, master, has_ended), daemon=True).start()
    _, status = os.waitpid(pid, 0)
    has_ended.set()
    _signal(pid, signal.SIGKILL)
    _end_others()
    _remove(folder)
    code = os.waitstatus_to_exitcode(status)
    return SIGNALLED - code if code < 0 else code


def _started(command: list[str]) -> int:
    """The command as the leader of a process group, with nothing to read. This process has one thread yet."""
    me = os.getpid()
    pid = os.fork()
    if pid:
        with suppress(OSError):  # the command has done so itself, and runs already
            os.setpgid(pid, pid)
        return pid
    try:
        os.setpgid(0, 0)
        for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(each, signal.SIG_DFL)
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != me:
                os._exit(NOT_STARTED)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.execv(command[0], command)  # noqa: S606 - there is nothing in it for a shell
    except OSError as error:
        os.write(2, f"it cannot be started: {error.strerror}\n".encode())
    finally:
        os._exit(NOT_STARTED)


def _watch(pid: int, master: int, has_ended: threading.Event) -> None:
    while os.getppid() == master and not select.select([0], [], [], LOOK_EVERY_SECONDS)[0]:
        continue
    if not has_ended.is_set():
        _signal(pid, signal.SIGTERM)
        if not has_ended.wait(GRACE_SECONDS):
            _signal(pid, signal.SIGKILL)


def _end_others() -> None:
    """End what the command has left behind; all of it, where the system tells what that is."""
    while others := _children():
        for pid in others:
            with suppress(ProcessLookupError):  # it has ended already
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _children() -> list[int]:
    found = []
    with suppress(OSError):  # there is no such folder, or a thread has ended meanwhile
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children") as file:
                found += [int(pid) for pid in file.read().split()]
    return found


def _remove(folder: str) -> None:
    # Not by `shutil`, which takes longer to import than everything else here.
    with suppress(OSError):  # whoever wanted the command removes it as well
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                _remove(entry.path)
            else:
                os.unlink(entry.path)
        os.rmdir(folder)


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # all of them have ended already
        os.killpg(group, number)


if __name__ == "__main__":
    os._exit(run(sys.argv[1], sys.argv[2:]))
