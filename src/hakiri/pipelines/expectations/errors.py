"""What can be wrong with an expectation, and what is said when rows are not as expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hakiri.core.errors import ExitCode, HakiriError, Place


class NotCheckable(HakiriError):
    """An expectation that cannot be checked; for whoever knows of which table it is and where it stands."""

    code = "pipelines.not_checkable"
    exit_code = ExitCode.USAGE

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(problem, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One expectation that cannot be checked: which, why, what to do, and where it is written."""

    name: str
    problem: str
    hint: str
    place: Place | None = None


class BadExpectations(HakiriError):
    """Expectations of a table that cannot be checked; all of them at once."""

    code = "pipelines.bad_expectation"
    exit_code = ExitCode.USAGE

    def __init__(self, table: str, troubles: Sequence[Trouble]) -> None:
        self.table, self.troubles = table, tuple(troubles)
        said = "; ".join(f"`{trouble.name}`: {trouble.problem}" for trouble in self.troubles)
        what = "an expectation" if len(self.troubles) == 1 else f"{len(self.troubles)} expectations"
        super().__init__(
            f"{what} of table `{table}` cannot be checked: {said}",
            places=[trouble.place for trouble in self.troubles if trouble.place is not None],
            hint="; ".join(dict.fromkeys(trouble.hint for trouble in self.troubles)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """An expectation that rows broke, and how many did."""

    name: str
    expected: str
    rows: int

    def __str__(self) -> str:
        rows = "1 row" if self.rows == 1 else f"{self.rows} rows"
        return f"`{self.name}` in {rows} (expected {self.expected})"


class ExpectationFailed(HakiriError):
    """Rows of a chunk break an expectation that says `fail`. Nothing of the chunk is stored."""

    code = "pipelines.expectation_failed"
    exit_code = ExitCode.FAILED

    def __init__(self, table: str, broken: Sequence[Broken]) -> None:
        self.table = table
        self.counts = {each.name: each.rows for each in broken}
        super().__init__(
            f"table `{table}` is not as expected: {', '.join(map(str, broken))}",
            hint="correct the source, a transform or the expectation; with "
            '`on_fail = "quarantine"` such rows are set aside and the others stored',
        )
