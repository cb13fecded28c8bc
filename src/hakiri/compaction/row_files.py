"""Rows out of files in the columns of today, and rows into the files of a snapshot, in their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hakiri.compaction.conforming import Conformer
from hakiri.compaction.errors import ColumnsDisagree, FileDamaged
from hakiri.compaction.exchange import ROWS_AT_ONCE
from hakiri.compaction.ordering import Numbers, newest_of_each
from hakiri.compaction.tasks import InputFile, PartOfSnapshot, Recipe
from hakiri.compaction.verify_tasks import is_whole
from hakiri.store.files import Files, LocalFiles
from hakiri.store.parts import DICTIONARY_BYTES, PAGE_BYTES, PartFile
from hakiri.store.rows import OP, POSITION, SEQ, Op


def with_label(schema: pa.Schema, recipe: Recipe) -> pa.Schema:
    """The columns that rows have on their way: their own, and that of the partition if there are any."""
    return schema if recipe.partitioning is None else schema.append(pa.field(recipe.label, pa.string()))


def laid_out(rows: pa.RecordBatch, recipe: Recipe) -> pa.Table:
    """The rows with the partition that each belongs to, if there are any."""
    table = pa.Table.from_batches([rows])
    if recipe.partitioning is None:
        return table
    return table.append_column(recipe.label, recipe.partitioning.labels(rows))


@contextmanager
def opened(file: InputFile) -> Iterator[pq.ParquetFile]:
    """A file to read from. Raises FileDamaged where it cannot be read and is not what was written."""
    try:
        with pq.ParquetFile(file.path, memory_map=True) as parquet:
            yield parquet
    except (OSError, pa.ArrowException) as error:
        if is_whole(file):
            raise
        raise FileDamaged(file.path) from error


def batches(inputs: Sequence[InputFile], conform: Conformer) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of files, with how many were found before some of them were left out."""
    for file in inputs:
        with opened(file) as parquet:
            columns = conform.columns_in(file.schema_version)
            for batch in parquet.iter_batches(ROWS_AT_ONCE, columns=columns, use_threads=False):
                left = _without(batch, file.excluded)
                yield batch.num_rows, conform.conformed(left, file.schema_version)


def whole_batches(inputs: Sequence[InputFile], conform: Conformer) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The same, of files that are what was written: what is not must not go on into a snapshot.

    Raises FileDamaged.
    """
    for file in inputs:
        if not (file.is_checked or is_whole(file)):
            raise FileDamaged(file.path)
        yield from batches([file], conform)


def first_row(file: InputFile, conform: Conformer) -> pa.RecordBatch:
    """The first row of a file that has any."""
    with opened(file) as parquet:
        columns = conform.columns_in(file.schema_version)
        batch = next(parquet.iter_batches(1, row_groups=[0], columns=columns, use_threads=False))
        return conform.conformed(batch, file.schema_version)


def sampled(file: InputFile, conform: Conformer, groups: int, rows_a_group: int) -> Iterator[pa.RecordBatch]:
    """Some rows of some row groups, spread evenly."""
    with opened(file) as parquet:
        columns = conform.columns_in(file.schema_version)
        step = max(1, parquet.num_row_groups // groups)
        for number in range(0, parquet.num_row_groups, step):
            rows = parquet.read_row_group(number, columns=columns, use_threads=False).combine_chunks()
            stride = max(1, rows.num_rows // rows_a_group)
            for batch in rows.take(pa.array(np.arange(0, rows.num_rows, stride))).to_batches():
                yield conform.conformed(batch, file.schema_version)


def newest(rows: pa.Table, recipe: Recipe) -> Numbers:
    """The places of the rows that count among these: of one key the newest, deletes too; else all."""
    if not recipe.primary_key:
        return np.arange(rows.num_rows)
    return newest_of_each(rows, recipe.primary_key, (SEQ, POSITION))


def not_deleted(rows: pa.Table, places: Numbers) -> Numbers:
    """Those of the places whose row is no delete. A table that had a key has deletes without it too."""
    is_delete: Numbers = pc.equal(rows.column(OP), Op.DELETE.value).to_numpy()
    kept: Numbers = places[~is_delete[places]]
    return kept


def written(
    rows: pa.Table,
    places: Numbers,
    recipe: Recipe,
    *,
    schema: pa.Schema,
    folder: Path,
    parts: Sequence[int],
    files: Files | None = None,
) -> Iterator[PartOfSnapshot]:
    """The rows at these places, which are in their order: as many files as parts for each partition.

    `schema` are the columns to write; the rows may have others beside. Raises ColumnsDisagree when a file has
    not the columns of the recipe after all: what it takes the place of would go in time.
    """
    files = files or LocalFiles()
    for label, some in _by_label(rows, places, recipe):
        below = "" if label is None or recipe.partitioning is None else recipe.partitioning.folder(label)
        for part, share in zip(parts, np.array_split(some, len(parts)), strict=True):
            one = PartFile(
                folder / below,
                stem="part",
                part=part,
                schema=schema,
                files=files,
                rows_a_group=recipe.rows_a_group,
                sorted_by=tuple(name for name in recipe.order if name in schema.names),
                tuning=_tuning(schema, recipe),
            )
            for start in range(0, len(share), recipe.rows_a_group):
                group = rows.select(schema.names).take(pa.array(share[start : start + recipe.rows_a_group]))
                for batch in group.combine_chunks().to_batches():
                    one.write(batch, np.zeros(batch.num_rows, np.int64))
            done = one.finish()
            if done is None:
                continue
            _refuse_other_columns(pq.read_schema(folder / below / done.name).names, recipe)
            files.sync_folder(folder / below)
            yield PartOfSnapshot(
                path=f"{below}/{done.name}" if below else done.name,
                rows=done.rows,
                bytes=done.bytes,
                sha256=done.sha256,
                partition=label,
            )


def _without(rows: pa.RecordBatch, excluded: tuple[int, ...]) -> pa.RecordBatch:
    if not excluded:
        return rows
    return rows.filter(pc.invert(pc.is_in(rows.column(SEQ), pa.array(excluded, pa.int64()))))


def _refuse_other_columns(found: Sequence[str], recipe: Recipe) -> None:
    wanted = recipe.columns
    if tuple(found) != wanted:
        missing = [name for name in wanted if name not in found]
        raise ColumnsDisagree(recipe.table, missing, [name for name in found if name not in wanted])


def _by_label(rows: pa.Table, places: Numbers, recipe: Recipe) -> Iterator[tuple[str | None, Numbers]]:
    if recipe.partitioning is None or not len(places):
        yield None, places
        return
    labels = rows.column(recipe.label).take(pa.array(places)).combine_chunks().dictionary_encode()
    codes = labels.indices.to_numpy()
    cuts = [0, *(np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist(), len(codes)]
    for start, end in pairwise(cuts):
        yield labels.dictionary[codes[start]].as_py(), places[start:end]


def _tuning(schema: pa.Schema, recipe: Recipe) -> dict[str, Any]:
    """How DuckDB likes its Parquet: with statistics of pages, and a filter for what is looked up by value."""
    order = [name for name in recipe.order if name in schema.names]
    tuning: dict[str, Any] = {
        "write_page_index": True,
        "data_page_size": PAGE_BYTES,
        "dictionary_pagesize_limit": DICTIONARY_BYTES,
        "sorting_columns": pq.SortingColumn.from_ordering(schema, [(name, "ascending") for name in order]),
    }
    if recipe.blooms:
        tuning["bloom_filter_options"] = dict.fromkeys(recipe.blooms, True)
    return tuning
