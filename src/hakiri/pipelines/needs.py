"""What is to be done about a pipeline, from the catalog alone: nothing is asked of its source."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.catalog.contract.pipelines import Phase
from hakiri.catalog.contract.runs import ABANDONED, Run, RunStatus
from hakiri.core.ids import PipelineId
from hakiri.pipelines.applied import spec_hash
from hakiri.pipelines.chunks.due import is_due
from hakiri.pipelines.errors import ViewsBehind

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.manifest import PipelineSpec

_LATEST_RUNS = 10
_LATEST_CHUNKS = 1000
# How far ahead the clock of another machine may be.
CLOCKS_APART = timedelta(minutes=1)


class Need(StrEnum):
    """Why a pipeline is run, or why not."""

    NEW = "never ran"
    CHANGED = "changed since it was applied"
    CHANGED_AND_DUE = "changed since it was applied, and its schedule has come"
    UNFINISHED = "not finished yet"
    DUE = "its schedule has come"
    NEWS = "the source has something new"
    ASKED = "somebody asked"
    WAITS = "it failed and waits for a decision"
    NOTHING = "up to date"

    @property
    def is_work(self) -> bool:
        return self not in (Need.WAITS, Need.NOTHING)

    @property
    def is_tick(self) -> bool:
        """Whether what is new is to be pulled as well, and not only what is left of earlier plans."""
        return self in (Need.CHANGED_AND_DUE, Need.DUE, Need.NEWS, Need.ASKED)


def need_of(catalog: Catalog, spec: PipelineSpec, root: Path, now: datetime) -> Need:
    """What is to be done about a pipeline, from the catalog alone."""
    pipeline = PipelineId(spec.id)
    state = catalog.pipelines.get(pipeline)
    current = spec_hash(spec, root)
    applied = catalog.pipelines.applied(pipeline)
    if state is not None and state.failure is not None and state.failure.spec_hash == current:
        return Need.WAITS
    if state is None or (state.phase is Phase.PLANNING and applied is None):
        return Need.NEW
    tally = catalog.chunks.tally(pipeline)
    # A failed chunk is settled with the failure that it caused, or somebody died before he could tell.
    has_chunks = bool(tally.pending + tally.running + tally.failed)
    runs = catalog.runs.latest(pipeline, limit=_LATEST_RUNS)
    is_behind = state.phase is not Phase.STREAMING or has_chunks
    if is_behind or _was_cut_off(catalog, pipeline, runs):
        return Need.UNFINISHED
    has_come = is_due(spec.schedule, last_started(runs, now), now, UTC)
    if applied is None:
        # Somebody died before it was noted, or the catalog was made anew; that holds up no schedule.
        return Need.CHANGED_AND_DUE if has_come else Need.UNFINISHED
    if applied.spec_hash != current or applied.retired_at is not None:
        # The run for the change is also the one that the schedule asks for: no other would follow it.
        return Need.CHANGED_AND_DUE if has_come else Need.CHANGED
    return Need.DUE if has_come else Need.NOTHING


def last_started(runs: Sequence[Run], now: datetime) -> datetime | None:
    """When the latest of these runs began, the newest first; None if none has.

    What a clock that was far ahead has dated does not keep a schedule from firing until then.
    """
    return next((run.started_at for run in runs if run.started_at <= now + CLOCKS_APART), None)


def _was_cut_off(catalog: Catalog, pipeline: PipelineId, runs: Sequence[Run]) -> bool:
    """Whether a run never came to its end and nobody came after it, so that its views may be missing."""
    cut_off = [run for run in runs if not _came_to_its_end(run) and run.status is not RunStatus.SKIPPED]
    looked_after = max((run.started_at for run in runs if _came_to_its_end(run)), default=None)
    if looked_after is None:
        return bool(cut_off)
    if any(looked_after < (run.ended_at or run.started_at) for run in cut_off):
        return True
    # Nobody knows whether those live of which no end is known. But what they committed is known, and whoever
    # came after that has written the views.
    unseen = {run.run for run in cut_off if not run.status.has_ended}
    recent = catalog.chunks.recent(pipeline, limit=_LATEST_CHUNKS) if unseen else ()
    return any(
        chunk.run in unseen and chunk.completed_at is not None and chunk.completed_at >= looked_after
        for chunk in recent
    )


def _came_to_its_end(run: Run) -> bool:
    is_cut_off = run.status is RunStatus.SKIPPED or run.error_kind in (ABANDONED, ViewsBehind.code)
    return run.status.has_ended and not is_cut_off
