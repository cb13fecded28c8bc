"""Which of the chunks that ever landed a reader sees. Pure.

- With a primary key all of them: the newest row of a key wins, so what was read again hides what it replaces.
- Without one, a chunk that was read again is hidden by whatever landed in its place.
- Full re-reads come in passes. Without a primary key only the newest pass that is complete is seen; until
  there is one, the newest that has begun.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from hakiri.catalog.contract.chunks import Chunk
from hakiri.core.ids import ChunkId, PipelineId
from hakiri.store.errors import UnreadableManifest
from hakiri.store.manifests import AttemptManifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A chunk that was done once, as far as readers need to know it.

    `superseded_by` is the chunk that was planned in its place, if one was. Files are paths below the root.
    """

    pipeline: PipelineId
    chunk: ChunkId
    superseded_by: ChunkId | None
    seq: int
    schema_version: int
    files: tuple[str, ...]
    quarantine: tuple[str, ...]
    pass_number: int | None = None
    pass_size: int | None = None
    ends_pass: bool = False
    unchanged: bool = False


def landed_from(chunk: Chunk) -> Landed:
    """A row of the catalog with its manifest read. Raises UnreadableManifest."""
    if chunk.manifest is None:
        raise UnreadableManifest(f"chunk {chunk.chunk} of pipeline `{chunk.pipeline}` landed without one")
    manifest = AttemptManifest.parse(chunk.manifest)
    place = manifest.place
    return Landed(
        pipeline=chunk.pipeline,
        chunk=chunk.chunk,
        superseded_by=chunk.superseded_by,
        seq=manifest.seq,
        schema_version=manifest.schema_version,
        files=tuple(f"{place}/{file.name}" for file in manifest.files),
        quarantine=tuple(f"{place}/{file.name}" for file in manifest.quarantine),
        pass_number=manifest.pass_number,
        pass_size=manifest.pass_size,
        ends_pass=manifest.ends_pass,
        unchanged=manifest.unchanged,
    )


def visible(landed: Iterable[Landed], *, has_key: bool) -> tuple[Landed, ...]:
    """Those whose files a reader reads, by the number of their claim."""
    every = list(landed)
    brought = [one for one in every if not one.unchanged]
    seen = brought if has_key else _of_newest_passes(_not_replaced(brought, every))
    return tuple(sorted(seen, key=lambda one: (one.seq, one.pipeline, one.chunk)))


def _not_replaced(brought: list[Landed], every: list[Landed]) -> list[Landed]:
    """Those in whose place nothing landed yet, however often they were planned anew."""
    by_id = {(one.pipeline, one.chunk): one for one in every}

    def is_replaced(one: Landed) -> bool:
        later = by_id.get((one.pipeline, one.superseded_by or one.chunk))
        while later is not None and later is not one and later.unchanged:
            one, later = later, by_id.get((later.pipeline, later.superseded_by or later.chunk))
        return later is not None and later is not one

    return [one for one in brought if not is_replaced(one)]


def _of_newest_passes(landed: list[Landed]) -> list[Landed]:
    passes: dict[PipelineId, dict[int, list[Landed]]] = defaultdict(lambda: defaultdict(list))
    seen = []
    for one in landed:
        if one.pass_number is None:
            seen.append(one)
        else:
            passes[one.pipeline][one.pass_number].append(one)
    for of_pipeline in passes.values():
        complete = [number for number, chunks in of_pipeline.items() if _is_complete(chunks)]
        seen += of_pipeline[max(complete or of_pipeline)]
    return seen


def _is_complete(chunks: list[Landed]) -> bool:
    return any(one.ends_pass or one.pass_size == len(chunks) for one in chunks)
