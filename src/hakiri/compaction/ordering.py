"""The order of rows, by numpy: sorted by columns, the newest of each key, and cut into ranges. Pure.

Values sort as DuckDB and Parquet's statistics sort them: texts by their bytes, NaN behind all numbers, NULL
behind everything. As for DuckDB and Spark all NaN are one value, whatever their bits, and so are both zeros.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]

MOST_RANGE_COLUMNS = 4  # as many as have room in one number with a thousand bounds each

_AS_NUMBERS = (
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_timestamp,
    pa.types.is_duration,
)


def comparable(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The same values, where those that count as one are one: Arrow tells floats apart by their bits."""
    if not pa.types.is_floating(column.type):
        return column
    nan, zero = pa.scalar(float("nan"), column.type), pa.scalar(0, column.type)
    return pc.if_else(pc.is_nan(column), nan, pc.add(column, zero))


def sorted_by(rows: pa.Table, columns: Sequence[str]) -> Numbers:
    """The places of the rows in the order of the columns; equal ones stay as they are."""
    keys = [key for name in columns for key in _keys(rows.column(name))]
    return np.lexsort(keys[::-1]) if keys else np.arange(rows.num_rows)


def newest_of_each(rows: pa.Table, key: Sequence[str], order: Sequence[str]) -> Numbers:
    """The places of the rows that come last of their key in the given order, by key."""
    if not rows.num_rows:
        return np.arange(0)
    keys = [part for name in key for part in _keys(rows.column(name))]
    ranks = [part for name in order for part in _keys(rows.column(name))]
    places = np.lexsort([*ranks[::-1], *keys[::-1]])
    is_last = np.zeros(rows.num_rows, np.bool_)
    is_last[-1] = True
    for part in keys:
        values = part[places]
        is_last[:-1] |= values[1:] != values[:-1]
    last: Numbers = places[is_last]
    return last


class Ranges:
    """Ranges of rows by the values of some columns; each bound is the first value of the next range."""

    def __init__(self, bounds: pa.Table) -> None:
        self.columns: tuple[str, ...] = tuple(bounds.column_names)
        self._steps = [_Steps(bounds.column(name)) for name in self.columns]
        self._bounds = self._codes(bounds)

    @property
    def count(self) -> int:
        return len(self._bounds) + 1

    def of(self, rows: pa.Table) -> Numbers:
        """The number of the range that each row belongs to."""
        return np.searchsorted(self._bounds, self._codes(rows), side="right")

    def _codes(self, rows: pa.Table) -> Numbers:
        """One number a row that sorts as the columns together do, as far as the bounds can tell."""
        codes = np.zeros(rows.num_rows, np.int64)
        for name, steps in zip(self.columns, self._steps, strict=True):
            codes = codes * steps.size + steps.of(rows.column(name))
        return codes


class _Steps:
    """Where the values of a column are among those of bounds: before, at or behind each of them."""

    def __init__(self, bounds: pa.ChunkedArray) -> None:
        known = pc.unique(comparable(bounds)).drop_null()
        self._kind = bounds.type
        self._values = known.take(pc.sort_indices(known))
        self.size = 2 * len(self._values) + 2

    def of(self, column: pa.ChunkedArray) -> Numbers:
        values = pa.chunked_array(column.chunks, self._kind).combine_chunks()
        if _is_numeric(self._kind):
            bounds, numbers = _as_numbers(self._values), _as_numbers(values)
            steps = np.searchsorted(bounds, numbers, "left") + np.searchsorted(bounds, numbers, "right")
        else:
            known = self._values.to_pylist()
            encoded = values.dictionary_encode()
            places = [
                bisect_left(known, value) + bisect_right(known, value)
                for value in encoded.dictionary.to_pylist()
            ]
            codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
            steps = np.array([*places, 0], np.int64)[codes]
        if values.null_count:
            steps = np.where(values.is_null().to_numpy(zero_copy_only=False), self.size - 1, steps)
        return steps.astype(np.int64)


def quantiles(rows: pa.Table, columns: Sequence[str], count: int) -> pa.Table:
    """Bounds that cut the rows into about so many equal ranges; fewer where many rows are alike.

    They are over as few of the columns as can tell them apart.
    """
    places = sorted_by(rows, columns)
    chosen = [int(places[len(places) * number // count]) for number in range(1, count)] if len(places) else []
    widest = min(len(columns), MOST_RANGE_COLUMNS)
    for width in range(1, widest + 1):
        bounds = rows.select(list(columns[:width])).take(pa.array(chosen, pa.int64()))
        distinct = _without_repeats(bounds)
        if distinct.num_rows == len(chosen):
            break
    return distinct


def _without_repeats(bounds: pa.Table) -> pa.Table:
    keys = [key for name in bounds.column_names for key in _keys(bounds.column(name))]
    is_new = np.zeros(bounds.num_rows, np.bool_)
    is_new[:1] = True
    for key in keys:
        is_new[1:] |= key[1:] != key[:-1]
    return bounds.filter(pa.array(is_new))


def _keys(column: pa.ChunkedArray) -> list[Numbers]:
    """Columns of numbers that sort as the values do, and are equal where they are.

    Where there is any, the place of NULL comes first, and then that of NaN, which is unequal to itself.
    """
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    numbers = _as_numbers(values) if _is_numeric(values.type) else _ranks(values)
    keys = [numbers]
    if pa.types.is_floating(values.type) and (nans := np.isnan(numbers)).any():
        keys = [nans, np.where(nans, 0.0, numbers)]
    if values.null_count:
        nulls = values.is_null().to_numpy(zero_copy_only=False)
        keys = [nulls, *(np.where(nulls, key.dtype.type(0), key) for key in keys)]
    return keys


def _is_numeric(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or any(is_kind(kind) for is_kind in _AS_NUMBERS)


def _as_numbers(values: pa.Array) -> Numbers:
    """NULL is anything here; whoever asks looks for it apart."""
    kind = values.type
    if pa.types.is_floating(kind):
        values = values.cast(pa.float64())
    elif pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif not pa.types.is_integer(kind):
        values = values.cast({32: pa.int32(), 64: pa.int64()}[kind.bit_width])
    numbers: Numbers = values.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers


def _ranks(values: pa.Array) -> Numbers:
    encoded = values.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.zeros(len(order) + 1, np.int64)
    ranks[order] = np.arange(len(order))
    found: Numbers = ranks[encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)]
    return found
