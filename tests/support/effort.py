"""What a command costs, on a machine where other programs run too."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """`cpu_seconds` are the same however busy the machine is; `seconds` also tell of a wait."""

    cpu_seconds: float
    seconds: float


def effort_of(run: Callable[[], object]) -> Effort:
    """What the processes took that `run` starts and waits for."""
    began, before = time.perf_counter(), _cpu_seconds()
    run()
    return Effort(cpu_seconds=_cpu_seconds() - before, seconds=time.perf_counter() - began)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
