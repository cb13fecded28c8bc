"""The gate before a SQLite file: one at a time, in turn, and never a reason to fail."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hakiri.catalog.sqlite.gate import WriteGate

HOLD = """
import fcntl, sys
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def gate(folder: Path, patience_seconds: float = 30) -> WriteGate:
    return WriteGate(folder / "meta.sqlite-lock", patience_seconds=patience_seconds)


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that is inside."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "meta.sqlite-lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_only_one_is_inside_at_any_moment(tmp_path: Path) -> None:
    inside, most = 0, 0
    counting = threading.Lock()

    def pass_often(_: int) -> None:
        nonlocal inside, most
        own = gate(tmp_path)
        for _ in range(20):
            with own.passed():
                with counting:
                    inside += 1
                    most = max(most, inside)
                with counting:
                    inside -= 1
        own.close()

    with ThreadPoolExecutor(8) as handles:
        list(handles.map(pass_often, range(8)))

    assert most == 1


def test_who_waits_is_let_in_when_the_holder_is_killed(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    threading.Timer(0.2, holder.kill).start()
    began = time.monotonic()

    with gate(tmp_path).passed():
        waited = time.monotonic() - began

    assert 0.1 < waited < 20


def test_who_cannot_get_in_goes_on_without_and_lets_others_in_later(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    impatient = gate(tmp_path, patience_seconds=0.05)
    with impatient.passed():
        pass

    holder.kill()
    holder.wait()

    # The wait that was given up ends with the holder, and does not keep what it then gets.
    with (
        gate(tmp_path).passed(),
        (tmp_path / "meta.sqlite-lock").open("a") as other,
        pytest.raises(BlockingIOError),
    ):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    impatient.close()


FORK_INSIDE = """
import os, sys, time
from pathlib import Path
from hakiri.catalog.sqlite.gate import WriteGate
with WriteGate(Path(sys.argv[1]), patience_seconds=30).passed():
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.kill(os.getppid(), 9)
    time.sleep(60)
"""


def test_a_child_that_was_forked_inside_does_not_keep_others_out(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FORK_INSIDE, str(tmp_path / "meta.sqlite-lock")],
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert parent.wait() == -signal.SIGKILL
        try:
            with (tmp_path / "meta.sqlite-lock").open("a") as other:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.kill(child, signal.SIGKILL)


def test_where_no_file_can_be_made_everybody_passes(tmp_path: Path) -> None:
    with gate(tmp_path / "nowhere").passed():
        pass
