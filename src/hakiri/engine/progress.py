"""How far a Spark operation is, from what its server reports. Pure: no clock, no screen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol


class ReportedStage(Protocol):
    """The shape Spark's progress handler gives for a stage."""

    stage_id: int
    num_tasks: int
    num_completed_tasks: int
    num_bytes_read: int
    done: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """One look at one operation."""

    operation: str
    elapsed_seconds: float
    stages_done: int
    stages_total: int
    tasks_done: int
    tasks_total: int
    tasks_running: int
    bytes_read: int
    bytes_per_second: float
    eta_seconds: float | None
    is_done: bool

    @property
    def fraction(self) -> float:
        return self.tasks_done / self.tasks_total if self.tasks_total else 0.0


@dataclass(slots=True)
class ProgressTracker:
    """Turns the reports of all operations of a session into looks with rates and estimates."""

    _began: dict[str, float] = field(default_factory=dict)

    def look(
        self,
        *,
        operation: str,
        stages: Iterable[ReportedStage],
        running: int,
        is_done: bool,
        now: float,
    ) -> JobProgress:
        began = self._began.setdefault(operation, now)
        reported = list(stages)
        elapsed = now - began
        tasks_done = sum(stage.num_completed_tasks for stage in reported)
        tasks_total = sum(stage.num_tasks for stage in reported)
        bytes_read = sum(stage.num_bytes_read for stage in reported)
        look = JobProgress(
            operation=operation,
            elapsed_seconds=elapsed,
            stages_done=sum(stage.done for stage in reported),
            stages_total=len(reported),
            tasks_done=tasks_done,
            tasks_total=tasks_total,
            tasks_running=running,
            bytes_read=bytes_read,
            bytes_per_second=bytes_read / elapsed if elapsed > 0 else 0.0,
            eta_seconds=_eta(elapsed, tasks_done, tasks_total, running),
            is_done=is_done,
        )
        if is_done:
            del self._began[operation]
        return look


def _eta(elapsed: float, done: int, total: int, running: int) -> float | None:
    """What is left at the pace so far. Tasks under way count as half done: with few large tasks an
    estimate from finished ones alone says nothing for a long time, and then jumps."""
    credit = min(done + running / 2, total) if done else done
    return elapsed * (total - credit) / credit if credit and total else None
