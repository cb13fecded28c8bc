"""What becomes of a stored table when a pipeline brings columns to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hakiri.core.ids import TableName
from hakiri.pipelines.evolution import (
    ContractMode,
    Evolution,
    TableShape,
    evolve,
    exact_columns,
    shape_of,
)
from hakiri.pipelines.stored import FindFiles

if TYPE_CHECKING:
    from hakiri.catalog.contract.schemas import TableSchema
    from hakiri.manifest import TableSpec


def decided(
    stored: TableSchema | None,
    incoming: TableShape,
    spec: TableSpec,
    *,
    store: TableName,
    is_open: bool,
    find_files: FindFiles,
) -> Evolution:
    """The evolution of one table by its contract. Files are looked at only where a rule depends on values."""
    before = None if stored is None else shape_of(stored)
    exact = frozenset[str]() if before is None else exact_columns(before, incoming, _paths(store, find_files))
    return evolve(before, incoming, mode=ContractMode(spec.contract), is_open=is_open, exact=exact)


def _paths(table: TableName, find_files: FindFiles) -> Iterator[Path]:
    """The files of the table, asked for when the first is."""
    files = find_files(table)
    for group in files.files.values() if files is not None else ():
        yield from group
