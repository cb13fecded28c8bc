"""Every command explains itself, and what it says is true."""

from __future__ import annotations

import io
import shlex
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from hakiri.cli.app import App
from hakiri.cli.commands import COMMANDS, root_command
from hakiri.cli.console import Console
from hakiri.cli.options import global_options
from hakiri.cli.reports import REPORTS
from hakiri.core.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = root_command()


def walk(command: Any, words: tuple[str, ...] = ("hakiri",)) -> Iterator[tuple[str, Any]]:
    yield " ".join(words), command
    names = COMMANDS if command is ROOT else getattr(command, "commands", {})
    for name in names:
        yield from walk(command.get_command(None, name), (*words, name))


TREE = dict(walk(ROOT))
EXAMPLES = [
    line.strip()
    for command in TREE.values()
    for line in (command.epilog or "").partition("Examples:\n")[2].replace("\\\n", "").splitlines()
]


def parse(line: str) -> None:
    """Parse an example down to its last command, without running it."""
    streams = Console(out=io.StringIO(), err=io.StringIO(), env={})
    folder = Path("/nowhere")
    app = App(
        project_dir=folder,
        cwd=folder,
        env={},
        flags=MappingProxyType({}),
        console=streams,
        stdin=io.StringIO(),
        clock=SystemClock(),
    )
    program, *args = shlex.split(line)
    assert program == "hakiri"
    context = ROOT.make_context("hakiri", args, obj=app)
    while rest := [*context._protected_args, *context.args]:
        name, command, args = context.command.resolve_command(context, rest)
        context = command.make_context(name, args, parent=context)
        if not hasattr(command, "commands"):
            break


@pytest.mark.parametrize("words", TREE)
def test_every_command_has_a_help_text_and_an_example(words: str) -> None:
    command = TREE[words]

    assert command.help
    assert f"\n  {words}" in command.epilog


@pytest.mark.parametrize("line", EXAMPLES)
def test_every_example_parses(line: str) -> None:
    parse(line)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_line_of_a_command_is_the_first_of_its_help(name: str) -> None:
    assert TREE[f"hakiri {name}"].help.partition("\n")[0] == COMMANDS[name].summary


@pytest.mark.parametrize("words", TREE)
def test_no_command_redefines_a_global_option(words: str) -> None:
    taken = {name for option in global_options() for name in option.opts}
    own = {name for param in TREE[words].params for name in param.opts}

    assert not taken & own


def test_every_command_with_json_has_a_report_with_a_schema() -> None:
    reporting = {
        "-".join(words.split()[1:])
        for words, command in TREE.items()
        if any("--json" in param.opts for param in command.params)
    }

    assert reporting == REPORTS.keys() - {"error"}


@pytest.mark.parametrize("words", TREE)
def test_help_has_no_line_that_a_terminal_of_80_columns_breaks(words: str) -> None:
    command = TREE[words]
    context = command.context_class(command, info_name=words)

    body = command.get_help(context).partition("Examples:")[0]

    assert max(map(len, body.splitlines())) <= 80
