"""Which snapshot of a table is in force, and whether every file is there that a reader reads then. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from hakiri.core.ids import IndexId
from hakiri.store.layout import snapshot_name
from hakiri.store.manifests import AttemptManifest
from hakiri.store.rebuild.errors import Problem
from hakiri.store.rebuild.tree import TableTree
from hakiri.store.snapshots import Place, SnapshotManifest
from hakiri.store.views import SNAPSHOT_LINE


def chain_of(
    tree: TableTree, winners: Sequence[AttemptManifest]
) -> tuple[tuple[SnapshotManifest, ...], list[Problem]]:
    """The snapshots of a table in their order, the one in force last; and files that are missing.

    It is the one that goes the furthest and has all of its files. One that nobody came to commit is as good
    as any: it holds the same rows. Of two that go as far it is the one that readers see. Older ones are known
    as long as their manifests are there.
    """

    def rank(one: SnapshotManifest) -> tuple[int, bool, datetime]:
        return one.frontier, f"{SNAPSHOT_LINE}{one.snapshot}\n" in tree.view, one.created_at

    newest_first = sorted(tree.snapshots, key=rank, reverse=True)
    problems: list[Problem] | None = None
    for snapshot in [*newest_first, None]:
        missing = [*_missing(tree, winners, snapshot)]
        if not missing:
            return _with_older(tree, snapshot), []
        problems = problems or missing  # of the best that there is
    return (), problems or []


def files_beside(
    winners: Iterable[AttemptManifest], snapshot: SnapshotManifest | None
) -> Iterator[AttemptManifest]:
    """Those whose rows are read from their own files."""
    for one in winners:
        if snapshot is None or snapshot.place_of(one.seq) is Place.CHUNK:
            yield one


def snapshot_files(snapshot: SnapshotManifest) -> dict[str, int]:
    """The files of a snapshot by their paths below the root of the store, with their sizes."""
    return {f"tables/{snapshot.table}/data/{file.path}": file.bytes for file in snapshot.files}


def attempt_files(one: AttemptManifest) -> dict[str, int]:
    """The files with an attempt's rows, as above."""
    return {f"{one.place}/{file.name}": file.bytes for file in one.files}


def _missing(
    tree: TableTree, winners: Sequence[AttemptManifest], snapshot: SnapshotManifest | None
) -> Iterator[Problem]:
    needed: dict[str, int] = {}
    if snapshot is not None:
        needed |= snapshot_files(snapshot)
        for index in _lacking(tree, snapshot):
            place = f"tables/{tree.table}/indexes/{index}/{snapshot_name(snapshot.snapshot)}"
            yield Problem(path=place, why="is missing, or not all of it is there")
    for one in files_beside(winners, snapshot):
        needed |= attempt_files(one)
    for one in winners:
        needed |= {f"{one.place}/{file.name}": file.bytes for file in one.quarantine}
    for path, size in needed.items():
        if path not in tree.sizes:
            yield Problem(path=path, why="is missing")
        elif tree.sizes[path] != size:
            yield Problem(path=path, why=f"has {tree.sizes[path]} bytes instead of {size}")


def _with_older(tree: TableTree, snapshot: SnapshotManifest | None) -> tuple[SnapshotManifest, ...]:
    known = {one.snapshot: one for one in tree.snapshots}
    chain: list[SnapshotManifest] = []
    while snapshot is not None and snapshot not in chain and not _lacking(tree, snapshot):
        chain.append(snapshot)
        snapshot = None if snapshot.base is None else known.get(snapshot.base)
    return tuple(reversed(chain))


def _lacking(tree: TableTree, snapshot: SnapshotManifest) -> list[IndexId]:
    """The indexes that a snapshot names, and that are not beside it."""
    there = {found.sidecar.index for found in tree.sidecars.get(snapshot.snapshot, ())}
    return [index for index in snapshot.indexes if index not in there]
