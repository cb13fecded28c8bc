"""The shell of `hakiri query`, on a real terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.store.workshop import Workshop, open_workshop
from tests.support.terminal import CONTROL

if TYPE_CHECKING:
    from conftest import Run

HAKIRI = Path(sys.executable).parent / "hakiri"
SCHEMA = pa.schema([("id", pa.int64()), ("customer", pa.string())])
PROMPT = "shop>"
# Only of the terminal that a process calls its own does Ctrl-C reach it.
OWN_TERMINAL = (
    "import fcntl, os, sys, termios\n"
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    "os.execv(sys.argv[1], sys.argv[1:])"
)
CTRL_C, CTRL_D, TAB, ENTER = "\x03", "\x04", "\t", "\r"


@pytest.fixture
def shop(run: Run, tmp_path: Path) -> Iterator[Workshop]:
    run("init", "--name", "shop")
    with open_workshop(tmp_path / ".hakiri" / "context" / "shop") as made:
        made.land([{"id": 1, "customer": "Ada"}, {"id": 2, "customer": "Bob"}], SCHEMA, "id")
        made.publish()
        yield made


@dataclass
class Screen:
    """Somebody at a terminal: types, and reads on until something appears."""

    handle: int
    process: subprocess.Popen[bytes]
    unread: str = ""

    def type(self, text: str) -> None:
        os.write(self.handle, text.encode())

    def read_until(self, text: str) -> str:
        """What appeared up to this text, without control signs."""
        while text not in self.unread:
            ready, _, _ = select.select([self.handle], [], [], 10)
            assert ready, f"{text!r} did not appear after {self.unread!r}"
            try:
                more = os.read(self.handle, 65536).decode(errors="replace")
            except OSError as error:  # Linux says EIO when the other side is closed
                raise AssertionError(f"it ended before {text!r}: {self.unread!r}") from error
            self.unread = CONTROL.sub("", self.unread + more).replace("\r", "")
        seen, _, self.unread = self.unread.partition(text)
        return seen

    def ask(self, text: str, until: str) -> str:
        """Type a line, and read until the answer has this; then until the next prompt."""
        self.type(f"{text}{ENTER}")
        answer = self.read_until(until) + until
        return answer + self.read_until(PROMPT)

    def tell(self, text: str) -> None:
        """Type a line that has no answer, and read until the next prompt."""
        self.type(f"{text}{ENTER}")
        self.read_until(PROMPT)

    def leave(self) -> int:
        self.type(CTRL_D)
        return self.process.wait(20)


@contextmanager
def shell(folder: Path, **env: str) -> Iterator[Screen]:
    """A shell that has shown its first prompt."""
    with on_a_terminal(folder, "query", **env) as screen:
        screen.read_until(PROMPT)
        yield screen


@contextmanager
def on_a_terminal(folder: Path, *args: str, **env: str) -> Iterator[Screen]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    hidden = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"}
    kept = {k: v for k, v in os.environ.items() if k not in hidden and not k.startswith("HAKIRI_")}
    process = subprocess.Popen(
        [sys.executable, "-c", OWN_TERMINAL, HAKIRI, *args],
        cwd=folder,
        env={**kept, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", **env},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Screen(ours, process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(ours)


@pytest.mark.spec("HC-020")
def test_a_shell_answers_one_statement_after_the_other(shop: Workshop, tmp_path: Path) -> None:
    with shell(tmp_path) as screen:
        first = screen.ask("SELECT * FROM orders ORDER BY id;", " ms\n")
        second = screen.ask("SELECT count(*) AS many FROM orders;", " ms\n")
        code = screen.leave()

    assert "    id  customer\nbigint  varchar\n     1  Ada\n     2  Bob\n2 rows in " in first
    assert "  many\nbigint\n     2\n1 row in " in second
    assert code == 0


def test_a_statement_may_have_many_lines(shop: Workshop, tmp_path: Path) -> None:
    with shell(tmp_path) as screen:
        screen.type(f"SELECT max(id){ENTER}")
        screen.read_until("...>")
        answer = screen.ask("AS most FROM orders;", " ms\n")

    assert "most\nbigint\n     2\n" in answer


def test_tables_and_columns_are_completed(shop: Workshop, tmp_path: Path) -> None:
    with shell(tmp_path) as screen:
        screen.type(f"SELECT * FROM ord{TAB}")
        screen.read_until("orders")
        screen.type(f" WHERE cust{TAB}")
        screen.read_until("customer")
        answer = screen.ask(" = 'Bob';", " ms\n")

    assert "     2  Bob\n1 row in " in answer


def test_ctrl_c_stops_the_statement_and_not_the_shell(shop: Workshop, tmp_path: Path) -> None:
    with shell(tmp_path) as screen:
        screen.type(
            "SELECT count(*) FROM range(1000000) AS a, range(1000000) AS b WHERE a.range * b.range % 7 = 3;"
            + ENTER
        )
        screen.read_until(" s")  # the bar that appears after a second tells how long it takes
        screen.type(CTRL_C)
        screen.read_until("interrupted\n")
        answer = screen.ask("SELECT 7 AS still;", " ms\n")
        code = screen.leave()

    assert "    7\n" in answer
    assert code == 0


def test_ctrl_c_at_the_prompt_forgets_the_line(shop: Workshop, tmp_path: Path) -> None:
    with shell(tmp_path) as screen:
        screen.type(f"SELECT{CTRL_C}")
        screen.read_until(PROMPT)
        answer = screen.ask("SELECT 7 AS a;", " ms\n")

    assert "7\n" in answer


def test_an_error_does_not_end_the_shell(shop: Workshop, tmp_path: Path) -> None:
    with shell(tmp_path) as screen:
        wrong = screen.ask("SELECT * FROM ordres;", "did you mean `orders`?")
        unknown = screen.ask(".table", "did you mean `.tables`?")
        right = screen.ask("SELECT 7 AS a;", " ms\n")

    assert "error[store.unknown_table]: " in wrong
    assert "error[usage]: the shell has no command `.table`" in unknown
    assert "7\n" in right


def test_what_lands_meanwhile_is_seen_by_the_next_statement(shop: Workshop, tmp_path: Path) -> None:
    with shell(tmp_path) as screen:
        screen.ask("CREATE TEMP TABLE mine AS FROM orders;", " ms\n")
        shop.land([{"id": 3, "customer": "Cyd"}], SCHEMA, "id")
        shop.publish()
        answer = screen.ask(
            "SELECT (SELECT count(*) FROM orders) || ' of ' || count(*) AS seen FROM mine;", " ms\n"
        )

    assert "3 of 2\n" in answer


def test_the_commands_of_the_shell(shop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "two.sql").write_text("SELECT 1 AS a; SELECT 2 AS b;")
    with shell(tmp_path) as screen:
        tables = screen.ask(".tables", "orders\n")
        schema = screen.ask(".schema orders", "VARCHAR\n")
        two = screen.ask(".read two.sql", "2\n")
        screen.tell(".timer off")
        screen.tell(".mode json")
        as_json = screen.ask("SELECT 1 AS a;", "}\n")
        screen.tell(".mode csv")
        as_csv = screen.ask("SELECT 1 AS a, 'x' AS b;", "1,x\n")
        screen.tell(".mode table")
        screen.tell(".rows 2")
        few = screen.ask("SELECT * FROM range(5);", "… 3 more; `.rows all` shows all of them\n")
        helped = screen.ask(".help", "Ctrl-R")
        screen.type(f".quit{ENTER}")
        code = screen.process.wait(20)

    assert "orders\n" in tables
    assert "orders\n  id        BIGINT\n  customer  VARCHAR\n" in schema
    assert "a\n" in two
    assert '"rows": [{"a": 1}], "row_count": 1, "changed": null}\n' in as_json
    assert " ms\n" not in as_json
    assert "a,b\n1,x\n" in as_csv
    assert "\n     0\n     1\n" in few
    assert ".mode table|csv|json" in helped
    assert code == 0


def test_history_is_kept_in_the_project(shop: Workshop, tmp_path: Path) -> None:
    with shell(tmp_path) as screen:
        screen.ask("SELECT 41 + 1 AS a;", " ms\n")
        screen.leave()
    with shell(tmp_path) as screen:
        screen.type("\x1b[A")
        screen.read_until("SELECT 41 + 1 AS a;")
        answer = screen.ask("", " ms\n")

    assert "42\n" in answer
    assert "+SELECT 41 + 1 AS a;\n" in (tmp_path / ".hakiri" / "query_history").read_text()


def test_a_store_without_tables_is_told_at_the_start(run: Run, tmp_path: Path) -> None:
    run("init", "--name", "shop")
    with on_a_terminal(tmp_path, "query") as screen:
        greeting = screen.read_until(PROMPT)

    assert "shop: 0 tables; `.help` for help\n" in greeting
    assert "the store has no tables yet; `hakiri apply` pulls what there is\n" in greeting


def test_a_screen_gets_forty_rows_and_how_many_more_there_are(shop: Workshop, tmp_path: Path) -> None:
    with on_a_terminal(tmp_path, "query", "SELECT range AS n FROM range(12385)") as screen:
        shown = screen.read_until("for all of them\n")

    assert shown.endswith("    39\n… 12,345 more; --all, --csv or --parquet FILE ")


def test_all_rows_are_shown_on_a_screen_when_asked_for(shop: Workshop, tmp_path: Path) -> None:
    with on_a_terminal(tmp_path, "query", "--all", "SELECT range AS n FROM range(2000)") as screen:
        shown = screen.read_until("1999\n")

    assert shown.count("\n") == 2001


def test_a_table_is_as_wide_as_the_screen(shop: Workshop, tmp_path: Path) -> None:
    sql = "SELECT repeat('x', 200) AS long, " + ", ".join(f"{n} AS column_number_{n}" for n in range(12))
    with on_a_terminal(tmp_path, "query", sql) as screen:
        shown = screen.read_until("the screen has no room for them\n")

    *table, note = shown.splitlines()
    assert max(map(len, table)) <= 100
    assert note.startswith("… 6 of 13 columns are not shown (column_number_")


def test_a_long_statement_shows_how_far_it_is(shop: Workshop, tmp_path: Path) -> None:
    sql = "SELECT count(*) FROM range(300000) AS a, range(100000) AS b WHERE a.range * b.range % 7 = 3"
    with on_a_terminal(tmp_path, "query", sql) as screen:
        screen.read_until("%, ")
        screen.read_until(" left")
        screen.type(CTRL_C)
        screen.read_until("interrupted\n")
        code = screen.process.wait(20)

    assert code == 130


@pytest.mark.spec("HC-043")
def test_a_shell_of_the_past_says_so_and_stays_there(shop: Workshop, tmp_path: Path) -> None:
    shop.now += timedelta(hours=1)
    shop.land([{"id": 3, "customer": "Cid"}], SCHEMA, "id")
    shop.publish()

    with on_a_terminal(tmp_path, "query", "--at", "2026-05-11T08:30:00Z") as screen:
        greeting = screen.read_until("shop at 2026-05-11 08:30:00Z>")
        screen.type(f"SELECT count(*) AS many FROM orders;{ENTER}")
        answer = screen.read_until(" ms\n")
        screen.read_until("08:30:00Z>")
        code = screen.leave()

    assert "shop as of 2026-05-11T08:30:00Z: 1 table;" in greeting
    assert "  many\nbigint\n     2\n" in answer
    assert code == 0
