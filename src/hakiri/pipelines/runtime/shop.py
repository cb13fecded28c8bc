"""What the runs of one process share, how one is recorded before it begins, and what it leaves."""

from __future__ import annotations

from dataclasses import dataclass

from hakiri.catalog.contract.chunks import ChunkStatus, ChunkTally
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.contract.pipelines import Decision, Phase
from hakiri.catalog.contract.runs import Run, StartedRun
from hakiri.catalog.keeper import LeaseKeeper
from hakiri.core.errors import ExitCode, HakiriError
from hakiri.core.ids import PipelineId
from hakiri.pipelines.errors import LeaseHeldElsewhere
from hakiri.pipelines.runtime.ground import Ground
from hakiri.pipelines.runtime.publishing import Publishing
from hakiri.pipelines.runtime.slots import Slots

# How long a worker waits for another that looks at a pipeline for the first time.
_FIRST_LOOK_SECONDS = 30.0
_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """What the runs of one process share."""

    ground: Ground
    keeper: LeaseKeeper
    publishing: Publishing
    slots: Slots


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a run ended. `left` is what others still work on, or what a limit kept it from taking."""

    pipeline: PipelineId
    run: Run
    phase: Phase
    chunks: int
    quarantined: int
    left: ChunkTally
    error: HakiriError | None = None

    @property
    def is_converged(self) -> bool:
        return self.error is None and self.phase is Phase.STREAMING


def waits_for_decision(error: HakiriError) -> bool:
    """Whether somebody has to decide about it: not if only this machine, or this call, is wrong."""
    is_ours = error.code.startswith(("engine.", "catalog."))
    return error.exit_code is ExitCode.FAILED and not is_ours


def phase_of(ground: Ground, pipeline: PipelineId) -> Phase:
    """How far a pipeline has come."""
    state = ground.catalog.pipelines.get(pipeline)
    return state.phase if state is not None else Phase.PLANNING


def recorded(ground: Ground, pipeline: PipelineId) -> StartedRun:
    """A new run in the catalog, with the lease that its pipeline needs. Raises LeaseHeldElsewhere."""
    waited = 0.0
    while True:
        run = ground.new_run(ground.clock)
        started = ground.catalog.runs.start(
            run, pipeline, ground.node, ground.clock.now(), ttl=ground.lease, trace=ground.trace_of(run)
        )
        if not started.is_skipped:
            return started
        # Whoever runs it for the first time holds it until the kind of its cursor is known.
        while waited < _FIRST_LOOK_SECONDS and phase_of(ground, pipeline) is Phase.PLANNING:
            waited += _LOOK_SECONDS
            if ground.stop.wait(_LOOK_SECONDS):
                break
        state = ground.catalog.pipelines.get(pipeline)
        if ground.stop.is_asked or state is None or state.kind.needs_lease:
            raise _held_elsewhere(ground, pipeline)


def leased(ground: Ground, pipeline: PipelineId) -> Lease:
    """The lease of a pipeline for a run that began without one. Raises LeaseHeldElsewhere."""
    lease = ground.catalog.leases.acquire(pipeline, ground.node, ground.clock.now(), ground.lease)
    if lease is None:
        raise _held_elsewhere(ground, pipeline)
    return lease


def _held_elsewhere(ground: Ground, pipeline: PipelineId) -> LeaseHeldElsewhere:
    lease = ground.catalog.leases.current(pipeline)
    return LeaseHeldElsewhere(pipeline, lease.holder if lease is not None else "another worker")


def settle_edited(ground: Ground, pipeline: PipelineId) -> None:
    """Whoever edited a pipeline that failed, or its transform, has decided to try again."""
    catalog, now = ground.catalog, ground.clock.now()
    state = catalog.pipelines.get(pipeline)
    if state is not None and state.failure is not None:
        catalog.pipelines.decide(pipeline, Decision.RETRY, "auto", now)
    elif catalog.chunks.tally(pipeline).failed:
        # Somebody died between giving up a chunk and telling why: there is nothing to decide about.
        failed = catalog.chunks.page(pipeline, status=ChunkStatus.FAILED)
        catalog.chunks.reopen(pipeline, [chunk.chunk for chunk in failed], now)
