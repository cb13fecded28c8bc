"""A table as the catalog says it is at one moment, with the files that a reader reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import pyarrow as pa

from hakiri.catalog.contract import Catalog
from hakiri.core.ids import TableName
from hakiri.store.descent import descent
from hakiri.store.known_tables import KnownTable, LandedChunks, known_table, set_aside
from hakiri.store.layout import StoreLayout
from hakiri.store.schemas import schema_from
from hakiri.store.snapshots import SnapshotManifest
from hakiri.store.views import TableState


def table_state(
    layout: StoreLayout, catalog: Catalog, table: TableName, chunks: LandedChunks | None = None
) -> TableState | None:
    """The table as it is now; None while it has no schema."""
    known = known_table(catalog, table, chunks)
    return None if known is None else state_of(layout, known)


def state_of(layout: StoreLayout, known: KnownTable) -> TableState:
    """The files of a table, as its view names them."""
    root, found = str(layout.root), known.contents
    schemas = {step.version: schema_from(step.after) for step in known.log}
    folded = _folded(layout, found.snapshot)
    files = [(one.schema_version, f"{root}/{file.path}") for one in found.chunks for file in one.files]
    rows = sum(file.rows for one in found.chunks for file in one.files)
    if found.snapshot is not None and not _has_key(found.snapshot, known.primary_key, schemas):
        # It may have several rows of what is one key now: they are found as those of chunks are.
        files, folded, rows = [*folded, *files], [], found.snapshot.rows + rows
    return TableState(
        table=known.table,
        primary_key=known.primary_key,
        schemas=schemas,
        revision=found.revision,
        since=known.since,
        root=root,
        files=_by_version(files),
        rows=rows,
        quarantine=tuple(f"{root}/{path}" for one in set_aside(found) for path in one.quarantine),
        snapshot=None if found.snapshot is None else found.snapshot.snapshot,
        folded=_by_version(folded),
        excluded=found.excluded,
        had_key=any(one.primary_key for one in found.chunks),
    )


def _has_key(
    snapshot: SnapshotManifest, primary_key: tuple[str, ...], schemas: Mapping[int, pa.Schema]
) -> bool:
    """Whether a snapshot has each key once, whatever the columns were called by then; without one it has.

    Columns that have the same names may be others.
    """
    current = max(schemas)
    if not primary_key or (snapshot.primary_key, snapshot.schema_version) == (primary_key, current):
        return True
    versions = descent(schemas)
    then, now = versions.get(snapshot.schema_version, ()), versions[current]
    return {node.identity for node in then if node.name in snapshot.primary_key} == {
        node.identity for node in now if node.name in primary_key
    }


def _folded(layout: StoreLayout, snapshot: SnapshotManifest | None) -> list[tuple[int, str]]:
    if snapshot is None:
        return []
    data = layout.data_folder(snapshot.table)
    return [(file.schema_version, f"{data}/{file.path}") for file in snapshot.files]


def _by_version(paths: Iterable[tuple[int, str]]) -> Mapping[int, tuple[str, ...]]:
    found: dict[int, list[str]] = defaultdict(list)
    for version, path in paths:
        found[version].append(path)
    return {version: tuple(some) for version, some in found.items()}
