"""A store in which nothing may be written, as on a disk that is mounted read-only under another path."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pytest
from tests.store.workshop import open_workshop
from tests.support.rights import become_an_ordinary_user, let_read_only, let_write
from tests.support.victims import in_child

import hakiri
from hakiri.cli import main

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
QUESTIONS = (
    ("SELECT name FROM orders",),
    ("SELECT table_name, rows FROM hakiri.tables",),
    ("SELECT name FROM orders", "--at", "2026-05-12T00:00:00Z"),
)
DONE, FAILED = (0, ""), (1, "")
REFUSED = (1, "error[store.not_writable]")
# With what each ends: views that were written for another folder are out of step, wherever the store is.
COMMANDS = {
    ("status",): DONE,
    ("catalog", "check"): DONE,
    ("catalog", "status"): DONE,
    ("context", "gc", "--dry-run"): DONE,
    ("context", "check", "--quick"): FAILED,
    ("schema", "regen-view", "--check"): FAILED,
    ("context", "check", "--repair"): REFUSED,
    ("schema", "regen-view"): REFUSED,
    ("context", "compact"): REFUSED,
}


def said(project: Path, *words: str) -> tuple[int, str, str]:
    out, told = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(told):
        code = main(["-C", str(project), "--quiet", *words])
    return code, out.getvalue(), told.getvalue().partition(":")[0]


def rows_seen(project: Path) -> list[object]:
    with hakiri.open_store(project) as store:
        by_program = store.sql("SELECT name FROM orders").fetchall()
    return [
        by_program,
        *(json.loads(said(project, "query", "--json", *words)[1])["rows"] for words in QUESTIONS),
    ]


def endings(project: Path) -> dict[tuple[str, ...], tuple[int, str]]:
    ended = {words: said(project, *words) for words in COMMANDS}
    return {words: (code, error) for words, (code, _, error) in ended.items()}


def seen_without_rights(
    project: Path, other: Path
) -> tuple[list[object], dict[tuple[str, ...], tuple[int, str]]]:
    # The way to the code may be closed to that user, so what is loaded late is loaded now.
    rows_seen(other), endings(other)
    become_an_ordinary_user()
    return rows_seen(project), endings(project)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody comes to."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def project(folder: Path) -> Path:
    """A project with a store, not where the views say that it is."""
    made = folder / "made"
    made.mkdir()
    (made / "hakiri.toml").write_text('[project]\nname = "shop"\n')
    with open_workshop(made / ".hakiri" / "context" / "shop") as workshop:
        workshop.land([{"id": 1, "name": "a"}], SCHEMA, "id")
        workshop.publish()
    return made.rename(folder / "moved")


@pytest.fixture
def other(project: Path) -> Path:
    """A copy with all rights."""
    return shutil.copytree(project, project.with_name("other"))


@pytest.fixture
def sealed(project: Path, other: Path) -> Iterator[Path]:
    """The project after the rights to write were taken away."""
    folders = [project, *(path for path in project.rglob("*") if path.is_dir())]
    for folder in folders:
        let_read_only(folder)
    yield project
    for folder in folders:
        let_write(folder)


def test_a_store_in_which_nothing_may_be_written_is_read_and_says_so_where_it_must_be(
    sealed: Path, other: Path
) -> None:
    rows, ended = in_child(seen_without_rights, sealed, other)

    orders = [{"name": "a"}]
    assert rows == [[("a",)], orders, [{"table_name": "orders", "rows": 1}], orders]
    assert ended == COMMANDS
