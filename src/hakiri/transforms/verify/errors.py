"""What is said of a plan that may not run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hakiri.core.errors import ExitCode, HakiriError

MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing that a plan may not hold: where it stands, what is wrong with it, what to write instead."""

    path: str
    problem: str
    hint: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class PlanRefused(HakiriError):
    """A plan holds something outside the allow list. Nothing of it has been sent anywhere."""

    code = "transforms.refused"
    exit_code = ExitCode.USAGE

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        self.refusals = tuple(refusals)
        shown = [str(refusal) for refusal in self.refusals[:MOST_SHOWN]]
        unshown = len(self.refusals) - len(shown)
        said = "; ".join(shown) + (f"; and {unshown} more" if unshown else "")
        super().__init__(f"the plan of the transform is refused: {said}", hint=self.refusals[0].hint)
