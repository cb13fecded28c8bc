"""What is seen of a pipeline at one look, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hakiri.catalog import Catalog
from hakiri.catalog.contract.pipelines import Phase
from hakiri.catalog.contract.runs import RunStatus
from hakiri.core.ids import PipelineId
from hakiri.manifest import PipelineSpec
from hakiri.pipelines.chunks.due import next_due
from hakiri.pipelines.needs import Need, last_started

_LATEST_RUNS = 10
_FIRST_WAIT_SECONDS = 5.0
_LONGEST_WAIT_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A pipeline that needs a run. `is_elsewhere`: a process that lives, not this one, has one of it."""

    spec: PipelineSpec
    need: Need
    phase: Phase = Phase.PLANNING
    pending: int = 0
    is_elsewhere: bool = False
    last_started: datetime | None = None

    @property
    def limit(self) -> int | None:
        """How many chunks a tick may dispatch: only a schedule ticks, and only a history is held back."""
        is_history = self.phase is not Phase.STREAMING
        return self.spec.backfill.max_chunks_per_tick if self.spec.schedule and is_history else None

    @property
    def may_start(self) -> bool:
        """Whether a run is to be started here.

        What another process runs is left to it. Chunks that wait are shared, unless a tick may dispatch only
        so many: two processes would dispatch twice as many.
        """
        return not self.is_elsewhere or (self.pending > 0 and self.limit is None)


def look_at(catalog: Catalog, spec: PipelineSpec, need: Need, now: datetime, *, lease: timedelta) -> Look:
    """What the catalog knows of a pipeline that this process does not run."""
    pipeline = PipelineId(spec.id)
    state = catalog.pipelines.get(pipeline)
    runs = catalog.runs.latest(pipeline, limit=_LATEST_RUNS)
    is_elsewhere = False
    if any(run.status is RunStatus.RUNNING for run in runs):
        dead = {run.run for run in catalog.runs.abandoned(pipeline, now, ttl=lease)}
        is_elsewhere = any(run.status is RunStatus.RUNNING and run.run not in dead for run in runs)
    return Look(
        spec=spec,
        need=need,
        phase=state.phase if state is not None else Phase.PLANNING,
        pending=catalog.chunks.tally(pipeline).pending,
        is_elsewhere=is_elsewhere,
        last_started=last_started(runs, now),
    )


def due_at(catalog: Catalog, spec: PipelineSpec, now: datetime) -> datetime | None:
    """When the schedule of a pipeline fires next that has run before; None without a schedule."""
    if spec.schedule is None:
        return None
    began = last_started(catalog.runs.latest(PipelineId(spec.id), limit=_LATEST_RUNS), now)
    return None if began is None else next_due(spec.schedule, began, UTC)


def seconds_before_next_try(failures: int) -> float:
    """How long a pipeline that could not be run is left alone: longer each time, up to five minutes."""
    return min(_FIRST_WAIT_SECONDS * 2.0 ** (failures - 1), _LONGEST_WAIT_SECONDS)
