"""Which snapshot of a table is in force, and whether every file is there that a reader reads then. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from hakiri.core.ids import IndexId, SnapshotId
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

    It is the one that readers see, or that was made from there, goes the furthest and has all of its files.
    One that nobody came to commit is as good as any: it holds the same rows. Those of a restore are others:
    what it made counts when readers saw it or something was made from there, and then nothing counts that
    does not know of it. Older snapshots are known as long as their manifests are there.
    """
    lines = {one.snapshot: _line(tree, one) for one in tree.snapshots}

    def is_shown(one: SnapshotManifest) -> bool:
        return f"{SNAPSHOT_LINE}{one.snapshot}\n" in tree.view

    def rank(one: SnapshotManifest) -> tuple[bool, int, bool, datetime]:
        return any(map(is_shown, lines[one.snapshot])), one.frontier, is_shown(one), one.created_at

    bases = {one.base for one in tree.snapshots}
    counting = [
        one
        for one in tree.snapshots
        if not one.is_restore or one.snapshot in bases or is_shown(one) or not tree.view
    ]
    restores = {restore for one in counting for restore in _restores(lines[one.snapshot])}
    problems: list[Problem] | None = None
    for snapshot in [*sorted(counting, key=rank, reverse=True), None]:
        line = () if snapshot is None else lines[snapshot.snapshot]
        if _restores(line) != restores:
            continue
        missing = [*_missing(tree, winners, snapshot)]
        if not missing:
            return _whole(tree, line), []
        problems = problems or missing  # of the best that there is
    return (), problems or []


def _line(tree: TableTree, snapshot: SnapshotManifest) -> tuple[SnapshotManifest, ...]:
    """A snapshot behind all that are known of those that it was made from, one after the other."""
    known = {one.snapshot: one for one in tree.snapshots}
    line: list[SnapshotManifest] = []
    before: SnapshotManifest | None = snapshot
    while before is not None and before not in line:
        line.append(before)
        before = None if before.base is None else known.get(before.base)
    return tuple(reversed(line))


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


def _whole(tree: TableTree, line: tuple[SnapshotManifest, ...]) -> tuple[SnapshotManifest, ...]:
    """The end of a line that has all of its sidecars."""
    lacking = [place for place, one in enumerate(line) if _lacking(tree, one)]
    return line[max(lacking, default=-1) + 1 :]


def _restores(line: Iterable[SnapshotManifest]) -> frozenset[SnapshotId]:
    """All restores that a line of snapshots knows of."""
    return frozenset(each.snapshot for one in line for each in one.withdrawals)


def _lacking(tree: TableTree, snapshot: SnapshotManifest) -> list[IndexId]:
    """The indexes that a snapshot names, and that are not beside it."""
    there = {found.sidecar.index for found in tree.sidecars.get(snapshot.snapshot, ())}
    return [index for index in snapshot.indexes if index not in there]
