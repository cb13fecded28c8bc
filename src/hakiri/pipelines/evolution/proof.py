"""Whether the whole numbers of a column are all doubles: told by the footers of its files alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import types as kinds

from hakiri.pipelines.evolution.shapes import TableShape, path_of, renamed_from
from hakiri.pipelines.evolution.tidy import tidied
from hakiri.pipelines.evolution.types import LARGEST_EXACT_IN_DOUBLE, is_widening_for_some
from hakiri.store.schemas import former_names

if TYPE_CHECKING:
    from pyarrow.parquet import ColumnChunkMetaData, FileMetaData


def exact_columns(stored: TableShape, incoming: TableShape, files: Iterable[Path]) -> frozenset[str]:
    """The int64 columns that come in as double, and whose stored numbers are all within 2 to the power of 53.

    They are named as `evolve` wants them. Give every Parquet file that the table has; where no column is in
    doubt, none is opened.
    """
    doubtful = dict(_doubtful(stored, incoming))
    for file in files if doubtful else ():
        doubtful = _still_exact(file, doubtful)
        if not doubtful:
            break
    return frozenset(doubtful)


def _still_exact(file: Path, doubtful: dict[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    from pyarrow.parquet import read_metadata

    footer = read_metadata(file)
    return {path: places for path, places in doubtful.items() if _is_exact(footer, places)}


def _doubtful(stored: TableShape, incoming: TableShape) -> Iterator[tuple[str, frozenset[str]]]:
    """The columns in doubt, each with the names that it may have inside of a Parquet file."""
    columns, _ = tidied(list(incoming.schema))
    for new in columns:
        wanted = (new.name, renamed_from(new))
        for old in stored.schema:
            if old.name in wanted:
                names = frozenset((old.name, *former_names(old)))
                yield from _doubtful_inside(old.type, new.type, path_of("", new.name), names)


def _doubtful_inside(
    old: pa.DataType, new: pa.DataType, path: str, places: frozenset[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    if is_widening_for_some(old, new):
        yield path, places
    elif kinds.is_struct(old) and kinds.is_struct(new):
        after = {field.name: field.type for field in new}
        for field in old:
            inner = frozenset(f"{place}.{field.name}" for place in places)
            if field.name in after:
                yield from _doubtful_inside(field.type, after[field.name], path_of(path, field.name), inner)
    elif kinds.is_list(old) and kinds.is_list(new):
        inner = frozenset(f"{place}.list.element" for place in places)
        yield from _doubtful_inside(old.value_type, new.value_type, f"{path}[]", inner)
    elif kinds.is_map(old) and kinds.is_map(new):
        inner = frozenset(f"{place}.key_value.value" for place in places)
        yield from _doubtful_inside(old.item_type, new.item_type, f"{path}[value]", inner)


def _is_exact(footer: FileMetaData, places: Collection[str]) -> bool:
    return all(
        _is_chunk_exact(chunk)
        for group in map(footer.row_group, range(footer.num_row_groups))
        for chunk in map(group.column, range(group.num_columns))
        if chunk.path_in_schema in places and chunk.physical_type == "INT64"
    )


def _is_chunk_exact(chunk: ColumnChunkMetaData) -> bool:
    if chunk.num_values == 0:
        return True
    found = chunk.statistics
    if found is None:
        return False
    if not found.has_min_max:
        return bool(found.has_null_count and found.null_count == chunk.num_values)
    return bool(found.min >= -LARGEST_EXACT_IN_DOUBLE and found.max <= LARGEST_EXACT_IN_DOUBLE)
