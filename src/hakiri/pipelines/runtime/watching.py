"""Having it seen how far the reads of a source are, and what they wait for."""

from __future__ import annotations

from hakiri.core.ids import ChunkId, PipelineId
from hakiri.pipelines.events import ChunkAdvanced, Waiting
from hakiri.pipelines.runtime.ground import Ground
from hakiri.sources.reading import OpenSource


def watch_reads(ground: Ground, pipeline: PipelineId, source: OpenSource) -> None:
    """Tell whoever listens, from now on, of rows that were read and of waits for the budget."""
    source.desk.on_rows = lambda label, rows: ground.listen(
        ChunkAdvanced(pipeline=pipeline, chunk=ChunkId(int(label)), rows=rows, bytes=0)
    )
    budget = source.budget
    if budget is not None:
        why = f"the source's {budget.rate.text}"
        budget.on_wait = lambda seconds: ground.listen(Waiting(pipeline=pipeline, seconds=seconds, why=why))
