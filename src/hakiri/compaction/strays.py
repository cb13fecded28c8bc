"""What crashes left behind in a table's folder: attempts that did not win, and snapshots that never were."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import Chunk
from hakiri.compaction.runs import queue_of
from hakiri.core.ids import ChunkId, PipelineId, RunId, SnapshotId, TableName
from hakiri.store.layout import StoreLayout

_ATTEMPT = re.compile(r"(?P<run>[^/]+)/(?P<node>[^/]+)/chunk-(?P<chunk>\d+)/attempt-(?P<number>\d+)")
_LATEST_RUNS = 1000
_SNAPSHOT = re.compile(r"snapshot=(?P<id>.+?)(?P<staging>\.staging)?")


def stray_files(catalog: Catalog, layout: StoreLayout, table: TableName) -> Iterator[str]:
    """Files below the root that nobody will ever read, whatever still happens: the losers of their chunk.

    An attempt that may still win is none of them, nor is a snapshot that somebody may still be making.
    """
    data = layout.data_folder(table)
    for folder in _attempts(data / "runs"):
        if _has_lost(catalog, folder.relative_to(data / "runs").as_posix()):
            yield from _files(layout, folder)
    for folder in _left_folders(catalog, layout, table):
        yield from _files(layout, folder)


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
