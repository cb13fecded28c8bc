"""What the tasks of a compaction do: values that travel to them, and the work on these. Nothing of Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hakiri.compaction.conforming import Conformer, conformer
from hakiri.compaction.exchange import ROWS_AT_ONCE, Pieces, Scatter, gathered
from hakiri.compaction.ordering import Numbers, Ranges, newest_of_each, quantiles, sorted_by
from hakiri.compaction.partitions import LABEL, Partitioning
from hakiri.store.files import Files, LocalFiles
from hakiri.store.hashing import content_sum
from hakiri.store.parts import ROWS_A_GROUP, PartFile
from hakiri.store.rows import CONTENT_HASH, OP, POSITION, SEQ, Op
from hakiri.store.schemas import schema_from

_SAMPLED_GROUPS = 32
_SAMPLED_ROWS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file to fold. `excluded` are claims whose rows in it do not count any more."""

    path: str
    schema_version: int
    rows: int
    bytes: int
    excluded: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How the rows of a table become a snapshot: what every task of a compaction knows."""

    table: str
    schemas: Mapping[int, str]
    primary_key: tuple[str, ...]
    cluster_by: tuple[str, ...]
    partitioning: Partitioning | None = None
    blooms: tuple[str, ...] = ()
    rows_a_group: int = ROWS_A_GROUP

    @property
    def order(self) -> tuple[str, ...]:
        """The columns that rows are sorted by; no two rows are alike in all of them."""
        label = (LABEL,) if self.partitioning is not None else ()
        names = (*label, *self.cluster_by, *(self.primary_key or (SEQ, POSITION)))
        return tuple(dict.fromkeys(names))

    def conformer(self) -> Conformer:
        return conformer(self.table, {version: schema_from(text) for version, text in self.schemas.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a task did: the rows that it was given, and those of them that it passed on or kept."""

    read: int = 0
    sent: int = 0
    pieces: Pieces | None = None
    files: tuple[PartOfSnapshot, ...] = ()
    bounds: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOfSnapshot:
    """A file that was written, with its path below the folder of the snapshot."""

    path: str
    rows: int
    bytes: int
    sha256: str
    content_sum: int
    partition: str | None = None


class Task(Protocol):
    """A piece of work for one Spark task. It may be done twice, at once even, and only one report counts."""

    def work(self, attempt: str) -> Report:
        """Do it; `attempt` is a name that no other try has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTask:
    """Looks at a few row groups, and says where ranges of about equal size begin."""

    recipe: Recipe
    inputs: tuple[InputFile, ...]
    by: Mapping[str, tuple[str, ...]]
    count: int

    def work(self, attempt: str) -> Report:
        conform = self.recipe.conformer()
        step = max(1, len(self.inputs) // _SAMPLED_GROUPS)
        chosen = self.inputs[::step]
        groups_a_file = max(1, _SAMPLED_GROUPS // len(chosen))
        tables = [
            _laid_out(rows, self.recipe) for file in chosen for rows in _sampled(file, conform, groups_a_file)
        ]
        sample = pa.concat_tables(tables)
        bounds = {name: _text_of(quantiles(sample, columns, self.count)) for name, columns in self.by.items()}
        return Report(read=sample.num_rows, bounds=bounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterTask:
    """Sends the rows of some files to ranges."""

    recipe: Recipe
    inputs: tuple[InputFile, ...]
    bounds: bytes
    folder: str

    def work(self, attempt: str) -> Report:
        conform = self.recipe.conformer()
        scatter = _scatter(self.folder, attempt, conform.schema, self.bounds, self.recipe)
        read = sent = 0
        for found, rows in _batches(self.inputs, conform):
            read, sent = read + found, sent + rows.num_rows
            for batch in _laid_out(rows, self.recipe).to_batches():
                scatter.write(batch)
        return Report(read=read, sent=sent, pieces=scatter.finish())


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleTask:
    """Keeps the newest row of each key of a range, and sends these on to the ranges of the snapshot."""

    recipe: Recipe
    pieces: tuple[str, ...]
    bounds: bytes
    folder: str

    def work(self, attempt: str) -> Report:
        conform = self.recipe.conformer()
        scatter = _scatter(self.folder, attempt, conform.schema, self.bounds, self.recipe)
        rows = gathered(self.pieces, scatter.schema)
        places = np.sort(_kept(rows, self.recipe))
        whole = rows.combine_chunks()
        for start in range(0, len(places), ROWS_AT_ONCE):
            for batch in whole.take(pa.array(places[start : start + ROWS_AT_ONCE])).to_batches():
                scatter.write(batch)
        return Report(read=rows.num_rows, sent=len(places), pieces=scatter.finish())


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTask:
    """Writes one range of the snapshot: from the pieces of it, or all of it from files that are few.

    `is_settled`: each key is there once already.
    """

    recipe: Recipe
    folder: str
    part: int
    pieces: tuple[str, ...] = ()
    inputs: tuple[InputFile, ...] = ()
    is_settled: bool = False

    def work(self, attempt: str) -> Report:
        conform = self.recipe.conformer()
        schema = _with_label(conform.schema, self.recipe)
        if self.inputs:
            found = list(_batches(self.inputs, conform))
            read = sum(count for count, _ in found)
            rows = pa.concat_tables(
                [schema.empty_table(), *(_laid_out(some, self.recipe) for _, some in found)]
            )
        else:
            rows = gathered(self.pieces, schema)
            read = rows.num_rows
        kept = np.arange(rows.num_rows) if self.is_settled else _kept(rows, self.recipe)
        places = kept[sorted_by(rows.select(list(self.recipe.order)).take(pa.array(kept)), self.recipe.order)]
        files = _written(rows.combine_chunks(), places, self, conform.schema)
        return Report(read=read, sent=len(places), files=tuple(files))


def _scatter(folder: str, attempt: str, schema: pa.Schema, bounds: bytes, recipe: Recipe) -> Scatter:
    return Scatter(
        folder=Path(folder),
        stem=attempt,
        schema=_with_label(schema, recipe),
        ranges=Ranges(table_of(bounds)),
    )


def _with_label(schema: pa.Schema, recipe: Recipe) -> pa.Schema:
    return schema if recipe.partitioning is None else schema.append(pa.field(LABEL, pa.string()))


def _laid_out(rows: pa.RecordBatch, recipe: Recipe) -> pa.Table:
    """The rows with the partition that each belongs to, if there are any."""
    table = pa.Table.from_batches([rows])
    if recipe.partitioning is None:
        return table
    return table.append_column(LABEL, recipe.partitioning.labels(rows))


def _batches(inputs: Sequence[InputFile], conform: Conformer) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of files, with how many were found before some of them were left out."""
    for file in inputs:
        with pq.ParquetFile(file.path, memory_map=True) as parquet:
            for batch in parquet.iter_batches(ROWS_AT_ONCE, use_threads=False):
                left = _without(batch, file.excluded)
                yield batch.num_rows, conform.conformed(left, file.schema_version)


def _without(rows: pa.RecordBatch, excluded: tuple[int, ...]) -> pa.RecordBatch:
    if not excluded:
        return rows
    return rows.filter(pc.invert(pc.is_in(rows.column(SEQ), pa.array(excluded, pa.int64()))))


def _sampled(file: InputFile, conform: Conformer, groups: int) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(file.path, memory_map=True) as parquet:
        step = max(1, parquet.num_row_groups // groups)
        for number in range(0, parquet.num_row_groups, step):
            rows = parquet.read_row_group(number, use_threads=False).combine_chunks()
            stride = max(1, rows.num_rows // _SAMPLED_ROWS)
            for batch in rows.take(pa.array(np.arange(0, rows.num_rows, stride))).to_batches():
                yield conform.conformed(batch, file.schema_version)


def _kept(rows: pa.Table, recipe: Recipe) -> Numbers:
    """The places of the rows that a reader sees: of one key the newest, and none that was deleted."""
    if not recipe.primary_key:
        return np.arange(rows.num_rows)
    newest = newest_of_each(rows, recipe.primary_key, (SEQ, POSITION))
    is_delete: Numbers = pc.equal(rows.column(OP), Op.DELETE.value).to_numpy()
    kept: Numbers = newest[~is_delete[newest]]
    return kept


def _written(
    rows: pa.Table, places: Numbers, task: WriteTask, schema: pa.Schema, files: Files | None = None
) -> Iterator[PartOfSnapshot]:
    """The rows in their order, a file for each partition."""
    files = files or LocalFiles()
    for label, some in _by_label(rows, places, task.recipe):
        below = (
            ""
            if label is None or task.recipe.partitioning is None
            else task.recipe.partitioning.folder(label)
        )
        folder = Path(task.folder) / below
        part = PartFile(
            folder,
            stem="part",
            part=task.part,
            schema=schema,
            files=files,
            rows_a_group=task.recipe.rows_a_group,
            tuning=_tuning(schema, task.recipe),
        )
        total = 0
        for start in range(0, len(some), task.recipe.rows_a_group):
            group = rows.select(schema.names).take(pa.array(some[start : start + task.recipe.rows_a_group]))
            for batch in group.combine_chunks().to_batches():
                total += content_sum(batch.column(CONTENT_HASH))
                part.write(batch, np.zeros(batch.num_rows, np.int64))
        written = part.finish()
        if written is not None:
            files.sync_folder(folder)
            yield PartOfSnapshot(
                path=f"{below}/{written.name}" if below else written.name,
                rows=written.rows,
                bytes=written.bytes,
                sha256=written.sha256,
                content_sum=total % 2**128,
                partition=label,
            )


def _by_label(rows: pa.Table, places: Numbers, recipe: Recipe) -> Iterator[tuple[str | None, Numbers]]:
    if recipe.partitioning is None or not len(places):
        yield None, places
        return
    labels = rows.column(LABEL).take(pa.array(places)).combine_chunks().dictionary_encode()
    codes = labels.indices.to_numpy()
    cuts = [0, *(np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist(), len(codes)]
    for start, end in pairwise(cuts):
        yield labels.dictionary[codes[start]].as_py(), places[start:end]


def _tuning(schema: pa.Schema, recipe: Recipe) -> dict[str, Any]:
    """How DuckDB likes its Parquet: with statistics of pages, and a filter for what is looked up by value."""
    order = [name for name in recipe.order if name in schema.names]
    tuning: dict[str, Any] = {
        "write_page_index": True,
        "sorting_columns": pq.SortingColumn.from_ordering(schema, [(name, "ascending") for name in order]),
    }
    if recipe.blooms:
        tuning["bloom_filter_options"] = dict.fromkeys(recipe.blooms, True)
    return tuning


def _text_of(bounds: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, bounds.schema) as writer:
        writer.write_table(bounds)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def table_of(bounds: bytes) -> pa.Table:
    """Bounds as a table, from their bytes."""
    return pa.ipc.open_stream(pa.py_buffer(bounds)).read_all()
