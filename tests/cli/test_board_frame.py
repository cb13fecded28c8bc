"""The board as it looks at a moment, line by line, on wide and narrow screens."""

from __future__ import annotations

import io
from datetime import timedelta
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console as RichConsole
from tests.support.tracing import ORDERS, T0, chunk_committed, chunk_started, run_started

from hakiri.catalog.contract.runs import RunStatus
from hakiri.cli.board import Board
from hakiri.cli.board.parts import text_of
from hakiri.cli.console import Console
from hakiri.core.clock import FixedClock
from hakiri.core.ids import ChunkId, PipelineId, RunId
from hakiri.pipelines.events import ChunkAdvanced, ChunkGivenBack, Event, RunEnded, Waiting

ISSUES = "github-issues-historical"


class Screen:
    """A board that is not drawn, only looked at."""

    def __init__(self, *pipelines: str, encoding: str = "utf-8") -> None:
        self.clock = FixedClock(T0)
        err = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        console = Console(out=io.StringIO(), err=err, env={}, is_quiet=True)
        self.board = Board(console, self.clock, pipelines=[PipelineId(name) for name in pipelines])

    def show(self, *events: Event | float) -> Screen:
        for event in events:
            if isinstance(event, int | float):
                self.clock.advance(timedelta(seconds=event))
            else:
                self.board(event)
        return self

    def at(self, width: int, height: int = 24) -> list[str]:
        return [text_of(line) for line in self.board.lines(width=width, height=height)]


def advanced(chunk: int, rows: int, size: int, pipeline: str = ORDERS) -> ChunkAdvanced:
    return ChunkAdvanced(pipeline=PipelineId(pipeline), chunk=ChunkId(chunk), rows=rows, bytes=size)


def waiting(seconds: float, *, chunk: int | None = None, pipeline: str = ORDERS) -> Waiting:
    return Waiting(
        pipeline=PipelineId(pipeline),
        chunk=None if chunk is None else ChunkId(chunk),
        seconds=seconds,
        why="the source's 60/min",
    )


def given_back(chunk: int, *, will_retry: bool = True, pipeline: str = ORDERS) -> ChunkGivenBack:
    return ChunkGivenBack(
        pipeline=PipelineId(pipeline),
        chunk=ChunkId(chunk),
        error_kind="source.unavailable",
        message="the source answered 503",
        will_retry=will_retry,
        in_seconds=12,
    )


def run_ended(pipeline: str) -> RunEnded:
    return RunEnded(
        pipeline=PipelineId(pipeline),
        run=RunId("r"),
        status=RunStatus.SUCCESS,
        rows=1_000,
        bytes=0,
        seconds=1,
    )


def one_backfill() -> Screen:
    return Screen(ISSUES).show(
        run_started(ISSUES, total=312, done=46),
        *(chunk_started(chunk, ISSUES) for chunk in (47, 48, 49, 50)),
        20,
        advanced(48, 8_000, 12_400_000, ISSUES),
        chunk_committed(47, ISSUES, rows=9_000, size=12_400_000, eta_seconds=3_690),
        chunk_started(51, ISSUES, attempt=2),
        waiting(3.4, chunk=49, pipeline=ISSUES),
    )


def three_pipelines() -> Screen:
    return one_backfill().show(
        run_started("orders", total=40, done=3),
        chunk_started(4),
        run_started("items", total=1),
        chunk_started(1, "items"),
        given_back(4),
        waiting(5, pipeline="items"),
        run_started("done-already"),
        run_ended("done-already"),
    )


def test_a_backfill_on_80_columns() -> None:
    assert one_backfill().at(80) == [
        "github-iss…istorical  ━━╸────────────────  47/312   17,000 rows  1 h 01 min left",
        "  #48  id in [48000, 49000)  8,000 rows, 20 s",
        "  #49  id in [49000, 50000)  waiting 4 s for the source's 60/min",
        "  #50  id in [50000, 51000)  20 s",
        "  #51  id in [51000, 52000)  0 s, attempt 2",
        "20 s, 850 rows/s, 1.24MB/s",
    ]


def test_a_backfill_on_40_columns() -> None:
    assert one_backfill().at(40) == [
        "github…rical  47/312  1 h 01 min left",
        "  #48  id in [48…0, 49000)  8,000 rows",
        "  #49  waiting 4 s for the source's 60/…",
        "  #50  id in [50…0, 51000)  20 s",
        "  #51  id in [51…0, 52000)  0 s",
        "20 s, 850 rows/s, 1.24MB/s",
    ]


def test_three_pipelines_on_140_columns() -> None:
    assert "\n".join(three_pipelines().at(140)) == dedent("""\
        github-issues-historical  ━━━━╸─────────────────────────  47/312   17,000 rows    850 rows/s  1.24MB/s  1 h 01 min left
        orders                    ━━────────────────────────────    3/40        0 rows      0 rows/s      0B/s                   1 retry
        items                     ──────────────────────────────     0/1        0 rows      0 rows/s      0B/s
          github-issues-historical #48  id in [48000, 49000)  8,000 rows, 20 s
          github-issues-historical #49  id in [49000, 50000)  waiting 4 s for the source's 60/min
          github-issues-historical #50  id in [50000, 51000)  20 s
          github-issues-historical #51  id in [51000, 52000)  0 s, attempt 2
          orders #4                     id in [4000, 5000)    waiting 12 s for the next try: the source answered 503
          items #1                      id in [1000, 2000)    0 s
          items                         waiting 5 s for the source's 60/min
        1 of 4 pipelines done, 18,000 rows, 20 s, 850 rows/s, 1.24MB/s""")  # noqa: E501


def test_a_screen_without_unicode_gets_letters_that_it_has() -> None:
    screen = Screen(encoding="ascii").show(run_started(total=4, done=1), chunk_started(2))

    assert screen.at(60) == [
        "orders  #######-----------------------  1/4        0 rows",
        "  #2  id in [2000, 3000)  0 s",
        "0 s, 0 rows/s, 0B/s",
    ]


def test_at_most_six_chunks_have_lines() -> None:
    screen = Screen().show(run_started(total=20), *(chunk_started(chunk) for chunk in range(1, 17)))

    _, *chunks, more, _ = screen.at(80)
    assert [line.split()[0] for line in chunks] == ["#1", "#2", "#3", "#4", "#5", "#6"]
    assert more == "  … and 10 more"


def test_a_chunk_stays_in_its_line_and_the_next_one_takes_the_line_that_is_free() -> None:
    screen = Screen().show(run_started(total=20), *(chunk_started(chunk) for chunk in (1, 2, 3)))
    assert [line[:5] for line in screen.at(80)[1:4]] == ["  #1 ", "  #2 ", "  #3 "]

    screen.show(chunk_committed(2, eta_seconds=None))
    assert [line[:5] for line in screen.at(80)[1:4]] == ["  #1 ", "", "  #3 "]

    screen.show(chunk_started(4))
    assert [line[:5] for line in screen.at(80)[1:4]] == ["  #1 ", "  #4 ", "  #3 "]

    screen.show(chunk_committed(1, eta_seconds=None))
    screen.at(80)
    assert [line[:5] for line in screen.show(1.0).at(80)[1:3]] == ["  #4 ", "  #3 "]


def test_waits_that_are_short_or_over_are_not_shown() -> None:
    screen = Screen().show(run_started(), chunk_started(1), waiting(0.9, chunk=1), waiting(0.5))
    assert not any("waiting" in line for line in screen.at(80))

    screen.show(waiting(2, chunk=1), waiting(3))
    assert [line.strip() for line in screen.at(80) if "waiting" in line] == [
        "#1      id in [1000, 2000)  waiting 2 s for the source's 60/min",
        "orders  waiting 3 s for the source's 60/min",
    ]
    assert not any("waiting" in line for line in screen.show(3.0).at(80))


def test_a_chunk_whose_next_try_is_due_is_gone_until_somebody_takes_it() -> None:
    screen = Screen().show(run_started(), chunk_started(1), advanced(1, 500, 1), given_back(1))
    assert screen.at(80)[1].endswith("waiting 12 s for the next try: the source answered 503")

    screen.show(12.0).at(80)
    assert [line[:4] for line in screen.show(1.0).at(80)] == ["orde", "13 s"]
    assert screen.show(chunk_started(1, attempt=2)).at(80)[1] == "  #1  id in [1000, 2000)  0 s, attempt 2"


def test_rows_of_an_attempt_that_failed_do_not_count() -> None:
    screen = Screen().show(run_started(), chunk_started(1), 1, advanced(1, 500, 9_000), given_back(1))

    assert "0 rows" in screen.at(80)[0]
    assert screen.at(80)[-1] == "1 s, 0 rows/s, 0B/s"


def test_the_rate_is_that_of_the_last_half_minute() -> None:
    screen = Screen().show(run_started(), chunk_started(1), 10, advanced(1, 100_000, 0))
    for step in range(1, 41):
        screen.show(1, advanced(1, 100_000 + step * 10, 0))

    assert screen.at(80)[-1] == "50 s, 10 rows/s, 0B/s"


def test_the_time_left_runs_down_between_commits_and_is_not_told_when_it_was_wrong() -> None:
    screen = Screen().show(run_started(), chunk_started(1), chunk_committed(1, eta_seconds=90))

    assert screen.at(80)[0].endswith("1 min 30 s left")
    assert screen.show(15).at(80)[0].endswith("1 min 15 s left")
    assert "left" not in screen.show(75).at(80)[0]


def test_chunks_that_somebody_else_planned_meanwhile_are_counted_too() -> None:
    screen = Screen().show(run_started(total=1), chunk_committed(1), chunk_committed(2))

    assert "2/2" in screen.at(80)[0]


def test_many_pipelines_fit_on_a_low_screen() -> None:
    names = [f"p{number:02d}" for number in range(30)]
    screen = Screen(*names).show(*(run_started(name) for name in names), chunk_started(1, "p00"))

    lines = screen.at(80, height=10)

    assert len(lines) == 9
    assert lines[-2:] == ["  … and 23 more pipelines", "0 of 30 pipelines done, 0 rows, 0 s, 0 rows/s, 0B/s"]


def test_a_pipeline_that_runs_twice_is_one_pipeline() -> None:
    screen = Screen(ORDERS).show(run_started(), run_ended(ORDERS), run_started(total=1), chunk_started(1))

    assert screen.at(80)[-1] == "0 s, 0 rows/s, 0B/s"


def test_before_and_after_all_runs_there_is_no_board() -> None:
    screen = Screen()
    assert screen.at(80) == []

    assert screen.show(run_started(), run_ended(ORDERS)).at(80) == []


@settings(max_examples=30)
@given(
    width=st.integers(30, 200),
    height=st.integers(3, 60),
    names=st.lists(st.text("abcdé-漢", min_size=1, max_size=50), min_size=1, max_size=20, unique=True),
    chunks=st.integers(0, 12),
)
def test_no_line_is_wider_and_the_board_never_higher_than_the_screen(
    width: int, height: int, names: list[str], chunks: int
) -> None:
    screen = Screen(*names)
    for name in names:
        screen.show(run_started(name, total=10_000, done=9_999), waiting(2, pipeline=name))
        screen.show(*(chunk_started(chunk, name) for chunk in range(chunks)))
        screen.show(given_back(0, pipeline=name), chunk_committed(1, name, eta_seconds=1_000_000.0))

    lines = screen.at(width, height)

    assert max(cell_len(line) for line in lines) <= width
    assert len(lines) <= max(height - 1, 3)


@pytest.mark.parametrize("width", [40, 80, 140])
def test_rich_draws_the_lines_as_they_are(width: int) -> None:
    screen, drawn = three_pipelines(), io.StringIO()

    RichConsole(file=drawn, width=width + 1, height=24, force_terminal=True, color_system=None).print(
        screen.board
    )

    assert [line.rstrip() for line in drawn.getvalue().splitlines()] == screen.at(width)
