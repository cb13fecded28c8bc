"""What readers may see of a table at which two worked, and what must not be left lying about."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb
from tests.compaction.matrix.tables import Naive
from tests.store.workshop import ORDERS

from hakiri.catalog.contract import Catalog
from hakiri.compaction.runs import queue_of
from hakiri.compaction.strays import stray_files
from hakiri.core.ids import ChunkId, RunId
from hakiri.store.layout import StoreLayout
from hakiri.store.reading import visible_files
from hakiri.store.snapshots import SnapshotManifest

Seen = tuple[tuple[str, ...], list[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class Reader:
    """Stock DuckDB on `duck.db`. It is started once: that takes twenty times as long as to ask it."""

    connection: duckdb.DuckDBPyConnection

    def open(self, layout: StoreLayout) -> None:
        """Open the views as they are now, and stay with them."""
        self.connection.execute("DETACH DATABASE IF EXISTS store")
        self.connection.execute(f"ATTACH '{layout.duck_db}' AS store (READ_ONLY)")

    def seen(self) -> Seen:
        answer = self.connection.execute("SELECT * FROM store.orders")
        names = tuple(column[0] for column in answer.description or ())
        return names, sorted(answer.fetchall(), key=repr)

    def close(self) -> None:
        self.connection.execute("DETACH DATABASE IF EXISTS store")


@contextmanager
def stock_reader() -> Iterator[Reader]:
    # With one thread, which is ours: processes may be forked off this one.
    with duckdb.connect(config={"threads": 1}) as connection:
        yield Reader(connection)


def of(table: Naive) -> Seen:
    return table.columns, table.rows()


def leaked(layout: StoreLayout, catalog: Catalog, now: datetime) -> set[str]:
    """Files of rows that nobody reads and nobody will ever delete, below the root.

    Not those that the next collection finds and names, nor those that somebody may still be about.
    """
    found = visible_files(layout, catalog, ORDERS)
    assert found is not None
    read = {layout.relative(path) for paths in found.files.values() for path in paths}
    named = {file.path for file in catalog.garbage.due(now, limit=10_000)}
    there = {layout.relative(path) for path in layout.data_folder(ORDERS).rglob("*.parquet")}
    left = there - read - named - set(stray_files(catalog, layout, ORDERS))
    open_runs = [run.run for run in catalog.runs.latest(queue_of(ORDERS)) if not run.status.has_ended]
    return {
        path
        for path in left
        if not _may_win(catalog, path) and not any(f"-{run[-8:]}" in path for run in open_runs)
    }


def untold(catalog: Catalog) -> list[str]:
    """Snapshots of which nobody can say what they were made of or, if they were restored, who wanted it."""
    wanted = {json.loads(entry.after or "{}").get("run") for entry in catalog.audit.page(limit=1000)}
    return [
        made.snapshot
        for made in (SnapshotManifest.parse(each.manifest) for each in catalog.snapshots.all(ORDERS))
        if not {*made.includes_runs} <= {edge.parent for edge in catalog.lineage.parents(made.run)}
        or (any(each.snapshot == made.snapshot for each in made.withdrawals) and made.run not in wanted)
    ]


def _may_win(catalog: Catalog, path: str) -> bool:
    found = re.search(r"/runs/(?P<run>[^/]+)/[^/]+/chunk-(?P<chunk>\d+)/", path)
    run = None if found is None else catalog.runs.get(RunId(found["run"]))
    if found is None or run is None:
        return False
    chunk = catalog.chunks.get(run.pipeline, ChunkId(int(found["chunk"])))
    return chunk is not None and chunk.winning_attempt is None
