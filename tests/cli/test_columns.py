"""Tables that fit the screen: what matters least gives way."""

from __future__ import annotations

import io

import pytest
from tests.support.terminal import terminal

from hakiri.cli.columns import Column, column_lines
from hakiri.cli.console import GREEN, Console

COLUMNS = [
    Column(title="chunk", cells=["1", "12"], is_number=True),
    Column(title="reads", cells=["id from 100000000 until 200000000", "id from 3 on"], comfort=20),
    Column(title="empty", cells=["", ""]),
    Column(title="rows", cells=["900", ""], is_number=True, worth=90),
    Column(title="bytes", cells=["145KB", ""], is_number=True, worth=80),
]


def lines_at(width: int, columns: list[Column] = COLUMNS) -> list[str]:
    with terminal() as screen:
        env = {"COLUMNS": str(width), "TERM": "xterm"}
        return column_lines(Console(out=screen.stream, err=io.StringIO(), env=env), columns)


def test_in_a_pipe_everything_is_there_but_columns_without_a_word() -> None:
    lines = column_lines(Console(out=io.StringIO(), err=io.StringIO(), env={}), COLUMNS)

    assert lines == [
        "chunk  reads                              rows  bytes",
        "    1  id from 100000000 until 200000000   900  145KB",
        "   12  id from 3 on",
    ]


@pytest.mark.parametrize(
    ("width", "first"),
    [
        (53, "    1  id from 100000000 until 200000000   900  145KB"),
        (50, "    1  id from 1000000…ntil 200000000   900  145KB"),
        (40, "    1  id from 10…200000000   900  145KB"),
        (36, "    1  id from 100…l 200000000   900"),
        (30, "    1  id from 100…l 200000000"),
        (20, "    1  id from …0000000"),
    ],
)
def test_a_narrower_screen_first_cuts_then_leaves_out_then_cuts_more(width: int, first: str) -> None:
    assert lines_at(width)[1] == first


def test_control_signs_in_a_cell_do_not_reach_the_screen() -> None:
    (_, line) = lines_at(80, [Column(title="name", cells=["a\x1b[2Jb\nc"])])

    assert line == "a␛[2Jb⏎c"


def test_only_the_word_itself_is_coloured() -> None:
    console = Console(out=io.StringIO(), err=io.StringIO(), out_has_colors=True, env={})
    state = Column(title="state", cells=["ok", "running"], styles={"ok": GREEN})

    lines = column_lines(console, [state, Column(title="id", cells=["a", "b"])])

    assert lines == ["\x1b[1mstate    id\x1b[0m", "\x1b[32mok\x1b[0m       a", "running  b"]
