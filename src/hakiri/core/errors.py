"""The base of every error a user can meet, and the few that belong to no room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar


class ExitCode(IntEnum):
    """What the command tells the shell. Documented; a change is a breaking one."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    CHANGES = 3
    REFUSED = 4
    INTERRUPTED = 130
    TERMINATED = 143


@dataclass(frozen=True, slots=True)
class Place:
    """A spot in a file that a person can open: `hakiri.toml:42`."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


class HakiriError(Exception):
    """Base of every error a user can meet: what is wrong, where, and what to do next."""

    code: ClassVar[str] = "internal"
    exit_code: ClassVar[ExitCode] = ExitCode.FAILED
    retryable: ClassVar[bool] = False

    def __init__(self, problem: str, *, places: Sequence[Place] = (), hint: str = "") -> None:
        super().__init__(problem)
        self.places = tuple(places)
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        # Spark workers send errors by pickle; subclasses take other arguments than `args` holds.
        return Exception.__new__, (type(self), *self.args), dict(vars(self))


class UsageError(HakiriError):
    """The command line asks for something that cannot be meant."""

    code = "usage"
    exit_code = ExitCode.USAGE


class MissingExtra(HakiriError):
    """An optional library is not installed."""

    code = "missing_extra"
    exit_code = ExitCode.USAGE

    def __init__(self, what: str, *, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs an optional part", hint=f"pip install 'hakiri[{extra}]'")
