"""Reading the store: by DuckDB through its views, or file by file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from hakiri.catalog.contract import Catalog
from hakiri.core.ids import TableName
from hakiri.store.descent import descent
from hakiri.store.layout import StoreLayout
from hakiri.store.query.connecting import connect
from hakiri.store.state import table_state

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleFiles:
    """The files of a table at one moment, by the schema version they were written in.

    The highest of `schemas` is the current one. Rows of `excluded` claims are in files of a snapshot, and do
    not count any more.
    """

    primary_key: tuple[str, ...]
    schemas: Mapping[int, pa.Schema]
    files: Mapping[int, tuple[Path, ...]]
    quarantine: tuple[Path, ...]
    excluded: tuple[int, ...] = ()

    def names_in(self, version: int) -> dict[str, str]:
        """What today's columns are called in the files of a version; those that it lacks are left out."""
        nodes = descent(self.schemas)
        old = {node.identity: node.name for node in nodes[version]}
        return {node.name: old[node.identity] for node in nodes[max(self.schemas)] if node.identity in old}


def visible_files(layout: StoreLayout, catalog: Catalog, table: TableName) -> VisibleFiles | None:
    """What a reader of the table reads now, or None for a table that has no schema yet."""
    state = table_state(layout, catalog, table)
    if state is None:
        return None
    return VisibleFiles(
        primary_key=state.primary_key,
        schemas=state.schemas,
        files={
            version: tuple(map(Path, (*state.folded.get(version, ()), *state.files.get(version, ()))))
            for version in state.folded.keys() | state.files.keys()
        },
        quarantine=tuple(map(Path, state.quarantine)),
        excluded=state.excluded,
    )


def open_reader(layout: StoreLayout) -> duckdb.DuckDBPyConnection:
    """A connection that has every view of the store, as they are now, and can change none.

    Writers may go on meanwhile; the connection stays with the views that it opened. Tables of its own are
    temporary.
    """
    return connect(layout)
