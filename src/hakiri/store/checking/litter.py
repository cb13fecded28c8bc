"""Files that no row of the catalog names. They are told, never touched."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import Chunk, ChunkStatus
from hakiri.core.ids import PipelineId, TableName
from hakiri.store.checking.advice import NAMED_BY_GC
from hakiri.store.checking.findings import Finding, Kind
from hakiri.store.layout import StoreLayout, attempt_place

_QUIET = timedelta(minutes=10)  # what changed since may be somebody's work
_FAR = timedelta(days=365_000)
_PAGE = 1000
_PENDING = re.compile(r"(^|/)\.[^/]+\.pending$")
_TABLE = re.compile(r"tables/(?P<table>[^/]+)/")
_ATTEMPT = re.compile(r"tables/[^/]+/data/runs/[^/]+/[^/]+/chunk-\d+/attempt-\d+/")
_SNAPSHOT = re.compile(r"tables/[^/]+/(?:data|indexes/[^/]+)/snapshot=(?P<id>[^/]+?)(?P<staging>\.staging)?/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A file that is there."""

    bytes: int
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the catalog names: files, snapshots, and the folders of attempts that may still win."""

    tables: frozenset[TableName]
    paths: frozenset[str]
    snapshots: frozenset[str]
    under_way: frozenset[str]
    doomed: Mapping[str, datetime]


def files_seen(layout: StoreLayout) -> dict[str, Seen]:
    """All files below `tables/` and `views/`, by their paths below the root."""
    return dict(_walk(layout, layout.tables)) | dict(_walk(layout, layout.views))


def attempts_under_way(catalog: Catalog) -> frozenset[str]:
    """The folders of all attempts that may still win."""
    return frozenset(
        attempt_place(
            table=chunk.table, run=chunk.run, node=chunk.holder, chunk=chunk.chunk, number=chunk.attempts
        )
        for pipeline in catalog.pipelines.all()
        for chunk in _running(catalog, pipeline.pipeline)
        if chunk.run is not None and chunk.holder is not None
    )


def _running(catalog: Catalog, pipeline: PipelineId) -> Iterator[Chunk]:
    after = None
    while chunks := catalog.chunks.page(pipeline, status=ChunkStatus.RUNNING, after=after, limit=_PAGE):
        yield from chunks
        after = chunks[-1].chunk


def files_doomed(catalog: Catalog, now: datetime) -> dict[str, datetime]:
    """Files that a collection will delete, and how long they are kept."""
    limit = _PAGE
    while len(files := catalog.garbage.due(now + _FAR, limit=limit)) == limit:
        limit *= 10
    return {file.path: file.keep_until for file in files}


def litter(seen: Mapping[str, Seen], known: Known, now: datetime) -> Iterator[Finding]:
    """What is there and nobody's, folder by folder where a whole folder is. Pure."""
    groups: dict[tuple[Kind, str], list[str]] = defaultdict(list)
    owned = {path[: found.end()] for path in known.paths if (found := _ATTEMPT.match(path))}
    for path in seen.keys() - known.paths:
        attempt = _ATTEMPT.match(path)
        if attempt is None or attempt[0].removesuffix("/") not in known.under_way:
            groups[_group(path, known, owned)].append(path)
    for (kind, place), paths in groups.items():
        changed_at = max(seen[path].changed_at for path in paths)
        may_be_at_work = kind in (Kind.STAGING, Kind.UNKNOWN_SNAPSHOT) or _PENDING.search(place)
        if may_be_at_work and now - changed_at < _QUIET:
            continue
        found = _TABLE.match(place)
        yield Finding(
            kind=kind,
            path=place,
            table=None if found is None else TableName(found["table"]),
            found=f"{_WORDS[kind]}{'' if len(paths) == 1 else f', {len(paths):,} files'}",
            advice=_advice(kind, paths, known),
            bytes=sum(seen[path].bytes for path in paths),
            age=max(now - changed_at, timedelta()),
        )


_WORDS = {
    Kind.ORPHAN: "the catalog does not name it",
    Kind.STAGING: "a compaction began it and did not come to its end",
    Kind.UNKNOWN_SNAPSHOT: "a compaction finished it, and nobody committed it",
    Kind.UNKNOWN_TABLE: "the catalog has no such table",
}


def _group(path: str, known: Known, owned: Collection[str]) -> tuple[Kind, str]:
    """What a file that nobody names is, and the folder that it is told with."""
    table = _TABLE.match(path)
    if table is not None and table["table"] not in known.tables:
        return Kind.UNKNOWN_TABLE, table[0]
    attempt = _ATTEMPT.match(path)
    if attempt is not None and attempt[0] not in owned:
        return Kind.ORPHAN, attempt[0]
    snapshot = _SNAPSHOT.match(path)
    if snapshot is not None and snapshot["staging"]:
        return Kind.STAGING, snapshot[0]
    if snapshot is not None and snapshot["id"] not in known.snapshots:
        return Kind.UNKNOWN_SNAPSHOT, snapshot[0]
    return Kind.ORPHAN, path


def _advice(kind: Kind, paths: list[str], known: Known) -> str:
    if kind is Kind.UNKNOWN_TABLE:
        return (
            "if the catalog was lost, `hakiri context rebuild-catalog` makes it from what lies here; "
            "else move the folder away"
        )
    if kept := [known.doomed[path] for path in paths if path in known.doomed]:
        return f"`hakiri context gc` deletes it after {max(kept):%Y-%m-%d %H:%M} UTC"
    if kind is Kind.ORPHAN and len(paths) == 1 and paths[0].count("/") < _DEEP:
        return "move it away if you know what it is; nothing of Hakiri reads it"
    return NAMED_BY_GC


_DEEP = 4


def _walk(layout: StoreLayout, folder: Path) -> Iterator[tuple[str, Seen]]:
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            try:
                facts = path.stat()
            except FileNotFoundError:
                continue  # whoever wrote it has given it its name in this moment
            changed_at = datetime.fromtimestamp(facts.st_mtime, UTC)
            yield layout.relative(path), Seen(bytes=facts.st_size, changed_at=changed_at)
