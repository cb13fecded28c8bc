"""What crashes left in a table's folder: attempts that did not win, snapshots that never were, and files of
tasks that were done again."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import Chunk
from hakiri.catalog.contract.snapshots import Snapshot
from hakiri.compaction.runs import queue_of
from hakiri.core.ids import ChunkId, PipelineId, RunId, SnapshotId, TableName
from hakiri.store.layout import StoreLayout, snapshot_name
from hakiri.store.manifests import FILE_NAME
from hakiri.store.snapshots import SnapshotManifest

_ATTEMPT = re.compile(r"(?P<run>[^/]+)/(?P<node>[^/]+)/chunk-(?P<chunk>\d+)/attempt-(?P<number>\d+)")
_LATEST_RUNS = 1000
_SNAPSHOT = re.compile(r"snapshot=(?P<id>.+?)(?P<staging>\.staging)?")


def stray_files(catalog: Catalog, layout: StoreLayout, table: TableName) -> Iterator[str]:
    """Files below the root that nobody will ever read, whatever still happens: the losers of their chunk.

    An attempt that may still win is none of them, nor is a snapshot that somebody may still be making, nor
    what the manifest of any snapshot names that there is or was.
    """
    data = layout.data_folder(table)
    for folder in _attempts(data / "runs"):
        if _has_lost(catalog, folder.relative_to(data / "runs").as_posix()):
            yield from _files(layout, folder)
    left = [path for folder in _left_folders(catalog, layout, table) for path in _files(layout, folder)]
    left += _unnamed_files(catalog, layout, table)
    if left:
        named = _named_files(layout, catalog.snapshots.all(table))
        yield from (path for path in left if path not in named)


def stray_folders(catalog: Catalog, layout: StoreLayout, table: TableName) -> Iterator[Path]:
    """Folders of such snapshots, and those inside, that nothing is in: whoever made them died right then.

    The deepest come first.
    """
    for folder in _left_folders(catalog, layout, table):
        if not any(_files(layout, folder)):
            yield from sorted((folder, *folder.rglob("*")), reverse=True)


def _left_folders(catalog: Catalog, layout: StoreLayout, table: TableName) -> Iterator[Path]:
    data, indexes = layout.data_folder(table), layout.table_folder(table) / "indexes"
    for folder in sorted((*data.glob("snapshot=*"), *indexes.glob("*/snapshot=*"))):
        found = _SNAPSHOT.fullmatch(folder.name)
        if found is not None and _is_left(catalog, table, SnapshotId(found["id"]), found["staging"]):
            yield folder


def _unnamed_files(catalog: Catalog, layout: StoreLayout, table: TableName) -> Iterator[str]:
    """Files in folders of snapshots that the manifest of each does not name, as it does all that counts."""
    for folder in sorted(layout.data_folder(table).glob("snapshot=*")):
        found = _SNAPSHOT.fullmatch(folder.name)
        if found is None or found["staging"]:
            continue
        snapshot = catalog.snapshots.get(SnapshotId(found["id"]))
        if snapshot is not None:
            named = _named_files(layout, (snapshot,))
            yield from (path for path in _files(layout, folder) if path not in named)


def _named_files(layout: StoreLayout, snapshots: Collection[Snapshot]) -> frozenset[str]:
    """The files that manifests name, and these themselves, below the root."""
    places = set[Path]()
    for each in snapshots:
        data = layout.data_folder(each.table)
        places |= {data / file.path for file in SnapshotManifest.parse(each.manifest).files}
        places.add(data / snapshot_name(each.snapshot) / FILE_NAME)
    return frozenset(layout.relative(path) for path in places)


def _attempts(runs: Path) -> Iterator[Path]:
    return iter(sorted(runs.glob("*/*/chunk-*/attempt-*")))


def _has_lost(catalog: Catalog, place: str) -> bool:
    """Whether another attempt at the chunk has won, or has begun since."""
    found = _ATTEMPT.fullmatch(place)
    run = None if found is None else catalog.runs.get(RunId(found["run"]))
    if found is None or run is None:
        return False  # nobody here knows it; it is told by a check, and left alone
    chunk = catalog.chunks.get(PipelineId(run.pipeline), ChunkId(int(found["chunk"])))
    return chunk is not None and _is_beaten(chunk, found["run"], found["node"], int(found["number"]))


def _is_beaten(chunk: Chunk, run: str, node: str, number: int) -> bool:
    if chunk.winning_attempt is not None:
        return (chunk.run, chunk.winning_attempt) != (run, f"{node}/attempt-{number}")
    return number < chunk.attempts


def _is_left(catalog: Catalog, table: TableName, snapshot: SnapshotId, staging: str | None) -> bool:
    """Whether no catalog row names the snapshot, and the run that made it is over.

    What is in staging of one that is named was copied to its place.
    """
    if catalog.snapshots.get(snapshot) is not None:
        return staging is not None
    runs = catalog.runs.latest(queue_of(table), limit=_LATEST_RUNS)
    made_by = [run for run in runs if snapshot.endswith(run.run[-8:])]
    return bool(made_by) and all(run.status.has_ended for run in made_by)


def _files(layout: StoreLayout, folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield layout.relative(path)
