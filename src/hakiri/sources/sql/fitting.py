"""Batches as a driver gives them, brought into the announced types; what does not fit is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from hakiri.sources.errors import SchemaIncompatible
from hakiri.sources.sql.relations import Column, Relation

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH).days
_LAST_DAY = (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH).days
_DAY_MICROSECONDS = 24 * 60 * 60 * 1_000_000


def fitted(
    batch: pa.RecordBatch, relation: Relation, columns: Sequence[Column], *, is_text_checked: bool
) -> pa.RecordBatch:
    """The first columns of the batch in their types; a column after them is the number of a misfit.

    Nothing is copied that is in its type already. Raises SchemaIncompatible with the column that holds a
    value for which its type has no place. `is_text_checked`: the database itself lets only UTF-8 in.
    """
    if batch.num_columns > len(columns):
        worst = pc.max(batch.column(len(columns))).as_py()
        if worst:
            raise misfit(relation, columns[worst - 1], columns[worst - 1].misfit_words)
    arrays = [
        _fitted_array(array, relation, column, is_text_checked=is_text_checked)
        for array, column in zip(batch.columns, columns, strict=False)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([column.field for column in columns]))


def misfit(relation: Relation, column: Column, problem: str, *, hint: str = "") -> SchemaIncompatible:
    return SchemaIncompatible(
        f"column `{column.name}` of table `{relation.name}` holds a value that does not fit {column.type}: "
        f"{problem}",
        hint=hint or f'mend the row, or read the column as text: as_text = ["{relation.name}.{column.name}"]',
    )


def _fitted_array(array: pa.Array, relation: Relation, column: Column, *, is_text_checked: bool) -> pa.Array:
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if not array.type.equals(column.type):
        try:
            array = array.cast(column.type)
        except pa.ArrowInvalid as error:
            raise misfit(relation, column, "it is too large, or no number at all") from error
    for part in _parts(array):
        if pa.types.is_timestamp(part.type) or pa.types.is_date32(part.type):
            _refuse_strange_times(part, relation, column)
        elif pa.types.is_string(part.type) and not is_text_checked:
            _refuse_broken_text(part, relation, column)
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


def _refuse_strange_times(array: pa.Array, relation: Relation, column: Column) -> None:
    """Infinity, and what only the database's own calendar reaches.

    The driver adds the difference of two epochs to a number that stands for infinity, and it wraps around.
    """
    is_day = pa.types.is_date32(array.type)
    ends = pc.min_max(array.view(pa.int32() if is_day else pa.int64())).as_py()
    if ends["min"] is None:
        return
    unit = 1 if is_day else _DAY_MICROSECONDS
    if not _FIRST_DAY * unit <= ends["min"] <= ends["max"] < (_LAST_DAY + 1) * unit:
        raise misfit(relation, column, "it is infinite, before the year 1, or after the year 9999")


def _refuse_broken_text(array: pa.Array, relation: Relation, column: Column) -> None:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise misfit(relation, column, "it is not UTF-8", hint="mend the row") from error
