"""Reading the store: by DuckDB through its views, or file by file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from hakiri.catalog.contract import Catalog
from hakiri.core.ids import TableName
from hakiri.store.layout import StoreLayout

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleFiles:
    """The files of a table at one moment, by the schema version they were written in."""

    primary_key: tuple[str, ...]
    schemas: Mapping[int, pa.Schema]
    files: Mapping[int, tuple[Path, ...]]
    quarantine: tuple[Path, ...]


def open_reader(layout: StoreLayout) -> duckdb.DuckDBPyConnection:
    """A connection that has every view of the store and can change none; writers may go on meanwhile."""
    raise NotImplementedError


def visible_files(layout: StoreLayout, catalog: Catalog, table: TableName) -> VisibleFiles | None:
    """What a reader of the table reads now, or None for a table that has no schema yet."""
    raise NotImplementedError
