"""The rows of one attempt, on their way into Parquet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hakiri.store.errors import BadRow, UnfitColumns
from hakiri.store.files import Files, LocalFiles
from hakiri.store.fitting import Mask, fitted
from hakiri.store.hashing import content_sum, hashed
from hakiri.store.manifests import WrittenFile
from hakiri.store.parts import ROWS_A_GROUP, PartFile
from hakiri.store.row_json import json_texts
from hakiri.store.rows import HIDDEN, HIDDEN_FIELDS, OP, POSITION_BITS, QUARANTINE_FIELDS, Op, Stamp
from hakiri.store.schemas import schema_text


class BadRows(StrEnum):
    """What becomes of a row that the table cannot hold."""

    FAIL = "fail"
    QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The table as its rows have to be. Raises UnfitColumns for names or types that cannot be kept."""

    schema: pa.Schema
    primary_key: tuple[str, ...]
    schema_version: int
    bad_rows: BadRows

    def __post_init__(self) -> None:
        schema_text(self.schema)
        if taken := [name for name in self.schema.names if name in HIDDEN]:
            raise UnfitColumns(f"column `{taken[0]}` has a name that the store keeps for itself")
        _check_names(self.schema.names, "")
        for field in self.schema:
            _check_names_inside(field.type, field.name)
        if missing := [name for name in self.primary_key if name not in self.schema.names]:
            raise UnfitColumns(f"column `{missing[0]}` of the primary key is not in the table's schema")


def _check_names(names: list[str], path: str) -> None:
    """Neither DuckDB nor Spark can tell names apart that differ in case alone."""
    uses = Counter(name.casefold() for name in names)
    same = [f"`{path}{name}`" for name in names if uses[name.casefold()] > 1]
    if same:
        raise UnfitColumns(f"columns {' and '.join(same)} differ in case alone")


def _check_names_inside(kind: pa.DataType, path: str) -> None:
    if pa.types.is_struct(kind):
        _check_names([field.name for field in kind.fields], f"{path}.")
        for field in kind.fields:
            _check_names_inside(field.type, f"{path}.{field.name}")
    elif pa.types.is_map(kind):
        _check_names_inside(kind.item_type, f"{path}.value")
    elif pa.types.is_list(kind):
        _check_names_inside(kind.value_type, f"{path}[]")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPart:
    """What one task wrote."""

    files: tuple[WrittenFile, ...]
    quarantine: tuple[WrittenFile, ...]
    rows: int
    quarantined: int
    content_sum: int


class AttemptWriter:
    """Writes the rows of one task, in their order. Nothing counts before `finish` returned.

    The same rows give the same bytes, however they are cut into batches. Memory is bounded by a row group.
    """

    def __init__(
        self,
        folder: Path,
        shape: Shape,
        stamp: Stamp,
        *,
        part: int,
        files: Files | None = None,
        rows_a_group: int = ROWS_A_GROUP,
    ) -> None:
        self._shape = shape
        self._stamp = stamp
        self._folder = folder
        self._files = files or LocalFiles()
        self._fields = [_without_promise(field) for field in shape.schema]
        new_file = partial(PartFile, folder, part=part, files=self._files, rows_a_group=rows_a_group)
        self._data = new_file(stem="part", schema=pa.schema([*self._fields, *HIDDEN_FIELDS]))
        self._aside = new_file(stem="quarantine", schema=pa.schema(QUARANTINE_FIELDS))
        self._first_position = part << POSITION_BITS
        self._seen = self._rows = self._quarantined = self._sum = 0
        self._is_finished = False

    def write(self, rows: pa.RecordBatch, reasons: pa.Array | None = None) -> None:
        """Take rows; those with a reason go to quarantine. Raises BadRow and UnfitColumns.

        A column `_op` says what a row does; without one all are upserts. Columns that are missing are NULL.
        """
        own, ops, why = self._looked_at(rows, reasons)
        position = pa.array(np.arange(rows.num_rows) + (self._first_position + self._seen))
        self._seen += rows.num_rows
        if why:
            self._leave_out(rows, position, why)
            is_good = np.ones(rows.num_rows, np.bool_)
            is_good[list(why)] = False
            kept = pa.array(is_good)
            own, ops, position = own.filter(kept), ops.filter(kept), position.filter(kept)
        if own.num_rows:
            self._keep(own, ops, position)

    def set_aside(self, reasons: Sequence[str], texts: Sequence[str]) -> None:
        """Take rows for quarantine of which there is only the JSON, each with its reason."""
        first = self._first_position + self._seen
        self._seen += len(texts)
        self._put_aside(reasons, texts, pa.array(np.arange(len(texts)) + first))

    def finish(self) -> WrittenPart:
        """Make all of it durable, and say what it is. No rows make no file."""
        data, aside = self._data.finish(), self._aside.finish()
        if data is not None or aside is not None:
            self._files.sync_folder(self._folder)
        self._is_finished = True
        return WrittenPart(
            files=() if data is None else (data,),
            quarantine=() if aside is None else (aside,),
            rows=self._rows,
            quarantined=self._quarantined,
            content_sum=self._sum,
        )

    def abandon(self) -> None:
        """Give up and remove what was written. Twice is once; after `finish` it does nothing."""
        if not self._is_finished:
            self._is_finished = True
            self._data.abandon()
            self._aside.abandon()

    def _looked_at(
        self, rows: pa.RecordBatch, reasons: pa.Array | None
    ) -> tuple[pa.RecordBatch, pa.Array, dict[int, str]]:
        """The table's own columns, what each row does, and why rows are put aside, by their number."""
        given = self._given(rows)
        why = {} if reasons is None else {n: r for n, r in enumerate(reasons.to_pylist()) if r is not None}
        if OP in given:
            ops, is_delete = self._read_ops(given.pop(OP), why)
        else:
            ops, is_delete = pa.repeat(pa.scalar(Op.UPSERT.value), rows.num_rows), None
        columns = []
        for field in self._fields:
            column = given.get(field.name)
            if column is None:
                column = pa.nulls(rows.num_rows, field.type)
            is_key = field.name in self._shape.primary_key
            if is_delete is not None and not is_key:
                column = pc.if_else(is_delete, pa.scalar(None, column.type), column)
            fit = fitted(column, field.type, field.name)
            if fit.bad is not None:
                text = f"holds a value of type {column.type} that does not fit {field.type} without loss"
                self._complain(why, fit.bad, field.name, text)
            if is_key and fit.column.null_count:
                nulls = column.is_null().to_numpy(zero_copy_only=False)
                self._complain(why, nulls, field.name, "is NULL and belongs to the primary key")
            columns.append(fit.column)
        own = pa.RecordBatch.from_arrays(columns, schema=pa.schema(self._fields))
        return own, ops, why

    def _given(self, rows: pa.RecordBatch) -> dict[str, pa.Array]:
        _check_names(rows.schema.names, "")
        known = {*self._shape.schema.names, OP}
        if unknown := [name for name in rows.schema.names if name not in known]:
            raise UnfitColumns(f"column `{unknown[0]}` is not in the table's schema")
        return dict(zip(rows.schema.names, rows.columns, strict=True))

    def _read_ops(self, column: pa.Array, why: dict[int, str]) -> tuple[pa.Array, pa.Array]:
        ops = fitted(column, pa.string(), OP).column.fill_null(Op.UPSERT.value)
        is_known = pc.is_in(ops, pa.array([op.value for op in Op]))
        unknown = pc.invert(is_known).to_numpy(zero_copy_only=False)
        self._complain(why, unknown, OP, f"is neither `{Op.UPSERT}` nor `{Op.DELETE}`")
        is_delete = pc.equal(ops, Op.DELETE.value)
        if not self._shape.primary_key:
            deletes = is_delete.to_numpy(zero_copy_only=False)
            self._complain(why, deletes, OP, "asks for a delete, and the table has no primary key")
        return ops, is_delete

    def _complain(self, why: dict[int, str], bad: Mask, column: str, text: str) -> None:
        """Note why rows are bad; the first reason of a row stays. Raises BadRow if bad rows are to fail."""
        for row in np.flatnonzero(bad).tolist():
            if row in why:
                continue
            if self._shape.bad_rows is BadRows.FAIL:
                raise BadRow(column, self._seen + row + 1, text)
            why[row] = f"column `{column}` {text}"

    def _keep(self, own: pa.RecordBatch, ops: pa.Array, position: pa.Array) -> None:
        marks = hashed(own)
        hidden = [*self._stamped(own.num_rows), position, ops, marks.hashes]
        whole = pa.RecordBatch.from_arrays(
            [*own.columns, *hidden], schema=pa.schema([*self._fields, *HIDDEN_FIELDS])
        )
        self._data.write(whole, marks.sizes)
        self._rows += own.num_rows
        self._sum = (self._sum + content_sum(marks.hashes)) % 2**128

    def _leave_out(self, rows: pa.RecordBatch, position: pa.Array, why: dict[int, str]) -> None:
        numbers = sorted(why)
        texts = json_texts(rows.take(pa.array(numbers)).to_struct_array())
        self._put_aside([why[number] for number in numbers], texts, position.take(pa.array(numbers)))

    def _put_aside(self, reasons: Sequence[str], texts: Sequence[str | None], position: pa.Array) -> None:
        batch = pa.RecordBatch.from_arrays(
            [
                pa.array(reasons, pa.string()),
                pa.array(texts, pa.string()),
                *self._stamped(len(texts)),
                position,
            ],
            schema=pa.schema(QUARANTINE_FIELDS),
        )
        self._aside.write(batch, np.array([len(text or "") for text in texts], np.int64))
        self._quarantined += len(texts)

    def _stamped(self, count: int) -> list[pa.Array]:
        values: tuple[Any, ...] = (
            self._stamp.run,
            self._stamp.pipeline,
            self._stamp.ingested_at,
            self._stamp.seq,
        )
        fields = HIDDEN_FIELDS[: len(values)]
        return [
            pa.repeat(pa.scalar(value, field.type), count)
            for value, field in zip(values, fields, strict=True)
        ]


def _without_promise(field: pa.Field) -> pa.Field:
    """As it stands in files: any column may be NULL there, since deletes have only their key."""
    return pa.field(field.name, field.type, nullable=True)
