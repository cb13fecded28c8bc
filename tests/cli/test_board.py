"""One display for all pipelines: a board on a terminal, lines elsewhere."""

from __future__ import annotations

import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TextIO

import pytest
from tests.support.terminal import terminal
from tests.support.tracing import ORDERS, RUN, T0, chunk_committed, chunk_started, run_started

from hakiri.catalog.contract.pipelines import Phase
from hakiri.catalog.contract.runs import RunStatus
from hakiri.cli.board import Board
from hakiri.cli.console import Console
from hakiri.core.clock import FixedClock
from hakiri.core.ids import ChunkId, PipelineId, RunId, TableName
from hakiri.pipelines.events import (
    ChunkAdvanced,
    ChunkGivenBack,
    ChunksPlanned,
    Event,
    PhaseChanged,
    Published,
    RunEnded,
    SchemaChanged,
    Waiting,
)

SCREEN = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}


def console_on(err: TextIO, *, is_quiet: bool = False, is_verbose: bool = False, **env: str) -> Console:
    return Console(
        out=io.StringIO(), err=err, env={**SCREEN, **env}, is_quiet=is_quiet, is_verbose=is_verbose
    )


def advanced(rows: int, size: int = 0, *, chunk: int = 1, pipeline: str = ORDERS) -> ChunkAdvanced:
    return ChunkAdvanced(pipeline=PipelineId(pipeline), chunk=ChunkId(chunk), rows=rows, bytes=size)


def run_ended(
    pipeline: str = ORDERS,
    status: RunStatus = RunStatus.SUCCESS,
    *,
    rows: int = 0,
    error: str | None = None,
) -> RunEnded:
    return RunEnded(
        pipeline=PipelineId(pipeline), run=RUN, status=status, rows=rows, bytes=0, seconds=4.2, error=error
    )


def given_back(*, will_retry: bool = True) -> ChunkGivenBack:
    return ChunkGivenBack(
        pipeline=ORDERS,
        chunk=ChunkId(1),
        error_kind="source.unavailable",
        message="the source answered 503",
        will_retry=will_retry,
        in_seconds=12,
    )


def lines_after(
    *events: Event | float,
    is_quiet: bool = False,
    is_verbose: bool = False,
    pipelines: Sequence[str] = (),
    **env: str,
) -> list[str]:
    """What is written without a terminal; a number lets so many seconds pass."""
    clock, err = FixedClock(T0), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    console = console_on(err, is_quiet=is_quiet, is_verbose=is_verbose, **env)
    with Board(console, clock, pipelines=[PipelineId(name) for name in pipelines]) as board:
        for event in events:
            if isinstance(event, int | float):
                clock.advance(timedelta(seconds=event))
            else:
                board(event)
    err.seek(0)
    return err.read().splitlines()


def test_without_a_terminal_there_is_a_line_at_the_start_and_at_the_end() -> None:
    written = lines_after(
        run_started(total=3, done=1), chunk_started(1), chunk_committed(1, rows=1_204), run_ended(rows=1_204)
    )

    assert written == [
        "orders: backfilling, 3 chunks, 1 done before",
        "✓ orders  1,204 rows in 1 chunk, 4.2 s",
    ]


def test_without_a_terminal_there_is_a_line_of_progress_every_ten_seconds_at_most() -> None:
    written = lines_after(
        run_started(total=312, done=47),
        chunk_started(1),
        9.9,
        advanced(5_000, 900_000),
        0.1,
        advanced(8_500, 12_400_000),
        5,
        chunk_committed(1, rows=9_000, size=13_000_000, eta_seconds=3_690),
        4.9,
        given_back(),
        0.1,
        Waiting(pipeline=ORDERS, seconds=3, why="the source's 60/min"),
        1,
        advanced(1, chunk=2),
    )

    rest = "about 1 h 01 min left, waiting 3 s for the source's 60/min, 1 retry"
    assert written[1:3] == [
        "orders: 47 of 312 chunks, 8,500 rows, 850 rows/s, 1.24MB/s",
        f"orders: 48 of 312 chunks, 9,000 rows, 450 rows/s, 650KB/s, {rest}",
    ]
    assert len(written) == 4


def test_several_pipelines_share_a_line_of_progress() -> None:
    written = lines_after(
        run_started("orders", total=3),
        run_started("items", total=5),
        chunk_started(1, "items"),
        10,
        advanced(200, pipeline="items"),
        run_ended("orders"),
        run_ended("items"),
    )

    assert written[2] == "2 pipelines: 0 of 8 chunks, 200 rows, 20 rows/s, 0B/s"


@pytest.mark.parametrize(
    ("status", "error", "lines"),
    [
        (RunStatus.SUCCESS, None, ["✓ orders  100 rows in 1 chunk, 4.2 s"]),
        (
            RunStatus.FAILED,
            "the token is expired",
            ["✗ orders  failed after 100 rows in 1 chunk, 4.2 s", "  the token is expired"],
        ),
        (RunStatus.PARTIAL, "chunk 2 failed", ["! orders  100 rows in 1 chunk, 4.2 s", "  chunk 2 failed"]),
        (RunStatus.SKIPPED, "another node holds it", ["– orders  skipped", "  another node holds it"]),
    ],
)
def test_the_last_line_says_how_it_ended(status: RunStatus, error: str | None, lines: list[str]) -> None:
    written = lines_after(
        run_started(), chunk_started(1), chunk_committed(1), run_ended(status=status, rows=100, error=error)
    )

    assert written[1:] == lines


def test_a_run_that_found_nothing_says_so() -> None:
    assert lines_after(run_started(total=0), run_ended())[-1] == "✓ orders  nothing new, 4.2 s"


def test_a_run_that_was_interrupted_does_not_say_that_there_was_nothing_new() -> None:
    written = lines_after(run_started(), run_ended(status=RunStatus.PARTIAL))

    assert written[-1] == "! orders  nothing committed, 4.2 s"


def test_chunks_of_earlier_runs_are_counted_only_while_some_are_left() -> None:
    assert lines_after(run_started(total=3, done=3))[0] == "orders: backfilling"


def test_a_pipeline_that_came_further_says_so_and_retries_are_not_hidden() -> None:
    written = lines_after(
        run_started(),
        chunk_started(1),
        given_back(),
        chunk_committed(1),
        PhaseChanged(pipeline=ORDERS, before=Phase.BACKFILLING, after=Phase.STREAMING),
        run_ended(rows=100),
    )

    assert written[-1] == "✓ orders  100 rows in 1 chunk, 4.2 s, 1 retry, now streaming"


def test_names_that_are_known_before_stand_in_a_column() -> None:
    written = lines_after(run_started("a"), run_ended("a"), pipelines=["a", "orders", "z" * 50])

    assert written[-1] == f"✓ a{' ' * 27}  nothing new, 4.2 s"


def test_changes_of_a_schema_are_said_at_once() -> None:
    changes = ("column `size` added, int64", "column `note` dropped")
    changed = SchemaChanged(pipeline=ORDERS, table=TableName("items"), changes=changes)

    assert lines_after(run_started(), changed, run_ended())[1:3] == [
        "~ orders  items: column `size` added, int64",
        "~ orders  items: column `note` dropped",
    ]


def test_what_was_running_when_the_board_closes_was_stopped() -> None:
    written = lines_after(
        run_started("orders"), run_started("items"), chunk_started(1), chunk_committed(1, rows=1_204)
    )

    assert written[2:] == [
        "! orders  stopped; 1,204 rows in 1 chunk committed",
        "! items  stopped; nothing committed",
    ]


def test_verbose_tells_why_chunks_are_tried_again_and_what_was_published() -> None:
    written = lines_after(
        run_started(),
        chunk_started(1),
        given_back(),
        given_back(will_retry=False),
        Published(tables=(TableName("orders"), TableName("items"))),
        run_ended(status=RunStatus.FAILED),
        is_verbose=True,
    )

    assert written[1:4] == [
        "orders: chunk 1 again in 12 s: the source answered 503",
        "orders: chunk 1 given up: the source answered 503",
        "views written for 2 tables",
    ]


def test_with_quiet_there_is_nothing() -> None:
    assert lines_after(run_started(), run_ended(), is_quiet=True) == []


def test_events_of_a_pipeline_that_does_not_run_here_change_nothing() -> None:
    assert lines_after(chunk_started(1), advanced(5), 20, given_back(), chunk_committed(1)) == []


def test_a_stream_without_unicode_gets_plain_signs() -> None:
    err = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
    with Board(console_on(err), FixedClock(T0)) as board:
        board(run_started(total=0))
        board(run_ended())
        board(run_started(total=0))
        board(run_ended(status=RunStatus.SKIPPED))
    err.seek(0)

    assert err.read().splitlines()[1::2] == ["+ orders  nothing new, 4.2 s", "- orders  skipped"]


def test_spark_that_starts_is_announced_once() -> None:
    err = io.StringIO()
    with Board(console_on(err), FixedClock(T0)) as board:
        board.starting()
        board.ready(None, was_started=True)

    assert err.getvalue() == "starting Spark …\n"


def test_on_a_terminal_the_board_moves_and_only_what_ended_stays() -> None:
    clock = FixedClock(T0)
    with terminal() as screen:
        with Board(console_on(screen.stream), clock) as board:
            board.starting()
            screen.wait_for("starting Spark … 0 s")
            board.ready(None, was_started=True)
            board(run_started(total=8, done=2))
            board(chunk_started(3))
            board(advanced(1_500, chunk=3))
            shown = screen.wait_for("1,500 rows, 0 s")
            assert "orders  ━━━━━━━╸──────────────────────  2/8    1,500 rows\r\n" in shown
            board(chunk_committed(3, rows=2_000))
            board(run_ended(rows=2_000))
        screen.stream.write("<end>")
        screen.stream.flush()
        last = screen.wait_for("<end>").split("1,500 rows, 0 s")[-1]

    assert "✓ orders  2,000 rows in 1 chunk, 4.2 s" in last
    assert last.rstrip().endswith("<end>")
    assert "backfilling" not in screen.shown
    assert screen.shown.count("\x1b[?25l") == screen.shown.count("\x1b[?25h") == 1  # the cursor is back


def test_a_long_error_is_folded_between_words_on_a_terminal() -> None:
    with terminal() as screen:
        with Board(console_on(screen.stream, COLUMNS="40"), FixedClock(T0)) as board:
            board(run_started(total=0))
            board(run_ended(status=RunStatus.FAILED, error="the source answered 401: the token is expired"))
        screen.stream.write("<end>")
        screen.stream.flush()
        shown = screen.wait_for("<end>")

    words = [line.strip("\r") for line in shown.split("\n")]
    assert words[:3] == ["✗ orders  failed, 4.2 s", "  the source answered 401: the token is", "  expired"]


@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {"CI": "true"}])
def test_a_dumb_terminal_and_ci_get_lines_without_control_signs(env: dict[str, str]) -> None:
    with terminal() as screen:
        with Board(console_on(screen.stream, **env), FixedClock(T0)) as board:
            board(run_started(total=1))
            board(run_ended())
        screen.wait_for("4.2 s")

    assert screen.shown == "orders: backfilling, 1 chunk\r\n✓ orders  nothing new, 4.2 s\r\n"


def test_events_may_come_from_many_threads() -> None:
    clock, err = FixedClock(T0), io.StringIO()
    names = [f"p{number}" for number in range(8)]

    def work(name: str) -> None:
        run = RunId(name)
        board(run_started(name, run=run, total=50))
        for chunk in range(50):
            board(chunk_started(chunk, name, run=run))
            board(advanced(10, chunk=chunk, pipeline=name))
            board.lines(width=80, height=24)
            board(chunk_committed(chunk, name, run=run, rows=10))
        board(ChunksPlanned(pipeline=PipelineId(name), table=TableName("t"), count=1))
        board(run_ended(name, rows=500))

    with Board(console_on(err), clock) as board, ThreadPoolExecutor(8) as threads:
        list(threads.map(work, names))

    ended = [line for line in err.getvalue().splitlines() if "500 rows in 50 chunks" in line]
    assert len(ended) == 8
