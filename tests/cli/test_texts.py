"""Texts and flags reach commands as they were typed, and cost no library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pytest
import typer

from hakiri.cli.frame import command_door
from hakiri.cli.texts import spared

if TYPE_CHECKING:
    from conftest import Run

door = command_door()


@door.command("try")
def take(
    *,
    text: Annotated[str, typer.Argument()],
    many: Annotated[list[str] | None, typer.Option("--many")] = None,
    flag: Annotated[bool, typer.Option("--flag")] = False,
    number: Annotated[int, typer.Option("--number", min=1)] = 1,
    spoken: Annotated[bool, typer.Option("--spoken", envvar="SPOKEN")] = False,
) -> None:
    """Only the parameters matter."""


def parsed(*args: str) -> dict[str, Any]:
    command = typer.main.get_command(door)
    context: Any = command.make_context("try", list(args))
    return {name: context.params[name] for name in ("text", "many", "flag", "number", "spoken")}


def test_texts_lists_and_flags_are_what_was_typed() -> None:
    assert parsed(" 7 ", "--many", "a", "--many", "1", "--flag") == {
        "text": " 7 ",
        "many": ["a", "1"],
        "flag": True,
        "number": 1,
        "spoken": False,
    }


def test_numbers_are_still_converted_and_checked() -> None:
    assert parsed("x", "--number", "7")["number"] == 7
    with pytest.raises(typer.TyperException, match="greater than or equal to 1"):
        parsed("x", "--number", "0")


def test_a_flag_out_of_the_environment_is_still_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPOKEN", "no")

    assert parsed("x")["spoken"] is False


def test_what_is_no_parameter_of_typer_is_left_alone() -> None:
    other = object()

    assert spared([other]) == [other]


def test_a_command_that_takes_texts_does_not_load_pydantic(run: Run, tmp_path: Path) -> None:
    run("init", "--name", "shop")
    code = (
        "import sys; from hakiri.cli import main\n"
        "assert main(['-C', '.', 'config', '--set', 'engine.master=local[1]', '--help']) == 0\n"
        "assert main(['query', '-q', 'SELECT 1 AS a']) == 0\n"
        "assert 'pydantic' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True)
