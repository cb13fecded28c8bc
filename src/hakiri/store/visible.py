"""Which of the chunks that ever landed a reader sees. Pure.

- With a primary key all of them: the newest row of a key wins, so what was read again hides what it replaces.
- Without one, chunks that were read again are seen until all that was planned in their place has landed.
  From that moment on these are seen instead, all at once, so that no row is there twice and none is missing.
- Full re-reads come in passes. Without a primary key only the newest pass that is complete is seen; until
  there is one, the newest that has begun. What was planned in place of a pass is a newer pass. Where the
  size of a pass is not known before, every partition has passes of its own.
- A chunk may be withdrawn, because the table was restored to a moment before it landed. What it had replaced
  is seen again, until all that was planned in its own place has landed, and so on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, TypeAlias

from hakiri.catalog.contract.chunks import Chunk
from hakiri.core.canonical import canonical_json
from hakiri.core.ids import ChunkId, PipelineId, RunId
from hakiri.store.errors import UnreadableManifest
from hakiri.store.manifests import AttemptManifest


@dataclass(frozen=True, slots=True)
class LandedFile:
    """A file of a chunk, by its path below the root of the store."""

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A chunk that was done once, as far as readers need to know it.

    `superseded_by` is the last of the chunks that were planned in its place, if any were, and `successors`
    how many these are: their ids follow each other. `stream` is what the passes of a pipeline that it
    belongs to are of: the partition, or nothing for passes over all of them. Files are paths below the root.
    `landed_at` is when it was committed, and `primary_key` that of the table by then.
    """

    pipeline: PipelineId
    chunk: ChunkId
    run: RunId
    superseded_by: ChunkId | None
    successors: int
    seq: int
    schema_version: int
    files: tuple[LandedFile, ...]
    quarantine: tuple[str, ...]
    pass_number: int | None = None
    pass_size: int | None = None
    ends_pass: bool = False
    unchanged: bool = False
    stream: str = ""
    landed_at: datetime | None = None
    primary_key: tuple[str, ...] = ()

    @property
    def place(self) -> ChunkPlace:
        return self.pipeline, self.chunk


ChunkPlace: TypeAlias = tuple[PipelineId, ChunkId]


@dataclass(frozen=True, slots=True)
class _Replacement:
    """Chunks of a pipeline that were planned together in the place of others, by the first and last id."""

    pipeline: PipelineId
    first: int
    last: int

    @property
    def places(self) -> frozenset[ChunkPlace]:
        return frozenset((self.pipeline, ChunkId(chunk)) for chunk in range(self.first, self.last + 1))


class _Stand(NamedTuple):
    """Chunks that hold together, all that they were planned in the place of having made way for them.

    `seen` is what a reader sees of them: themselves, or what they took the place of as long as one of them is
    withdrawn.
    """

    members: frozenset[ChunkPlace]
    seen: frozenset[ChunkPlace]


def landed_from(chunk: Chunk) -> Landed:
    """A row of the catalog with its manifest read. Raises UnreadableManifest."""
    if chunk.manifest is None:
        raise UnreadableManifest(f"chunk {chunk.chunk} of pipeline `{chunk.pipeline}` landed without one")
    manifest = AttemptManifest.parse(chunk.manifest)
    place = manifest.place
    partition = manifest.predicate.get("partition") if manifest.pass_size is None else None
    return Landed(
        pipeline=chunk.pipeline,
        chunk=chunk.chunk,
        run=manifest.run,
        superseded_by=chunk.superseded_by,
        successors=chunk.successors or 1,
        seq=manifest.seq,
        schema_version=manifest.schema_version,
        files=tuple(
            LandedFile(f"{place}/{file.name}", file.rows, file.bytes, file.sha256) for file in manifest.files
        ),
        quarantine=tuple(f"{place}/{file.name}" for file in manifest.quarantine),
        pass_number=manifest.pass_number,
        pass_size=manifest.pass_size,
        ends_pass=manifest.ends_pass,
        unchanged=manifest.unchanged,
        stream=canonical_json(partition) if partition else "",
        landed_at=chunk.completed_at,
        primary_key=manifest.primary_key,
    )


def visible(
    landed: Iterable[Landed], *, has_key: bool, withdrawn: Iterable[Landed] = ()
) -> tuple[Landed, ...]:
    """Those whose files a reader reads, by the number of their claim.

    `withdrawn` landed too, and do not count any more.
    """
    every = list(landed)
    seen = every if has_key else [*_in_force(every, withdrawn), *_of_newest_passes(every)]
    brought = (one for one in seen if not one.unchanged)
    return tuple(sorted(brought, key=lambda one: (one.seq, one.pipeline, one.chunk)))


def under_way(landed: Iterable[Landed]) -> tuple[Landed, ...]:
    """Those of passes that are not complete: whether they are seen may still change, and change back."""
    return tuple(
        one
        for of_stream in _passes(list(landed)).values()
        for chunks in of_stream.values()
        if not _is_complete(chunks)
        for one in chunks
    )


def replaced(landed: Iterable[Landed], withdrawn: Iterable[Landed] = ()) -> tuple[Landed, ...]:
    """Those that no reader of a table without a key will ever see again, whatever lands."""
    every = list(landed)
    stands, ever = _stands(every, withdrawn)
    kept = {place for stand in {*stands.values()} for place in stand.members | stand.seen}
    lost = ever - kept
    gone = [one for one in every if one.pass_number is None and one.place in lost]
    for of_stream in _passes(every).values():
        complete = [number for number, chunks in of_stream.items() if _is_complete(chunks)]
        gone += [
            one for number in of_stream if number < max(complete, default=0) for one in of_stream[number]
        ]
    return tuple(gone)


def _in_force(every: list[Landed], withdrawn: Iterable[Landed]) -> list[Landed]:
    """Those outside of passes that nothing has replaced, and that wait for no others to replace anything."""
    stands, _ = _stands(every, withdrawn)
    seen = {place for stand in {*stands.values()} for place in stand.seen}
    return [one for one in every if one.pass_number is None and one.place in seen]


def _stands(
    every: list[Landed], withdrawn: Iterable[Landed]
) -> tuple[dict[ChunkPlace, _Stand], set[ChunkPlace]]:
    """What holds now of all that landed outside of passes, and all that ever did.

    A replacement is in force when all of it has landed, and all that it replaces was in force before: what
    takes the place of one part of a replacement that is not whole yet waits as that part does.
    """
    lost = {one.place for one in withdrawn}
    chunks = {one.place: one for one in (*every, *withdrawn) if one.pass_number is None}
    replacing: dict[_Replacement, set[ChunkPlace]] = defaultdict(set)
    for one in chunks.values():
        if (replacement := _replacement_of(one)) is not None:
            replacing[replacement].add(one.place)
    later = {place for replacement in replacing for place in replacement.places}
    stands = {place: _alone(place, lost) for place in chunks if place not in later}
    ever = set(stands)
    # By their ids: what a replacement replaces was planned before it.
    for replacement, old in sorted(replacing.items(), key=lambda item: (item[0].pipeline, item[0].last)):
        if not (chunks.keys() >= replacement.places and stands.keys() >= old):
            continue
        before = {stands[place] for place in old}
        members = (
            frozenset[ChunkPlace]().union(*(stand.members for stand in before)) - old | replacement.places
        )
        seen = frozenset[ChunkPlace]().union(*(stand.seen for stand in before))
        for place in old:
            del stands[place]
        whole = not members & lost
        stands |= {place: _alone(place, lost) if whole else _Stand(members, seen) for place in members}
        ever |= members
    return stands, ever


def _alone(place: ChunkPlace, lost: set[ChunkPlace]) -> _Stand:
    return _Stand(frozenset({place}), frozenset({place} - lost))


def _replacement_of(one: Landed) -> _Replacement | None:
    """What was planned in the place of a chunk."""
    if one.superseded_by is None:
        return None
    return _Replacement(one.pipeline, one.superseded_by - one.successors + 1, one.superseded_by)


def _passes(every: list[Landed]) -> dict[tuple[PipelineId, str], dict[int, list[Landed]]]:
    """The chunks of passes that brought anything, by stream and number."""
    passes: dict[tuple[PipelineId, str], dict[int, list[Landed]]] = defaultdict(lambda: defaultdict(list))
    for one in every:
        if one.pass_number is not None and not one.unchanged:
            passes[one.pipeline, one.stream][one.pass_number].append(one)
    return passes


def _of_newest_passes(every: list[Landed]) -> list[Landed]:
    seen = []
    for of_stream in _passes(every).values():
        complete = [number for number, chunks in of_stream.items() if _is_complete(chunks)]
        seen += of_stream[max(complete or of_stream)]
    return seen


def _is_complete(chunks: list[Landed]) -> bool:
    return any(one.ends_pass or one.pass_size == len(chunks) for one in chunks)
