"""Batches as a driver gives them, brought into the announced types; what does not fit is told apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hakiri.sources.errors import BadRecord, SchemaIncompatible
from hakiri.sources.rejects import Reject, reject_reason, row_text
from hakiri.sources.sql.relations import OTHER_KIND, Column, Relation, misfits_in

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH).days
_LAST_DAY = (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH).days
_DAY_MICROSECONDS = 24 * 60 * 60 * 1_000_000
_NO_UTF8 = "it is not UTF-8"


class _Misfit(Exception):
    """Values of a batch that its types have no place for, in one of its columns."""

    def __init__(self, column: Column, words: str) -> None:
        super().__init__(words)
        self.column = column
        self.words = words


@dataclass(frozen=True, slots=True, kw_only=True)
class Sifted:
    """The rows of a batch that fit, and the others by their number in it.

    `values` are those of the column that a cursor follows, of all rows; none if no column is followed.
    """

    rows: pa.RecordBatch
    rejects: Mapping[int, Reject]
    values: pa.Array | None

    @property
    def count(self) -> int:
        return len(self.rejects) + int(self.rows.num_rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How the rows of a SELECT are brought into the types of its columns.

    `is_text_checked`: the database itself lets only UTF-8 in. A row that does not fit is a reject with
    `sets_aside`, and fails the read else; it always does if it has no place in the order that is `followed`.
    """

    relation: Relation
    columns: tuple[Column, ...]
    is_text_checked: bool
    sets_aside: bool = False
    followed: Column | None = None

    def sift(self, batch: pa.RecordBatch) -> Sifted:
        """The first columns of the batch in their types; a column after them is a text of misfits.

        Nothing is copied that is in its type already. Raises BadRecord, and SchemaIncompatible for a value
        that no cursor can follow.
        """
        rejects: dict[int, Reject] = {}
        left, numbers = batch, np.arange(batch.num_rows)
        if batch.num_columns > len(self.columns):
            marks = batch.column(len(self.columns))
            if marks.null_count < len(marks):
                is_marked = marks.is_valid().to_numpy(zero_copy_only=False)
                rejects |= zip(
                    numbers[is_marked].tolist(), self._marked(batch.filter(marks.is_valid())), strict=True
                )
                left, numbers = batch.filter(marks.is_null()), numbers[~is_marked]
        try:
            rows = self._fitted(left)
        except _Misfit:
            bad = self._bad_rows(left)
            rejects |= {int(numbers[row]): self._unfit(left.take(pa.array([row]))) for row in bad}
            is_good = np.ones(left.num_rows, np.bool_)
            is_good[bad] = False
            rows = self._fitted(left.filter(pa.array(is_good)))
        return Sifted(rows=rows, rejects=rejects, values=self._values(batch, rows, is_whole=not rejects))

    def _values(self, batch: pa.RecordBatch, rows: pa.RecordBatch, *, is_whole: bool) -> pa.Array | None:
        if self.followed is None:
            return None
        place = rows.schema.get_field_index(self.followed.name)
        if is_whole:
            return rows.column(place)
        try:
            return _fitted_array(batch.column(place), self.followed, is_text_checked=self.is_text_checked)
        except _Misfit as misfit:
            raise self._out_of_order(misfit.column, misfit.words, None) from misfit

    def _fitted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [
            _fitted_array(array, column, is_text_checked=self.is_text_checked)
            for array, column in zip(batch.columns, self.columns, strict=False)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([column.field for column in self.columns]))

    def _bad_rows(self, batch: pa.RecordBatch) -> list[int]:
        """The rows that do not fit, found by halving: few tries when few are bad."""
        found: list[int] = []
        spans = [(0, batch.num_rows)]
        while spans:
            start, length = spans.pop()
            try:
                # Not a slice, of which Arrow gives all keys and values of maps, also those outside of it.
                self._fitted(batch.take(pa.array(range(start, start + length))))
            except _Misfit:
                if length == 1:
                    found.append(start)
                else:
                    half = length // 2
                    spans += [(start + half, length - half), (start, half)]
        return found

    def _marked(self, batch: pa.RecordBatch) -> Iterator[Reject]:
        """The rows that the database says do not fit."""
        texts = _texts(batch.column(len(self.columns)))
        for row, text in zip(self._readable(batch), texts, strict=True):
            misfits = {self.columns[number]: value for number, value in misfits_in(text or "").items()}
            column = min(misfits, key=lambda column: not self._is_followed(column))
            values = {column.name: value for column, value in misfits.items()}
            yield self._rejected(column, column.misfit_words, row | values, value=misfits[column])

    def _unfit(self, batch: pa.RecordBatch) -> Reject:
        """The one row of a batch that Arrow has no place for."""
        (row,) = self._readable(batch)
        try:
            self._fitted(batch)
        except _Misfit as misfit:
            return self._rejected(misfit.column, misfit.words, row)
        raise AssertionError("a row that did not fit fits now")

    def _readable(self, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        """The fields of each row as far as they have a place in Python."""
        names = [column.name for column in self.columns]
        cells = [_values(array) for array in batch.columns[: len(names)]]
        return [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]

    def _rejected(
        self, column: Column, words: str, row: dict[str, Any], *, value: str | None = None
    ) -> Reject:
        if self._is_followed(column):
            raise self._out_of_order(column, words, value)
        problem = _problem(column, words)
        if not self.sets_aside:
            as_text = f', read the column as text with as_text = ["{self.relation.name}.{column.name}"]'
            remedy = "mend the row" + ("" if words == _NO_UTF8 else as_text)
            raise BadRecord(self.relation.name, problem, column=column.name, value=value, remedy=remedy)
        return Reject(problem=problem, row=row_text(row), column=column.name, value=value)

    def _is_followed(self, column: Column) -> bool:
        return self.followed is not None and column.name == self.followed.name

    def _out_of_order(self, column: Column, words: str, value: str | None) -> SchemaIncompatible:
        reason = reject_reason(_problem(column, words), column.name, value)
        return SchemaIncompatible(
            f"a row of `{self.relation.name}` does not fit: {reason}",
            hint=f"mend the row: it has no place in the order of `{column.name}`, by which rows are read",
        )


def _problem(column: Column, words: str) -> str:
    return f"is no {column.type}" if words == OTHER_KIND else f"does not fit {column.type}: {words}"


def _texts(array: pa.Array) -> list[str | None]:
    """The texts, also where they are not UTF-8, which a reader has to see somehow."""
    values = array.cast(pa.binary()).to_pylist()
    return [None if value is None else value.decode(errors="replace") for value in values]


def _values(array: pa.Array) -> list[Any]:
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_string(array.type):
        return _texts(array)
    return [_value(scalar) for scalar in array]


def _value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py(maps_as_pydicts="lossy")
    except (ValueError, OverflowError):
        return None  # a time that Python does not have


def _fitted_array(array: pa.Array, column: Column, *, is_text_checked: bool) -> pa.Array:
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if not array.type.equals(column.type):
        try:
            array = array.cast(column.type)
        except pa.ArrowInvalid as error:
            raise _Misfit(column, "it is too large, or no number at all") from error
    for part in _parts(array):
        if pa.types.is_timestamp(part.type) or pa.types.is_date32(part.type):
            _refuse_strange_times(part, column)
        elif pa.types.is_string(part.type) and not is_text_checked:
            _refuse_broken_text(part, column)
    return array


def _parts(array: pa.Array) -> Iterator[pa.Array]:
    """The arrays of values that it is made of, however deeply nested."""
    if pa.types.is_struct(array.type):
        for part in array.flatten():
            yield from _parts(part)
    elif pa.types.is_map(array.type):
        yield from _parts(array.keys)
        yield from _parts(array.items)
    elif pa.types.is_list(array.type):
        yield from _parts(array.flatten())
    else:
        yield array


def _refuse_strange_times(array: pa.Array, column: Column) -> None:
    """Infinity, and what only the database's own calendar reaches.

    The driver adds the difference of two epochs to a number that stands for infinity, and it wraps around.
    """
    is_day = pa.types.is_date32(array.type)
    ends = pc.min_max(array.view(pa.int32() if is_day else pa.int64())).as_py()
    if ends["min"] is None:
        return
    unit = 1 if is_day else _DAY_MICROSECONDS
    if not _FIRST_DAY * unit <= ends["min"] <= ends["max"] < (_LAST_DAY + 1) * unit:
        raise _Misfit(column, "it is infinite, before the year 1, or after the year 9999")


def _refuse_broken_text(array: pa.Array, column: Column) -> None:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise _Misfit(column, _NO_UTF8) from error
