"""What a command does not need is not loaded: importing Spark alone takes longer than most commands."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.store.workshop import open_workshop

from hakiri.cli.commands import COMMANDS, root_command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAVY = frozenset(
    {"duckdb", "grpc", "hakiri.catalog", "numpy", "pandas", "psycopg", "pyarrow", "pyspark", "sqlite3"}
)
ROOT_COMMAND = root_command()
# Prints to stderr, since help goes to stdout.
PROBE = "import sys; print(*sys.modules, file=sys.stderr)"


def command_lines(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    names = COMMANDS if command is ROOT_COMMAND else getattr(command, "commands", {})
    for name in names:
        yield from command_lines(command.get_command(None, name), (*words, name))


def loaded_by(code: str, folder: Path) -> set[str]:
    """The modules that are loaded once a fresh Python has run the code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{PROBE}"], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


COMMAND_LINES = list(command_lines(ROOT_COMMAND))


def test_importing_the_package_loads_nothing_heavy(tmp_path: Path) -> None:
    loaded = loaded_by("import hakiri", tmp_path)

    assert "hakiri" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize("words", COMMAND_LINES, ids=lambda words: " ".join(words) or "hakiri")
def test_the_help_of_every_command_loads_nothing_heavy(words: tuple[str, ...], tmp_path: Path) -> None:
    code = f"from hakiri.cli import main; assert main({[*words, '--help']!r}) == 0"

    loaded = loaded_by(code, tmp_path)

    assert "typer" in loaded
    assert not loaded & HEAVY


def test_state_in_a_file_needs_neither_postgres_nor_spark(tmp_path: Path) -> None:
    calls = [["init", "--name", "shop", "--quiet"], ["catalog", "migrate"], ["catalog", "check", "--quiet"]]
    code = f"from hakiri.cli import main; assert [main(call) for call in {calls!r}] == [0, 0, 0]"

    loaded = loaded_by(code, tmp_path)

    assert loaded & HEAVY == {"hakiri.catalog", "sqlite3"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project with a table in its store."""
    (tmp_path / "hakiri.toml").write_text('[project]\nname = "shop"\n')
    with open_workshop(tmp_path / ".hakiri" / "context" / "shop") as workshop:
        workshop.land([{"id": 1}], pa.schema([("id", pa.int64())]), "id")
        workshop.publish()
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "needed"),
    [("FROM orders", set()), ("FROM hakiri.tables", {"hakiri.catalog", "sqlite3"})],
)
def test_a_question_needs_duckdb_and_no_arrow(shop: Path, asked: str, needed: set[str]) -> None:
    code = f"from hakiri.cli import main; assert main(['query', '--quiet', {asked!r}]) == 0"

    loaded = loaded_by(code, shop)

    assert loaded & HEAVY == {"duckdb", *needed}


def test_a_look_at_a_source_needs_no_pandas(tmp_path: Path) -> None:
    calls = [
        ["init", "--name", "shop", "--quiet"],
        ["plan", "--quiet"],
        ["source", "sample", "orders", "--quiet"],
    ]
    code = f"from hakiri.cli import main; assert [main(call) for call in {calls!r}] == [0, 0, 0]"

    loaded = loaded_by(code, tmp_path)

    assert "pyarrow" in loaded
    assert "pandas" not in loaded
