"""Which rows have one of some keys, whatever the key is made of. Pure."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hakiri.compaction.ordering import Numbers, comparable


class Wanted:
    """Keys to look for. NULL is a value like any other.

    Column by column, the values of the keys get numbers, and so do the beginnings of keys: a row is looked
    at further only as long as some key begins as it does.
    """

    def __init__(self, keys: pa.Table) -> None:
        self._columns: list[tuple[pa.Array, Numbers]] = []
        begun = np.zeros(keys.num_rows, np.int64)
        for column in keys.columns:
            values = pc.unique(comparable(column))
            begun, beginnings = _numbered(begun * len(values) + _places(column, values))
            self._columns.append((values, beginnings))

    def found_in(self, rows: pa.Table) -> Numbers:
        """For each row whether it has one of the keys; the columns are in the order of the keys."""
        left = np.arange(rows.num_rows)
        begun = np.zeros(rows.num_rows, np.int64)
        for column, (values, beginnings) in zip(rows.columns, self._columns, strict=True):
            places = _places(column.take(pa.array(left)) if len(left) < rows.num_rows else column, values)
            codes = begun * len(values) + places
            spots = np.searchsorted(beginnings, codes)
            is_known = (places >= 0) & (spots < len(beginnings))
            is_known[is_known] = beginnings[spots[is_known]] == codes[is_known]
            left, begun = left[is_known], spots[is_known]
        found = np.zeros(rows.num_rows, np.bool_)
        found[left] = True
        return found


def _places(column: pa.ChunkedArray, values: pa.Array) -> Numbers:
    """The place of each value among these; -1 for one that is not there."""
    places = pc.index_in(comparable(column), value_set=values).fill_null(-1)
    numbers: Numbers = places.combine_chunks().to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _numbered(codes: Numbers) -> tuple[Numbers, Numbers]:
    beginnings, numbers = np.unique(codes, return_inverse=True)
    return numbers.astype(np.int64), beginnings
