from __future__ import annotations

import io
import os
import pty
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TextIO

import pytest

from hakiri.cli.console import Console
from hakiri.cli.progress import SparkDisplay, facts_of, steps_shown
from hakiri.engine import JobProgress, ServerRecord

LOOK = JobProgress(
    operation="op",
    elapsed_seconds=10.0,
    stages_done=1,
    stages_total=3,
    tasks_done=25,
    tasks_total=100,
    tasks_running=2,
    bytes_read=50 * 1024**2,
    bytes_per_second=5 * 1024**2,
    eta_seconds=30.0,
    is_done=False,
)
FACTS = "25/100 tasks, 52.4MB read, 5.24MB/s, about 30 s left"
RECORD = ServerRecord(
    key="cafe",
    port=1,
    token="hush",
    pid=2,
    master="local[2]",
    spark_version="4.3.0",
    java="17",
    started_at="2026-01-31T08:00:00+00:00",
    start_seconds=4.25,
    archive_used=True,
)
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def display_on(
    err: TextIO, *, is_quiet: bool = False, is_verbose: bool = False, term: str = ""
) -> SparkDisplay:
    env = {"TERM": term or "xterm-256color"}
    return SparkDisplay(
        Console(out=io.StringIO(), err=err, env=env, is_quiet=is_quiet, is_verbose=is_verbose)
    )


def seen_at(*seconds: float, display: SparkDisplay) -> None:
    for elapsed in seconds:
        display.progress(replace(LOOK, elapsed_seconds=elapsed))


def on_terminal(act: Callable[[TextIO], None]) -> str:
    """Everything that reaches a terminal while `act` writes to it."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as err:
        act(err)
        err.flush()
        os.write(theirs, b"<end>")
        shown = b""
        while not shown.endswith(b"<end>"):
            shown += os.read(ours, 4096)
    os.close(ours)
    return shown.decode().removesuffix("<end>")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, FACTS),
        ({"bytes_read": 0}, "25/100 tasks, about 30 s left"),
        ({"eta_seconds": None}, "25/100 tasks, 52.4MB read, 5.24MB/s"),
        ({"eta_seconds": 95.4, "bytes_read": 0}, "25/100 tasks, about 1 min 35 s left"),
        ({"eta_seconds": 7_500.0, "bytes_read": 0}, "25/100 tasks, about 2 h 05 min left"),
    ],
)
def test_the_facts_are_tasks_bytes_rate_and_what_is_left(changes: dict[str, float], words: str) -> None:
    assert facts_of(replace(LOOK, **changes)) == words  # type: ignore[arg-type]


def test_without_a_terminal_there_is_a_line_every_ten_seconds() -> None:
    err = io.StringIO()
    display = display_on(err)

    seen_at(0, 1, 9.9, display=display)
    assert err.getvalue() == ""
    seen_at(10, 12, 19.9, 20, 29, 31, display=display)
    display.close()

    assert err.getvalue() == f"stage 2 of 3: {FACTS}\n" * 3


def test_every_operation_has_lines_of_its_own() -> None:
    err = io.StringIO()
    display = display_on(err)

    seen_at(10, display=display)
    display.progress(replace(LOOK, is_done=True, elapsed_seconds=11))
    seen_at(5, 10, display=display)
    display.progress(replace(LOOK, operation="other", stages_done=3))

    assert err.getvalue().splitlines() == [*[f"stage 2 of 3: {FACTS}"] * 2, f"stage 3 of 3: {FACTS}"]


def test_a_job_that_has_no_stage_yet_says_so() -> None:
    err = io.StringIO()

    display_on(err).progress(
        replace(
            LOOK, stages_total=0, stages_done=0, tasks_total=0, tasks_done=0, bytes_read=0, eta_seconds=None
        )
    )

    assert err.getvalue() == "before the first stage: 0/0 tasks\n"


def test_the_start_of_a_server_is_told() -> None:
    err = io.StringIO()
    display = display_on(err)

    display.starting()
    display.ready(RECORD, was_started=True)

    assert err.getvalue() == "starting Spark …\n"


@pytest.mark.parametrize(
    ("record", "was_started", "words"),
    [
        (RECORD, True, "Spark is up after 4.2 s, with the class archive"),
        (replace(RECORD, archive_used=False), True, "Spark is up after 4.2 s, without the class archive"),
        (RECORD, False, "Spark was warm (server cafe)"),
        (None, False, "connected to a Spark that runs elsewhere"),
    ],
)
def test_verbose_tells_which_spark_it_is(record: ServerRecord | None, was_started: bool, words: str) -> None:
    err = io.StringIO()

    display_on(err, is_verbose=True).ready(record, was_started=was_started)

    assert err.getvalue() == f"{words}\n"


def test_quiet_says_nothing_in_a_pipe_and_on_a_terminal() -> None:
    def everything(err: TextIO) -> None:
        display = display_on(err, is_quiet=True)
        display.starting()
        display.ready(RECORD, was_started=True)
        seen_at(0, 2, 10, 20, display=display)
        display.progress(replace(LOOK, is_done=True))
        display.close()

    pipe = io.StringIO()
    everything(pipe)

    assert (pipe.getvalue(), on_terminal(everything)) == ("", "")


def test_a_terminal_shows_nothing_in_the_first_second() -> None:
    assert on_terminal(lambda err: seen_at(0, 0.5, 0.99, display=display_on(err))) == ""


def test_a_terminal_shows_a_bar_after_a_second_and_nothing_is_left_of_it() -> None:
    def job(err: TextIO) -> None:
        display = display_on(err)
        seen_at(0.5, 1.0, 1.5, display=display)
        display.progress(replace(LOOK, is_done=True))
        display.close()

    shown = on_terminal(job)

    text = CONTROL.sub("", shown)
    assert f"stage 2 of 3 ━━━          {FACTS}\r" in text
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1  # the cursor is hidden, then back
    assert "\n" not in text
    assert shown.endswith("\r\x1b[2K\x1b[?25h\r")  # the one line is cleared


@pytest.mark.parametrize("how", ["done", "closed"])
def test_a_display_can_show_another_job_afterwards(how: str) -> None:
    def jobs(err: TextIO) -> None:
        display = display_on(err)
        display.starting()
        display.ready(RECORD, was_started=True)
        seen_at(2.0, display=display)
        if how == "done":
            display.progress(replace(LOOK, is_done=True))
        else:
            display.close()
        display.progress(replace(LOOK, elapsed_seconds=2.0, stages_done=2))
        display.close()

    shown = CONTROL.sub("", on_terminal(jobs))

    assert shown.index("starting Spark") < shown.index("stage 2 of 3") < shown.index("stage 3 of 3")


def test_a_dumb_terminal_gets_lines_and_no_control_signs() -> None:
    def job(err: TextIO) -> None:
        display = display_on(err, term="dumb")
        display.starting()
        seen_at(2, 10, display=display)
        display.close()

    assert on_terminal(job) == f"starting Spark …\r\nstage 2 of 3: {FACTS}\r\n"


def show_steps(console: Console) -> None:
    with steps_shown(console) as tell_step:
        tell_step("looking at chunks")
        tell_step("looking at snapshots")
    console.note("done")


def test_without_a_terminal_every_step_has_a_line() -> None:
    err = io.StringIO()

    show_steps(Console(out=io.StringIO(), err=err, env={}))

    assert err.getvalue() == "looking at chunks …\nlooking at snapshots …\ndone\n"


def test_with_quiet_no_step_is_told() -> None:
    err = io.StringIO()

    show_steps(Console(out=io.StringIO(), err=err, env={}, is_quiet=True))

    assert err.getvalue() == ""


def test_on_a_terminal_the_step_is_a_line_that_is_gone_afterwards() -> None:
    shown = on_terminal(
        lambda err: show_steps(Console(out=io.StringIO(), err=err, env={"TERM": "xterm-256color"}))
    )

    assert "looking at chunks …\r\n" not in shown
    assert CONTROL.sub("", shown).splitlines()[-1].strip() == "done"
