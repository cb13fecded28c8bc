"""The tasks of a fold that rewrites everything: rows go to ranges, each range is settled, sorted, written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from hakiri.compaction.exchange import ROWS_AT_ONCE, Piece, Scatter, gathered
from hakiri.compaction.ordering import Ranges, quantiles, sorted_by
from hakiri.compaction.row_files import (
    laid_out,
    newest,
    not_deleted,
    sampled,
    whole_batches,
    with_label,
    written,
)
from hakiri.compaction.tasks import InputFile, Recipe, Report

_SAMPLED_GROUPS = 32
_SAMPLED_ROWS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTask:
    """Looks at a few row groups, and says where ranges of about equal size begin."""

    recipe: Recipe
    inputs: tuple[InputFile, ...]
    by: Mapping[str, tuple[str, ...]]
    count: int

    def work(self, attempt: str) -> Report:
        conform = self.recipe.conformer().only(self.recipe.order_columns)
        step = max(1, len(self.inputs) // _SAMPLED_GROUPS)
        chosen = self.inputs[::step]
        groups_a_file = max(1, _SAMPLED_GROUPS // len(chosen))
        tables = [
            laid_out(rows, self.recipe)
            for file in chosen
            for rows in sampled(file, conform, groups_a_file, _SAMPLED_ROWS)
        ]
        sample = pa.concat_tables(tables)
        bounds = {name: text_of(quantiles(sample, columns, self.count)) for name, columns in self.by.items()}
        return Report(read=sample.num_rows, bounds=bounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterTask:
    """Sends the rows of some files to ranges; to one, if there are no bounds."""

    recipe: Recipe
    inputs: tuple[InputFile, ...]
    folder: str
    bounds: bytes | None = None

    def work(self, attempt: str) -> Report:
        conform = self.recipe.conformer()
        scatter = _scatter(self.folder, attempt, conform.schema, self.bounds, self.recipe)
        read = sent = 0
        for found, rows in whole_batches(self.inputs, conform):
            read, sent = read + found, sent + rows.num_rows
            for batch in laid_out(rows, self.recipe).to_batches():
                scatter.write(batch)
        return Report(read=read, sent=sent, pieces=scatter.finish())


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleTask:
    """Keeps the newest row of each key of a range, and sends these on to the ranges of the snapshot."""

    recipe: Recipe
    pieces: tuple[Piece, ...]
    bounds: bytes
    folder: str

    def work(self, attempt: str) -> Report:
        conform = self.recipe.conformer()
        scatter = _scatter(self.folder, attempt, conform.schema, self.bounds, self.recipe)
        rows = gathered(self.pieces, scatter.schema)
        places = np.sort(not_deleted(rows, newest(rows, self.recipe)))
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
    pieces: tuple[Piece, ...] = ()
    inputs: tuple[InputFile, ...] = ()
    is_settled: bool = False

    def work(self, attempt: str) -> Report:
        recipe, conform = self.recipe, self.recipe.conformer()
        schema = with_label(conform.schema, recipe)
        if self.inputs:
            found = list(whole_batches(self.inputs, conform))
            read = sum(count for count, _ in found)
            rows = pa.concat_tables([schema.empty_table(), *(laid_out(some, recipe) for _, some in found)])
        else:
            rows = gathered(self.pieces, schema)
            read = rows.num_rows
        kept = np.arange(rows.num_rows) if self.is_settled else not_deleted(rows, newest(rows, recipe))
        places = kept[sorted_by(rows.select(list(recipe.order)).take(pa.array(kept)), recipe.order)]
        files = written(
            rows.combine_chunks(),
            places,
            recipe,
            schema=conform.schema,
            folder=Path(self.folder),
            parts=[self.part],
        )
        return Report(read=read, sent=len(places), files=tuple(files))


def _scatter(folder: str, attempt: str, schema: pa.Schema, bounds: bytes | None, recipe: Recipe) -> Scatter:
    return Scatter(
        folder=Path(folder),
        stem=attempt,
        schema=with_label(schema, recipe),
        ranges=Ranges(pa.table({}) if bounds is None else table_of(bounds)),
    )


def text_of(bounds: pa.Table) -> bytes:
    """Bounds as bytes, which travel."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, bounds.schema) as writer:
        writer.write_table(bounds)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def table_of(bounds: bytes) -> pa.Table:
    """Bounds as a table, from their bytes."""
    return pa.ipc.open_stream(pa.py_buffer(bounds)).read_all()
