"""When a pipeline's turn has come, and how much of its history one turn may dispatch."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from enum import StrEnum

from hakiri.catalog.contract.pipelines import Phase
from hakiri.core.grammar import Duration, Every, OutOfCalendar, Schedule, next_after

DEFAULT_SLA = timedelta(minutes=15)


class Tick(StrEnum):
    """What a tick of the scheduler does to one pipeline."""

    START = "start a run"
    EXTEND = "dispatch more chunks of the run that is under way"
    NOTHING = "nothing"


def is_due(schedule: Schedule | None, last_run_started: datetime | None, now: datetime, zone: tzinfo) -> bool:
    """Whether the schedule has fired since the last run began; what never ran is due at once.

    Cron lines are read in `zone`. Fires that were missed are one. Without a schedule nothing is due.
    """
    if schedule is None:
        return False
    if last_run_started is None:
        return True
    try:
        return next_after(schedule, last_run_started.astimezone(zone)) <= now
    except OutOfCalendar:
        return False


def tick(phase: Phase, *, is_due: bool, has_run: bool, dispatchable: int) -> Tick:
    """What to do now. While one run of the pipeline is under way, no second one is ever started.

    A backfill goes on at every tick of the schedule, until its last chunk; then the schedule means runs.
    """
    if not is_due:
        return Tick.NOTHING
    if phase is Phase.BACKFILLING and has_run:
        return Tick.EXTEND if dispatchable > 0 else Tick.NOTHING
    return Tick.NOTHING if has_run else Tick.START


def may_dispatch(
    phase: Phase,
    *,
    running: int,
    pending: int,
    max_chunks_per_tick: int | None,
    dispatched: int,
    capacity: int | None = None,
) -> int:
    """How many chunks a tick may still dispatch, having dispatched some.

    `capacity` is how many chunks may run at once: the lower of the pipeline's parallelism and what the worker
    has left for it; None is no limit. The limit a tick is one on the history only.
    """
    if phase is Phase.PLANNING:
        return 0
    limits = [pending]
    if capacity is not None:
        limits.append(capacity - running)
    if phase is Phase.BACKFILLING and max_chunks_per_tick is not None:
        limits.append(max_chunks_per_tick - dispatched)
    return max(0, min(limits))


def free_slots(cap: int, running_on_worker: int) -> int:
    """How many chunks a worker can take on, whatever pipelines they are of."""
    return max(0, cap - running_on_worker)


def sla_in_force(sla: Duration | None, schedule: Schedule | None, now: datetime) -> timedelta:
    """How far behind still counts as caught up: as said, else the time between two runs, else 15 minutes."""
    if sla is not None:
        return sla.after(now) - now
    if schedule is None:
        return DEFAULT_SLA
    try:
        first = now if isinstance(schedule, Every) else next_after(schedule, now)
        return next_after(schedule, first) - first
    except OutOfCalendar:
        return DEFAULT_SLA
