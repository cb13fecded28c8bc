from __future__ import annotations

from dataclasses import dataclass

import pytest

from hakiri.engine.progress import ProgressTracker


@dataclass
class Stage:
    stage_id: int = 0
    num_tasks: int = 10
    num_completed_tasks: int = 0
    num_bytes_read: int = 0
    done: bool = False


def test_tasks_bytes_and_rate_are_summed_over_the_stages() -> None:
    tracker = ProgressTracker()
    tracker.look(operation="a", stages=[], running=0, is_done=False, now=100.0)

    look = tracker.look(
        operation="a",
        stages=[
            Stage(num_completed_tasks=10, num_bytes_read=3_000, done=True),
            Stage(num_completed_tasks=5, num_bytes_read=1_000),
        ],
        running=2,
        is_done=False,
        now=104.0,
    )

    assert (look.stages_done, look.stages_total) == (1, 2)
    assert (look.tasks_done, look.tasks_total, look.tasks_running) == (15, 20, 2)
    assert (look.bytes_read, look.bytes_per_second) == (4_000, 1_000.0)
    assert look.fraction == 0.75
    assert look.eta_seconds == pytest.approx(4.0 * 4 / 16)


def test_there_is_no_estimate_before_anything_is_done() -> None:
    look = ProgressTracker().look(operation="a", stages=[Stage()], running=2, is_done=False, now=9.0)

    assert look.eta_seconds is None
    assert look.fraction == 0.0


def test_operations_are_timed_apart_and_forgotten_when_done() -> None:
    tracker = ProgressTracker()
    tracker.look(operation="a", stages=[], running=0, is_done=False, now=0.0)
    tracker.look(operation="b", stages=[], running=0, is_done=False, now=5.0)

    done = tracker.look(operation="a", stages=[], running=0, is_done=True, now=8.0)
    other = tracker.look(operation="b", stages=[], running=0, is_done=False, now=8.0)
    again = tracker.look(operation="a", stages=[], running=0, is_done=False, now=9.0)

    assert (done.elapsed_seconds, other.elapsed_seconds, again.elapsed_seconds) == (8.0, 3.0, 0.0)
