"""Timing whole processes, and showing figures beside their goals."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_NAME_WIDTH = 76


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One figure, and the goal that it has to stay within, if there is one."""

    name: str
    value: float
    unit: str
    goal: float | None = None

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        return "reached" if self.value <= self.goal else "MISSED"


def environment(**changes: str) -> dict[str, str]:
    """This environment, with compiled Python files allowed, as on a user's machine."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | changes


def seconds_of(command: Sequence[str], env: Mapping[str, str]) -> float:
    """The wall time of a whole process that must succeed."""
    began = time.perf_counter()
    done = subprocess.run(command, env=dict(env), capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        raise SystemExit(f"failed: {' '.join(command)}")
    return seconds


def medians_in_turn(rounds: int, *measures: Callable[[], float]) -> list[float]:
    """The median of each, measured in turn, so that a noisy minute falls on all alike."""
    taken = [[measure() for measure in measures] for _ in range(rounds)]
    return [statistics.median(times) for times in zip(*taken, strict=True)]


def show_head() -> None:
    print(f"{'measured':<{_NAME_WIDTH}}  {'value':>10}  {'goal':>8}", flush=True)


def show(each: Measured) -> None:
    """A line of its own as soon as it is known: the next figure may be minutes away."""
    goal = "" if each.goal is None else f"≤ {each.goal:g}"
    line = f"{each.name:<{_NAME_WIDTH}}  {each.value:>7.3f} {each.unit:<2}  {goal:>8}  {each.verdict}"
    print(line.rstrip(), flush=True)
