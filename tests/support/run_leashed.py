"""Become a command that, on Linux, ends with the thread that started it, even if that one is killed.

    python -I -S run_leashed.py <pid of the parent> <uid:gid, or nothing> <command> …

A program of its own and no `preexec_fn`: that would run in a copy of a process that has threads. It also
changes the user, as the other user need not be able to reach this Python.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def become(parent: str, account: str, *command: str) -> None:
    if account:
        uid, gid = map(int, account.split(":"))
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if sys.platform == "linux":
        # Only now: the kernel forgets it when the user changes. Postgres ends at once on SIGQUIT.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)
        if os.getppid() != int(parent):
            sys.exit("whoever started this is gone")
    os.execv(command[0], command)


if __name__ == "__main__":
    become(*sys.argv[1:])
