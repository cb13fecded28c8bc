"""JSON records into the columns of a schema, whole columns at a time.

A value that does not fit its column and a field that has no column are misfits: the column is NULL there, and
the value is kept in the column `_extra`, a JSON object from the value's path (see `paths`) to the value. An
object that brings an unknown field keeps its other fields, and a list its other items. What fits is said in
`types`. Every column may be NULL, whatever the schema says, since JSON promises nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa

from hakiri.sources.contract import EXTRA_COLUMN
from hakiri.sources.json_rows.errors import MOST_MISFITS_TOLD, RowsDoNotFit, UnsupportedType
from hakiri.sources.json_rows.leaves import leaf_column
from hakiri.sources.json_rows.misfits import (
    Locate,
    Misfit,
    entry_of,
    extra_column,
    field_of,
    item_of,
    misfit,
    reject_of,
    row_itself,
    told,
)
from hakiri.sources.json_rows.types import type_text
from hakiri.sources.json_rows.values import has_rule
from hakiri.sources.rejects import Reject


def settle(records: Sequence[dict[str, Any]], schema: pa.Schema, *, with_extra: bool) -> pa.RecordBatch:
    """The records as rows, in their order, with the schema's columns and, if asked for, `_extra` as the last.

    Values are as `parse_json` gives them. A column `_extra` in the schema itself is the same one. Raises
    RowsDoNotFit for misfits that no `_extra` can take, and UnsupportedType for the schema.
    """
    return _table(records, *_settled(records, schema), schema, with_extra=with_extra)


def sift(
    records: Sequence[dict[str, Any]], schema: pa.Schema, *, with_extra: bool
) -> tuple[pa.RecordBatch, tuple[Reject, ...]]:
    """What `settle` gives of the records that fit, and those with a value of another type than its column.

    A field that has no column is no reason to set a record aside: it is kept in `_extra`.
    """
    fields, arrays, misfits = _settled(records, schema)
    first: dict[int, Misfit] = {}
    for found in misfits:
        if found.expected is not None:
            first.setdefault(found.row, found)
    if not first:
        return _table(records, fields, arrays, misfits, schema, with_extra=with_extra), ()
    fitting = [record for row, record in enumerate(records) if row not in first]
    rejects = tuple(reject_of(first[row], records[row]) for row in sorted(first))
    return settle(fitting, schema, with_extra=with_extra), rejects


def settle_or_sift(
    records: Sequence[dict[str, Any]], schema: pa.Schema, *, sets_aside: bool
) -> tuple[pa.RecordBatch, tuple[Reject, ...]]:
    """The rows of a read, and its rejects if it sets rows aside; `_extra` is as the schema says."""
    with_extra = EXTRA_COLUMN in schema.names
    if sets_aside:
        return sift(records, schema, with_extra=with_extra)
    return settle(records, schema, with_extra=with_extra), ()


def _settled(
    records: Sequence[dict[str, Any]], schema: pa.Schema
) -> tuple[list[pa.Field], list[pa.Array], list[Misfit]]:
    columns = [field for field in nullable(schema) if field.name != EXTRA_COLUMN]
    misfits: list[Misfit] = []
    return columns, _field_columns(records, columns, row_itself, misfits), misfits


def _table(
    records: Sequence[dict[str, Any]],
    columns: list[pa.Field],
    arrays: list[pa.Array],
    misfits: list[Misfit],
    schema: pa.Schema,
    *,
    with_extra: bool,
) -> pa.RecordBatch:
    if with_extra:
        columns.append(pa.field(EXTRA_COLUMN, pa.string()))
        arrays.append(extra_column(misfits, len(records)))
    elif misfits:
        misfits.sort(key=lambda found: found.row)
        raise RowsDoNotFit([told(found) for found in misfits[:MOST_MISFITS_TOLD]], count=len(misfits))
    # By way of a struct, which knows how many rows there are even if there is no column.
    rows = pa.StructArray.from_arrays(arrays, fields=columns) if columns else pa.array(records, pa.struct([]))
    return pa.RecordBatch.from_struct_array(rows).replace_schema_metadata(schema.metadata)


def nullable(schema: pa.Schema) -> pa.Schema:
    """The schema in which rows are settled: every field may be NULL. Raises UnsupportedType."""
    return pa.schema([_nullable_field(field, field.name) for field in schema], metadata=schema.metadata)


def _nullable_field(field: pa.Field, column: str) -> pa.Field:
    return pa.field(field.name, _nullable_type(field.type, column), metadata=field.metadata)


def _nullable_type(kind: pa.DataType, column: str) -> pa.DataType:
    if pa.types.is_struct(kind) and kind.num_fields:
        return pa.struct([_nullable_field(field, column) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_nullable_field(kind.value_field, column))
    if pa.types.is_map(kind) and kind.key_type == pa.string():
        return pa.map_(pa.string(), _nullable_field(kind.item_field, column))
    if not has_rule(kind):
        raise UnsupportedType(column, type_text(kind))
    return kind


def _field_columns(
    objects: Sequence[dict[str, Any] | None],
    fields: Sequence[pa.Field],
    locate: Locate,
    misfits: list[Misfit],
) -> list[pa.Array]:
    """A column for each of the fields, as long as `objects`."""
    present = [found for found in objects if found is not None]
    unknown = set(chain.from_iterable(present)).difference(field.name for field in fields)
    if unknown:
        _keep_unknown(objects, unknown, locate, misfits)
    columns = []
    for field in fields:
        name = field.name
        if len(present) == len(objects):
            values = [found.get(name) for found in present]
        else:
            values = [None if found is None else found.get(name) for found in objects]
        columns.append(_column(values, field.type, field_of(locate, name), misfits))
    return columns


def _column(values: list[Any], kind: pa.DataType, locate: Locate, misfits: list[Misfit]) -> pa.Array:
    if pa.types.is_struct(kind):
        objects = _only(dict, values, kind, locate, misfits)
        fields = list(kind)
        columns = _field_columns(objects, fields, locate, misfits)
        return pa.StructArray.from_arrays(columns, fields=fields, mask=_nulls_in(objects))
    if pa.types.is_list(kind):
        lists = _only(list, values, kind, locate, misfits)
        offsets = _offsets_of(lists)
        items = list(chain.from_iterable(found for found in lists if found))
        column = _column(items, kind.value_type, item_of(locate, offsets), misfits)
        return pa.ListArray.from_arrays(
            pa.array(offsets, pa.int32()), column, type=kind, mask=_nulls_in(lists)
        )
    if pa.types.is_map(kind):
        return _map_column(_only(dict, values, kind, locate, misfits), kind, locate, misfits)
    return leaf_column(values, kind, locate, misfits)


def _map_column(
    objects: Sequence[dict[str, Any] | None], kind: pa.DataType, locate: Locate, misfits: list[Misfit]
) -> pa.Array:
    offsets = _offsets_of(objects)
    present = [found for found in objects if found]
    names = list(chain.from_iterable(present))
    values = list(chain.from_iterable(found.values() for found in present))
    column = _column(values, kind.item_type, entry_of(locate, offsets, names), misfits)
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()),
        pa.array(names, pa.string()),
        column,
        type=kind,
        mask=_nulls_in(objects),
    )


def _only(
    cls: type, values: list[Any], kind: pa.DataType, locate: Locate, misfits: list[Misfit]
) -> Sequence[Any]:
    """The values with None for those of another class, which are added to `misfits`."""
    if set(map(type, values)) <= {cls, type(None)}:
        return values
    misfits.extend(
        misfit(locate(position), value, kind)
        for position, value in enumerate(values)
        if value is not None and type(value) is not cls
    )
    return [value if type(value) is cls else None for value in values]


def _keep_unknown(
    objects: Sequence[dict[str, Any] | None], unknown: set[str], locate: Locate, misfits: list[Misfit]
) -> None:
    places = {name: field_of(locate, name) for name in unknown}
    for position, found in enumerate(objects):
        if found is not None and not unknown.isdisjoint(found):
            misfits.extend(
                misfit(places[name](position), value, None)
                for name, value in found.items()
                if name in unknown
            )


def _offsets_of(values: Sequence[Any]) -> list[int]:
    return [0, *accumulate(0 if value is None else len(value) for value in values)]


def _nulls_in(values: Sequence[Any]) -> pa.Array | None:
    nulls = [value is None for value in values]
    return pa.array(nulls, pa.bool_()) if any(nulls) else None
