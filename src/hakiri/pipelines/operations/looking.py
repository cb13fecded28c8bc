"""How pipelines stand and what they did, from the catalog alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from hakiri.catalog import Catalog
from hakiri.catalog.contract.chunks import Chunk, ChunkStatus
from hakiri.catalog.contract.lineage import Edge
from hakiri.catalog.contract.pipelines import Failure, Phase
from hakiri.catalog.contract.runs import Run, RunStatus
from hakiri.core.errors import ExitCode, HakiriError
from hakiri.core.ids import PipelineId, RunId
from hakiri.pipelines.chunks.progress import DoneWork
from hakiri.pipelines.chunks.status import PipelineStatus, status_of

if TYPE_CHECKING:
    from hakiri.manifest import PipelineSpec

_RECENT = 32
_PAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One pipeline as it stands, with its latest run and what it waits for."""

    status: PipelineStatus
    latest: Run | None
    failure: Failure | None
    rows: int
    bytes: int

    @property
    def light(self) -> str:
        """One word for everything: `failed`, `running`, `partial`, `ok` or `new`."""
        if self.failure is not None:
            return "failed"
        if self.latest is None:
            return "new"
        if self.latest.status is RunStatus.RUNNING:
            return "running"
        return "ok" if self.status.phase is Phase.STREAMING else "partial"


class NoSuchRun(HakiriError):
    """A run that the catalog does not know."""

    code = "pipelines.no_such_run"
    exit_code = ExitCode.USAGE

    def __init__(self, run: str, matching: Sequence[str]) -> None:
        self.run = run
        problem = f"several runs begin with `{run}`" if matching else f"there is no run `{run}`"
        hint = f"one of {', '.join(matching[:5])}" if matching else "see `hakiri runs` for those there are"
        super().__init__(problem, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStory:
    """A run with everything that is known of it."""

    run: Run
    chunks: tuple[Chunk, ...]
    parents: tuple[Edge, ...]
    children: tuple[Edge, ...]


def standing_of(catalog: Catalog, spec: PipelineSpec) -> Standing:
    """How one pipeline stands, also while another process works on it."""
    pipeline = PipelineId(spec.id)
    state = catalog.pipelines.get(pipeline)
    tally = catalog.chunks.tally(pipeline)
    runs = catalog.runs.latest(pipeline, limit=1)
    return Standing(
        status=status_of(
            pipeline,
            state.phase if state is not None else Phase.PLANNING,
            tally,
            recent=[_work(chunk) for chunk in catalog.chunks.recent(pipeline, limit=_RECENT)],
            started_at=runs[0].started_at if runs else None,
            rate_budget=spec.backfill.rate_budget,
        ),
        latest=runs[0] if runs else None,
        failure=state.failure if state is not None else None,
        rows=tally.rows,
        bytes=tally.bytes,
    )


def story_of(catalog: Catalog, name: str) -> RunStory:
    """One run by its id, or by the beginning or the end of it. Raises NoSuchRun."""
    run = catalog.runs.get(RunId(name)) or _found(catalog, name)
    chunks: list[Chunk] = []
    after = None
    while page := catalog.chunks.page(run.pipeline, after=after, limit=_PAGE):
        chunks += [chunk for chunk in page if chunk.run == run.run]
        after = page[-1].chunk
    return RunStory(
        run=run,
        chunks=tuple(chunks),
        parents=catalog.lineage.parents(run.run),
        children=catalog.lineage.children(run.run),
    )


def _found(catalog: Catalog, name: str) -> Run:
    matching = [
        run
        for run in catalog.runs.latest(limit=_PAGE)
        if run.run.startswith((name, f"run-{name}")) or run.run.endswith(name)
    ]
    if len(matching) != 1:
        raise NoSuchRun(name, [run.run for run in matching])
    return matching[0]


def _work(chunk: Chunk) -> DoneWork:
    started: datetime | None = chunk.started_at
    completed = chunk.completed_at
    if started is None or completed is None or chunk.status is not ChunkStatus.DONE:
        raise ValueError(f"chunk {chunk.chunk} is not done")
    return DoneWork(rows=chunk.rows or 0, bytes=chunk.bytes or 0, started_at=started, completed_at=completed)
