"""How the end of a run is written down."""

from __future__ import annotations

from hakiri.catalog.contract.pipelines import Failure
from hakiri.catalog.contract.runs import Run, RunOutcome, RunStatus
from hakiri.core.errors import HakiriError
from hakiri.core.ids import PipelineId, RunId
from hakiri.manifest import PipelineSpec
from hakiri.pipelines.applied import spec_hash
from hakiri.pipelines.events import RunEnded
from hakiri.pipelines.runtime.ground import Ground
from hakiri.pipelines.runtime.steps import Step
from hakiri.pipelines.runtime.tally import RunTally


def record_failure(ground: Ground, spec: PipelineSpec, run: RunId, error: HakiriError) -> None:
    """Have the pipeline wait for a decision, unless its manifest or transform is edited."""
    now = ground.clock.now()
    ground.catalog.pipelines.fail(
        PipelineId(spec.id),
        Failure(
            run=run,
            kind=error.code,
            message=str(error),
            at=now,
            spec_hash=spec_hash(spec, ground.project.root),
        ),
        now,
    )


def record_end(
    ground: Ground,
    run: RunId,
    status: RunStatus,
    tally: RunTally,
    *,
    seconds: float,
    error: HakiriError | None = None,
    kind: str | None = None,
) -> Run:
    """End a run in the catalog and tell of it. `kind` names what ended it, where that is no error of ours."""
    outcome = RunOutcome(
        status=status,
        rows=tally.rows,
        bytes=tally.bytes,
        error_kind=error.code if error is not None else kind,
        error_message=str(error) if error is not None else None,
    )
    ended = ground.catalog.runs.end(run, outcome, ground.clock.now())
    ground.reached(Step.RUN_ENDED)
    ground.listen(
        RunEnded(
            pipeline=ended.pipeline,
            run=run,
            status=status,
            rows=tally.rows,
            bytes=tally.bytes,
            seconds=seconds,
            error=outcome.error_message,
        )
    )
    return ended
