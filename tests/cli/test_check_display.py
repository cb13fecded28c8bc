"""How far a check is, as a person sees it."""

from __future__ import annotations

import io
import os
import pty
import re
from datetime import timedelta
from typing import TextIO

from tests.store.workshop import T0

from hakiri.cli.console import Console
from hakiri.cli.context.check_display import CheckDisplay
from hakiri.core.clock import FixedClock

SECOND = timedelta(seconds=1)
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def read_ten_megabytes(err: TextIO, *, seconds: int, is_quiet: bool = False) -> None:
    """Ten pieces, one after the other, in so many seconds each."""
    clock = FixedClock(T0)
    console = Console(out=io.StringIO(), err=err, env={"TERM": "xterm-256color"}, is_quiet=is_quiet)
    with CheckDisplay(console, clock) as display:
        display.begin(10_000_000)
        for _ in range(10):
            clock.advance(seconds * SECOND)
            display.advance(1_000_000)
        display.step("what is derived")


def test_a_short_check_says_nothing() -> None:
    err = io.StringIO()

    read_ten_megabytes(err, seconds=0)

    assert err.getvalue() == ""


def test_where_nobody_looks_a_line_is_written_now_and_then() -> None:
    err = io.StringIO()

    read_ten_megabytes(err, seconds=5)

    assert err.getvalue().splitlines() == [
        "files: 2MB of 10MB, 200KB/s, about 40 s left",
        "files: 4MB of 10MB, 200KB/s, about 30 s left",
        "files: 6MB of 10MB, 200KB/s, about 20 s left",
        "files: 8MB of 10MB, 200KB/s, about 10 s left",
        "files: 10MB of 10MB, 200KB/s, about 0 s left",
    ]


def test_whoever_wants_silence_has_it() -> None:
    err = io.StringIO()

    read_ten_megabytes(err, seconds=60, is_quiet=True)

    assert err.getvalue() == ""


def test_on_a_terminal_there_is_a_bar_that_goes_away() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as err:
        read_ten_megabytes(err, seconds=5)
        err.flush()
        os.write(theirs, b"<end>")
        shown = b""
        while not shown.endswith(b"<end>"):
            shown += os.read(ours, 4096)
    os.close(ours)

    text = CONTROL.sub("", shown.decode())
    assert "of 10MB, 200KB/s, about" in text
    assert "what is derived" in text
    assert shown.removesuffix(b"<end>").endswith(b"\x1b[2K")
