"""What is to be done about a pipeline, from the catalog alone: nothing is asked of its source."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.catalog.contract.pipelines import Phase
from hakiri.core.ids import PipelineId
from hakiri.pipelines.applied import spec_hash
from hakiri.pipelines.chunks.due import is_due

if TYPE_CHECKING:
    from hakiri.catalog import Catalog
    from hakiri.manifest import PipelineSpec


class Need(StrEnum):
    """Why a pipeline is run, or why not."""

    NEW = "never ran"
    CHANGED = "changed since it was applied"
    UNFINISHED = "not finished yet"
    DUE = "its schedule has come"
    NEWS = "the source has something new"
    ASKED = "somebody asked"
    WAITS = "it failed and waits for a decision"
    NOTHING = "up to date"

    @property
    def is_work(self) -> bool:
        return self not in (Need.WAITS, Need.NOTHING)


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
    if applied is None or state.phase is not Phase.STREAMING or tally.pending or tally.running:
        return Need.UNFINISHED
    if applied.spec_hash != current or applied.retired_at is not None:
        return Need.CHANGED
    latest = catalog.runs.latest(pipeline, limit=1)
    return (
        Need.DUE
        if is_due(spec.schedule, latest[0].started_at if latest else None, now, UTC)
        else Need.NOTHING
    )
