"""When a pipeline's turn has come, and how much of its history one turn may dispatch."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

from hakiri.catalog.contract.pipelines import Phase
from hakiri.core.grammar import Duration, Every, OutOfCalendar, Schedule, next_after

DEFAULT_SLA = timedelta(minutes=15)


def is_due(schedule: Schedule | None, last_run_started: datetime | None, now: datetime, zone: tzinfo) -> bool:
    """Whether the schedule has fired since the last run began; what never ran is due at once.

    Cron lines are read in `zone`. Fires that were missed are one. Without a schedule nothing is due.
    """
    if last_run_started is None:
        return schedule is not None
    due = next_due(schedule, last_run_started, zone)
    return due is not None and due <= now


def next_due(schedule: Schedule | None, last_run_started: datetime, zone: tzinfo) -> datetime | None:
    """When the schedule fires for the first time after a run began; None if never."""
    if schedule is None:
        return None
    try:
        return next_after(schedule, last_run_started.astimezone(zone))
    except OutOfCalendar:
        return None


def may_dispatch(
    phase: Phase, *, running: int, pending: int, max_chunks_per_tick: int | None, capacity: int | None = None
) -> int:
    """How many chunks a tick may dispatch, into capacity that is free; a limit a tick is one on the history.

    `capacity` is how many chunks may run at once: the lower of the pipeline's parallelism and what the worker
    has left for it; None is no limit.
    """
    if phase is Phase.PLANNING:
        return 0
    limits = [pending]
    if capacity is not None:
        limits.append(capacity - running)
    if phase is Phase.BACKFILLING and max_chunks_per_tick is not None:
        limits.append(max_chunks_per_tick)
    return max(0, min(limits))


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
