"""What runs did: one with all that is known of it, and names short enough to type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hakiri.catalog import Catalog
from hakiri.catalog.contract.chunks import Chunk
from hakiri.catalog.contract.lineage import Edge
from hakiri.catalog.contract.runs import Run
from hakiri.core.ids import RunId, is_compaction
from hakiri.pipelines.operations.errors import NoSuchRun
from hakiri.pipelines.operations.streams import all_chunks
from hakiri.store.layout import StoreLayout
from hakiri.store.manifests import AttemptManifest, Counts
from hakiri.telemetry import Trace, read_trace, trace_path

_RUNS_A_PAGE = 1000
_SHORTEST_ID = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkStory:
    """A chunk that a run worked on. `folder` is that of the attempt that won, below the store's root."""

    chunk: Chunk
    counts: Counts | None = None
    folder: str | None = None

    @property
    def seconds(self) -> float | None:
        """How long the attempt that won took."""
        began, ended = self.chunk.started_at, self.chunk.completed_at
        return None if began is None or ended is None else (ended - began).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStory:
    """A run with everything that is known of it. Chunks that another run took over since are not its own."""

    run: Run
    chunks: tuple[ChunkStory, ...]
    parents: tuple[Edge, ...]
    children: tuple[Edge, ...]
    trace_file: Path | None = None
    trace: Trace | None = None

    @property
    def counts(self) -> Counts:
        """What became of the rows of all its chunks."""
        told = [story.counts for story in self.chunks if story.counts is not None]
        return Counts(
            read=sum(counts.read for counts in told),
            filtered=sum(counts.filtered for counts in told),
            written=sum(counts.written for counts in told),
            quarantined=sum(counts.quarantined for counts in told),
        )

    def slowest(self, most: int) -> tuple[ChunkStory, ...]:
        """The done chunks that took longest, the slowest first."""
        done = [story for story in self.chunks if story.seconds is not None]
        return tuple(sorted(done, key=lambda story: -(story.seconds or 0.0))[:most])


def story_of(catalog: Catalog, layout: StoreLayout, name: str) -> RunStory:
    """One run by its id, or by the beginning or the end of it. Raises NoSuchRun."""
    run = catalog.runs.get(RunId(name)) or _found(catalog, name)
    file = None if run.trace is None else trace_path(layout.root / "traces", run.trace)
    has_file = file is not None and file.is_file()
    return RunStory(
        run=run,
        chunks=tuple(
            _chunk_story(chunk) for chunk in all_chunks(catalog, run.pipeline) if chunk.run == run.run
        ),
        parents=catalog.lineage.parents(run.run),
        children=catalog.lineage.children(run.run),
        trace_file=file if has_file else None,
        trace=read_trace(file) if file is not None and has_file else None,
    )


def short_ids(runs: Iterable[RunId]) -> dict[RunId, str]:
    """The end of each id, as short as tells them apart: their beginnings are times, and much alike."""
    short = {run: run[-_SHORTEST_ID:] for run in runs}
    uses = Counter(short.values())
    return {run: text if uses[text] == 1 else run for run, text in short.items()}


def _found(catalog: Catalog, name: str) -> Run:
    """The run that is meant, among the newest first: whoever shortens an id means one of late."""
    before: RunId | None = None
    while page := catalog.runs.latest(before=before, limit=_RUNS_A_PAGE):
        matching = [run for run in page if _is_named(run.run, name)]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise NoSuchRun(name, [run.run for run in matching])
        before = page[-1].run
    raise NoSuchRun(name, ())


def _is_named(run: RunId, name: str) -> bool:
    return bool(name) and (run.startswith((name, f"run-{name}")) or run.endswith(name))


def _chunk_story(chunk: Chunk) -> ChunkStory:
    if chunk.winning_attempt is None or chunk.manifest is None or is_compaction(chunk.pipeline):
        return ChunkStory(chunk=chunk)
    manifest = AttemptManifest.parse(chunk.manifest)
    return ChunkStory(chunk=chunk, counts=manifest.counts, folder=manifest.place)
