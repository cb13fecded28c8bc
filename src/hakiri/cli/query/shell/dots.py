"""The commands of the shell itself, which begin with a dot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from hakiri.core.errors import UsageError
from hakiri.core.nearest import nearest

MODES = ("table", "csv", "json")


@dataclass(frozen=True, slots=True)
class About:
    """What a command takes, and what it does."""

    takes: str
    does: str


COMMANDS: Mapping[str, About] = MappingProxyType(
    {
        ".tables": About("", "list the tables"),
        ".schema": About("[TABLE]", "show the columns of a table, or of all"),
        ".timer": About("on|off", "show or hide how long each statement took"),
        ".mode": About("table|csv|json", "show answers in this form"),
        ".rows": About("N|all", "show at most so many rows of a table"),
        ".read": About("FILE", "run the statements of a file"),
        ".help": About("", "show this list"),
        ".quit": About("", "end; Ctrl-D does the same"),
    }
)


@dataclass(frozen=True, slots=True)
class DotCommand:
    """A command and the rest of its line."""

    name: str
    argument: str


def parse_dot(line: str) -> DotCommand:
    """The command of a line that begins with a dot. Raises UsageError."""
    word, _, rest = line.strip().rstrip(";").partition(" ")
    name = {".exit": ".quit", ".q": ".quit"}.get(word, word)
    if name not in COMMANDS:
        meant = nearest(name, COMMANDS)
        raise UsageError(
            f"the shell has no command `{word}`",
            hint=f"did you mean `{meant}`?" if meant else "`.help` lists the commands there are",
        )
    return DotCommand(name, rest.strip().strip("'\""))


def chosen(command: DotCommand, *choices: str) -> str:
    """The argument, which must be one of these. Raises UsageError."""
    if command.argument not in choices:
        raise UsageError(
            f"`{command.name}` takes {' or '.join(f'`{choice}`' for choice in choices)}",
            hint=f"write `{command.name} {choices[0]}`",
        )
    return command.argument


def most_rows(command: DotCommand) -> int | None:
    """How many rows are wanted; None for all. Raises UsageError."""
    if command.argument == "all":
        return None
    if not command.argument.isdecimal() or not int(command.argument):
        raise UsageError("`.rows` takes a number above 0, or `all`", hint="write `.rows 100`")
    return int(command.argument)


def help_lines() -> list[str]:
    """The list of commands, and the keys that are worth knowing."""
    lines = [f"{name} {about.takes}".rstrip() for name, about in COMMANDS.items()]
    widest = max(map(len, lines))
    return [
        *(f"{line:<{widest}}  {about.does}" for line, about in zip(lines, COMMANDS.values(), strict=True)),
        "",
        "A statement ends with `;` and may have many lines. Tab completes, Ctrl-C stops a statement that",
        "runs, Ctrl-R searches what was asked before.",
    ]
