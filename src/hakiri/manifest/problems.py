"""What can be wrong with a manifest: one code each, collected and raised together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from hakiri.core.errors import ExitCode, HakiriError, Place


class Code(StrEnum):
    """The short names of all problems. Documented; a change is a breaking one."""

    UNREADABLE = "manifest.unreadable"
    ENCODING = "manifest.encoding"
    EMPTY_FILE = "manifest.empty_file"
    SYNTAX = "manifest.syntax"
    TOO_DEEP = "manifest.too_deep"
    DUPLICATE_KEY = "manifest.duplicate_key"
    NUMBER = "manifest.number"
    TEXT = "manifest.text"
    UNKNOWN_KEY = "manifest.unknown_key"
    MISSING_KEY = "manifest.missing_key"
    WRONG_TYPE = "manifest.wrong_type"
    WRONG_VALUE = "manifest.wrong_value"
    OUT_OF_RANGE = "manifest.out_of_range"
    EMPTY = "manifest.empty"
    BAD_NAME = "manifest.bad_name"
    BAD_TEXT = "manifest.bad_text"
    CONFLICT = "manifest.conflict"
    DUPLICATE = "manifest.duplicate"
    DUPLICATE_PIPELINE = "manifest.duplicate_pipeline"
    ONE_PIPELINE_A_FILE = "manifest.one_pipeline_a_file"
    REDACTED_INDEX = "manifest.redacted_index"
    TABLE_DISAGREES = "manifest.table_disagrees"
    CREDENTIAL = "manifest.credential"
    NO_DEPENDENCIES = "manifest.no_dependencies"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong: where to look, what it is, and what to do about it.

    `path` is the field in that file (`pipeline[0].backfill.window`), empty when the whole file is meant.
    `others` are further places of the same problem, as a pipeline that is defined twice has them.
    """

    code: Code
    place: Place
    message: str
    path: str = ""
    hint: str = ""
    column: int | None = None
    others: tuple[Place, ...] = ()


class ManifestInvalid(HakiriError):
    """Everything that is wrong in all files of a project, not the first thing only."""

    code = "manifest.invalid"
    exit_code = ExitCode.USAGE

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        is_alone = len(self.problems) == 1
        super().__init__(
            first.message if is_alone else f"the manifest has {len(self.problems)} problems",
            places=[place for problem in self.problems for place in (problem.place, *problem.others)],
            hint=first.hint if is_alone else "",
        )


class DuplicatePipeline(ManifestInvalid):
    """One pipeline id is defined in several places, and nothing else is wrong."""

    code = "manifest.duplicate_pipeline"


def invalid(problems: Sequence[Problem]) -> ManifestInvalid:
    """The error to raise for these problems, which must not be empty."""
    if len(problems) == 1 and problems[0].code is Code.DUPLICATE_PIPELINE:
        return DuplicatePipeline(problems)
    return ManifestInvalid(problems)


def duplicate_pipeline(pipeline: str, places: Sequence[Place]) -> Problem:
    """The problem of an id that stands in two or more places."""
    return Problem(
        code=Code.DUPLICATE_PIPELINE,
        place=places[0],
        others=tuple(places[1:]),
        message=f"pipeline `{pipeline}` defined in {_counted(len(places))} places",
        hint=f"keep one source of truth; run `hakiri pipeline convert {pipeline} --to json` to migrate",
    )


def render_problems(error: ManifestInvalid) -> str:
    """The problems as plain text, one paragraph each, without a final newline."""
    return "\n\n".join(_rendered(problem) for problem in error.problems)


def _rendered(problem: Problem) -> str:
    head = f"error[{problem.code}]: {problem.message}"
    if problem.others:
        lines = [f"{head}:", *(f"  {place}" for place in (problem.place, *problem.others))]
    else:
        column = f":{problem.column}" if problem.column is not None else ""
        lines = [head, f"  --> {problem.place}{column}" + (f", {problem.path}" if problem.path else "")]
    if problem.hint:
        lines.append(f"  hint: {problem.hint}")
    return "\n".join(lines)


def _counted(number: int) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return words[number] if number < len(words) else str(number)
