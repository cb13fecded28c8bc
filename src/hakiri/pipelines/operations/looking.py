"""How pipelines stand, from the catalog alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from hakiri.catalog import Catalog
from hakiri.catalog.contract.chunks import Chunk, ChunkStatus, ChunkTally
from hakiri.catalog.contract.leases import LEASE_TTL
from hakiri.catalog.contract.pipelines import Failure, Phase
from hakiri.catalog.contract.runs import Run, RunStatus
from hakiri.core.ids import PipelineId, RunId
from hakiri.pipelines.applied import spec_hash
from hakiri.pipelines.budgets import budget_name
from hakiri.pipelines.chunks.progress import RECENT_CHUNKS, DoneWork
from hakiri.pipelines.chunks.status import PipelineStatus, status_of
from hakiri.pipelines.operations.ways import WayOn, has_failed_openly, ways_after_failure, ways_after_run

if TYPE_CHECKING:
    from hakiri.manifest import PipelineSpec

Light: TypeAlias = Literal["ok", "running", "partial", "failed", "new"]

_RUNS_A_PAGE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One pipeline as it stands, with its latest run and what it waits for.

    - `is_running`: somebody works on it now.
    - `is_stalled`: a run has begun, has not ended, and nobody works on it any more.
    - `is_changed_since_failure`: another spec failed than there is now, so the next apply tries this one.
    - `has_failed_openly`: its latest run did not make it, and nobody has to decide: what was wrong with the
      declaration, or with this machine, is to be mended.
    - `ways_on`: what helps, where something went wrong.
    """

    status: PipelineStatus
    latest: Run | None = None
    failure: Failure | None = None
    rows: int = 0
    bytes: int = 0
    skipped: int = 0
    is_running: bool = False
    is_stalled: bool = False
    is_changed_since_failure: bool = False
    has_failed_openly: bool = False
    ways_on: tuple[WayOn, ...] = ()

    @property
    def light(self) -> Light:
        """One word for everything; `partial` is what neither runs nor is done."""
        if self.failure is not None and not (self.is_running and self.is_changed_since_failure):
            return "failed"
        if self.is_running:
            return "running"
        if self.latest is None:
            return "new"
        chunks = self.status.chunks
        is_done = self.status.phase is Phase.STREAMING and chunks.done == chunks.total
        # What a run had to leave to others, and is done by now, they have done.
        left_to_others = self.latest.status is RunStatus.PARTIAL and self.latest.error_kind is None
        return "ok" if is_done and (self.latest.status is RunStatus.SUCCESS or left_to_others) else "partial"


def standing_of(
    catalog: Catalog | None, spec: PipelineSpec, root: Path, now: datetime, *, lease: timedelta = LEASE_TTL
) -> Standing:
    """How one pipeline stands, also while another process works on it; `root` is the project's folder.

    Without a catalog it never ran.
    """
    pipeline = PipelineId(spec.id)
    if catalog is None:
        rate = spec.backfill.rate_budget
        return Standing(status=status_of(pipeline, Phase.PLANNING, ChunkTally(), rate_budget=rate))
    account = catalog.budgets.get(budget_name(pipeline))
    # What the connector said when the pipeline ran last counts where the manifest says nothing.
    rate = spec.backfill.rate_budget or account.rate
    state = catalog.pipelines.get(pipeline)
    tally = catalog.chunks.tally(pipeline)
    runs = _runs_that_ran(catalog, pipeline)
    unfinished = {run.run for run in runs if not run.status.has_ended}
    gone: set[RunId] = set()
    if unfinished:
        gone = {run.run for run in catalog.runs.abandoned(pipeline, now, ttl=lease)}
    failure = state.failure if state is not None else None
    is_changed = failure is not None and failure.spec_hash != spec_hash(spec, root)
    if failure is not None and is_changed and runs and runs[0].started_at > failure.at and not tally.failed:
        failure = None  # the changed spec was run since, so this failure is history
    is_told = failure is None and not unfinished and bool(runs) and has_failed_openly(catalog, runs[0])
    ways = ways_after_run(runs[0]) if is_told else ()
    if failure is not None:
        ways = ways_after_failure(
            catalog, pipeline, failure, failed_chunks=tally.failed, is_changed=is_changed
        )
    return Standing(
        status=status_of(
            pipeline,
            state.phase if state is not None else Phase.PLANNING,
            tally,
            recent=[_work(chunk) for chunk in catalog.chunks.recent(pipeline, limit=RECENT_CHUNKS)],
            started_at=runs[0].started_at if runs else None,
            rate_budget=rate,
            calls_in_period=0 if rate is None else account.granted_since(now - rate.per),
        ),
        latest=runs[0] if runs else None,
        failure=failure,
        rows=tally.rows,
        bytes=tally.bytes,
        skipped=tally.skipped,
        is_running=bool(unfinished - gone),
        is_stalled=bool(unfinished) and unfinished <= gone,
        is_changed_since_failure=failure is not None and is_changed,
        has_failed_openly=is_told,
        ways_on=ways,
    )


def _runs_that_ran(catalog: Catalog, pipeline: PipelineId) -> Sequence[Run]:
    """The newest runs without those that were skipped, of which there may be many while one is long."""
    before: RunId | None = None
    while page := catalog.runs.latest(pipeline, before=before, limit=_RUNS_A_PAGE):
        ran = [run for run in page if run.status is not RunStatus.SKIPPED]
        if ran:
            return ran
        before = page[-1].run
    return ()


def _work(chunk: Chunk) -> DoneWork:
    started, completed = chunk.started_at, chunk.completed_at
    if started is None or completed is None or chunk.status is not ChunkStatus.DONE:
        raise ValueError(f"chunk {chunk.chunk} is not done")
    return DoneWork(rows=chunk.rows or 0, bytes=chunk.bytes or 0, started_at=started, completed_at=completed)
