"""An error as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hakiri.core.errors import HakiriError, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlace:
    """A spot in a file of the project; `line` counts from 1."""

    file: str
    line: int | None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


def file_place(place: Place) -> FilePlace:
    """A place as reports carry it."""
    return FilePlace(file=place.file, line=place.line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One of several things that are wrong at once."""

    code: str
    message: str
    field: str
    places: tuple[FilePlace, ...]
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What went wrong, where, and what to do next."""

    code: str
    message: str
    places: tuple[FilePlace, ...]
    hint: str
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """Printed instead of a command's own report when the command fails and JSON was asked for."""

    error: Failure


def error_report(error: HakiriError) -> ErrorReport:
    """The error as data; an error that stands for several problems lists each."""
    return ErrorReport(
        error=Failure(
            code=error.code,
            message=str(error),
            places=_places(error.places),
            hint=error.hint,
            problems=tuple(_problem(problem) for problem in getattr(error, "problems", ())),
        )
    )


def _problem(problem: Any) -> Problem:
    """Settings collect errors, manifests collect problems; both say the same things."""
    from hakiri.core.errors import HakiriError

    if isinstance(problem, HakiriError):
        return Problem(
            code=problem.code,
            message=str(problem),
            field=getattr(problem, "key", ""),
            places=_places(problem.places),
            hint=problem.hint,
        )
    return Problem(
        code=str(problem.code),
        message=problem.message,
        field=problem.path,
        places=_places((problem.place, *problem.others)),
        hint=problem.hint,
    )


def _places(places: tuple[Place, ...]) -> tuple[FilePlace, ...]:
    return tuple(file_place(place) for place in places)
