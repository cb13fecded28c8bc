"""Where else the rows of a snapshot are, for as long as what it was made of is kept. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from hakiri.store.snapshots import Place, SnapshotManifest
from hakiri.store.visible import Landed


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What gives the same rows: a snapshot, but for the claims `excluded`, and chunks' own files."""

    base: SnapshotManifest | None
    chunks: tuple[Landed, ...]
    excluded: tuple[int, ...] = ()


def origins_of(
    held: Collection[int],
    primary_key: tuple[str, ...],
    landed: Sequence[Landed],
    snapshots: Iterable[SnapshotManifest],
) -> Iterator[Origin]:
    """All that gives the rows of the claims `held`: each of the snapshots with chunks, then chunks alone.

    A snapshot with a key has forgotten what was deleted or replaced in it. So it may hold nothing else, and
    nothing may be added that is older than it. What was written for another key may have lost other rows.
    """
    wanted = [one for one in landed if one.seq in held and not one.unchanged]
    for base in (*snapshots, None):
        inside = {one.seq for one in landed if base is not None and base.place_of(one.seq) is Place.SNAPSHOT}
        chunks = tuple(one for one in wanted if one.seq not in inside)
        excluded = tuple(sorted(inside.difference(held)))
        keys = {one.primary_key for one in chunks} | ({base.primary_key} if base is not None else set())
        is_mixed = base is not None and (excluded or any(one.seq < base.frontier for one in chunks))
        if keys <= {primary_key} and not (primary_key and is_mixed):
            yield Origin(base=base, chunks=chunks, excluded=excluded)
