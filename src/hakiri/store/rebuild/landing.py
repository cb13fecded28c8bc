"""Which attempts have landed, and which chunks took the place of others. Pure.

The tree does not say which attempts the catalog has committed, but it says enough. Of several at one chunk
only the last can have won. One that is sealed is whole, with its rows, its cursor and its schema: whether it
was committed or its process died just before, it counts from now on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hakiri.catalog.contract.chunks import Replacement
from hakiri.core.canonical import canonical_json
from hakiri.core.ids import ChunkId, PipelineId
from hakiri.store.manifests import AttemptManifest
from hakiri.store.snapshots import Place, SnapshotManifest

ChunkKey: TypeAlias = tuple[PipelineId, ChunkId]
# The claims whose rows are in the files of a snapshot.
FindClaims: TypeAlias = Callable[[SnapshotManifest], Collection[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """An attempt that does not count, and why."""

    attempt: AttemptManifest
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """What landed in a table, by the number of the claim, and the chunks that others took the place of."""

    landed: tuple[AttemptManifest, ...]
    replaced: Mapping[ChunkKey, Replacement]
    left_out: tuple[LeftOut, ...]


def winners_of(
    attempts: Iterable[AttemptManifest], fingerprints: Mapping[int, str]
) -> tuple[list[AttemptManifest], list[LeftOut]]:
    """The last attempt at each chunk that was sealed, and those that cannot have been committed.

    A commit is refused when another one has moved the schema meanwhile: what was sealed for it has a version
    that means something else.
    """
    last: dict[ChunkKey, AttemptManifest] = {}
    left_out: list[LeftOut] = []
    for one in sorted(attempts, key=lambda each: (each.attempt, each.seq)):
        if one.schema_fingerprint == fingerprints.get(one.schema_version):
            last[one.pipeline, one.chunk] = one
        else:
            why = f"its columns are not those of version {one.schema_version}"
            left_out.append(LeftOut(attempt=one, why=why))
    return sorted(last.values(), key=lambda one: one.seq), left_out


def landing_of(
    winners: Sequence[AttemptManifest],
    snapshot: SnapshotManifest | None,
    *,
    has_key: bool,
    find_claims: FindClaims,
    withdrawn: Collection[int] = (),
) -> Landing:
    """What landed, beside the snapshot that is in force. Claims that were `withdrawn` had landed too."""
    reasons: dict[int, str] = {}
    if snapshot is not None:
        gone = _never_folded(winners, snapshot, find_claims)
        reasons |= dict.fromkeys(gone, "a snapshot was made without it")
    while True:
        counting = [one for one in winners if one.seq not in reasons]
        replaced, waiting = _replacements(counting)
        lost = _without_a_place(counting, snapshot, replaced) - (set() if has_key else waiting)
        lost -= {*withdrawn}
        if not lost:
            break
        # What they were to replace was not replaced, or is seen again since the table was restored.
        reasons |= dict.fromkeys(lost, "a snapshot was made without it")
    if not has_key:
        reasons |= dict.fromkeys(waiting, "what came with it is missing")
    return Landing(
        landed=tuple(one for one in winners if one.seq not in reasons),
        replaced=replaced,
        left_out=tuple(LeftOut(attempt=one, why=reasons[one.seq]) for one in winners if one.seq in reasons),
    )


def _without_a_place(
    winners: Sequence[AttemptManifest],
    snapshot: SnapshotManifest | None,
    replaced: Mapping[ChunkKey, Replacement],
) -> set[int]:
    """The claims that a snapshot was made without, though nothing has taken their place."""
    if snapshot is None:
        return set()
    nowhere = {one.seq for one in winners if snapshot.place_of(one.seq) is Place.NOWHERE}
    nowhere -= {one.seq for one in winners if (one.pipeline, one.chunk) in replaced}
    return nowhere - _older_passes(winners)


def _never_folded(
    winners: Sequence[AttemptManifest], snapshot: SnapshotManifest, find_claims: FindClaims
) -> set[int]:
    """The claims that lie in what the snapshot holds, and whose rows it does not have.

    Ranges of claims may span one that never landed. With a key all rows of one that did may have been
    replaced by newer ones: then it is read again, which does no harm.
    """
    inside = [one for one in winners if snapshot.place_of(one.seq) is Place.SNAPSHOT]
    if snapshot.claims_held is None or len(inside) <= snapshot.claims_held:
        return set()
    folded = find_claims(snapshot)
    return {one.seq for one in inside if one.rows and one.seq not in folded}


def _replacements(
    winners: Sequence[AttemptManifest],
) -> tuple[dict[ChunkKey, Replacement], set[int]]:
    """The chunks that were replaced, each by what; and claims on parts of replacements that are not whole.

    One is whole when all of it has landed, and all that it replaces was whole before.
    """
    chunks = {(one.pipeline, one.chunk): one for one in winners}
    parts: dict[tuple[PipelineId, ChunkId, ChunkId], list[AttemptManifest]] = defaultdict(list)
    for one in winners:
        if (part := replacement_of(one)) is not None:
            parts[one.pipeline, part.first, part.last].append(one)
    replaced: dict[ChunkKey, Replacement] = {}
    waiting: set[int] = set()
    for (pipeline, first, last), some in sorted(parts.items(), key=lambda item: item[0]):
        newest = chunks.get((pipeline, last))
        part = None if newest is None else replacement_of(newest)
        old = () if part is None else tuple((pipeline, chunk) for chunk in part.old)
        is_whole = len(some) == last - first + 1 and all(
            key in chunks and chunks[key].seq not in waiting for key in old
        )
        if part is not None and is_whole:
            replaced |= dict.fromkeys(old, part)
        else:
            # Parts of a pass are counted by themselves, and seen when all of it is there.
            waiting |= {one.seq for one in some if one.pass_number is None}
    return replaced, waiting


def replacement_of(one: AttemptManifest) -> Replacement | None:
    """What the chunk is a part of, if it took the place of others. What goes on behind one is none."""
    reread = None if one.commit is None else one.commit.reread
    part = None if reread is None else reread.replacement
    return part if part is not None and part.first <= one.chunk <= part.last else None


def _older_passes(winners: Sequence[AttemptManifest]) -> set[int]:
    """The claims of passes that a later one, which is complete, has taken the place of."""
    streams: dict[tuple[PipelineId, str], dict[int, list[AttemptManifest]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for one in winners:
        if one.pass_number is not None:
            partition = one.predicate.get("partition") if one.pass_size is None else None
            stream = canonical_json(partition) if partition else ""
            streams[one.pipeline, stream][one.pass_number].append(one)
    older: set[int] = set()
    for passes in streams.values():
        complete = [
            number
            for number, some in passes.items()
            if any(one.ends_pass or one.pass_size == len(some) for one in some)
        ]
        last = max(complete, default=0)
        older |= {one.seq for number in passes if number < last for one in passes[number]}
    return older
