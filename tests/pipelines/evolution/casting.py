"""Values of one type in the form of another, by Arrow's own casts, which fail rather than lose anything."""

from __future__ import annotations

import json

import pyarrow as pa


def carried(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values in a type that should hold them; raises pa.ArrowInvalid where it does not."""
    if pa.types.is_nested(values.type) and not pa.types.is_nested(kind):
        texts = [json.dumps(value, default=str) for value in values.to_pylist()]
        return pa.array(texts, pa.string()).cast(kind)
    if pa.types.is_struct(kind):
        known = {field.name: values.field(field.name) for field in values.type}
        arrays = [
            carried(known[field.name], field.type)
            if field.name in known
            else pa.nulls(len(values), field.type)
            for field in kind
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=values.is_null())
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(values.offsets, carried(values.values, kind.value_type), type=kind)
    if pa.types.is_map(kind):
        keys, items = carried(values.keys, kind.key_type), carried(values.items, kind.item_type)
        return pa.MapArray.from_arrays(values.offsets, keys, items, type=kind)
    if kind == pa.binary() != values.type:
        return values.cast(pa.string()).cast(kind)
    return values.cast(kind)


def is_same(there: pa.Array, values: pa.Array) -> bool:
    """Whether nothing was lost on the way: cast back the values are equal, or else as many are distinct."""
    try:
        return bool(_brought_back(there, values.type).equals(values))
    except (NotImplementedError, pa.ArrowNotImplementedError):  # Arrow reads neither JSON nor times from text
        return len({repr(value) for value in there.to_pylist()}) == len(
            {repr(value) for value in values.to_pylist()}
        )


def _brought_back(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """What was carried, in the type it came from."""
    if pa.types.is_nested(kind) != pa.types.is_nested(values.type):
        raise NotImplementedError
    if pa.types.is_struct(kind):
        parts = [_brought_back(values.field(field.name), field.type) for field in kind]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=values.is_null())
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(
            values.offsets, _brought_back(values.values, kind.value_type), type=kind
        )
    if pa.types.is_map(kind):
        keys, items = _brought_back(values.keys, kind.key_type), _brought_back(values.items, kind.item_type)
        return pa.MapArray.from_arrays(values.offsets, keys, items, type=kind)
    if values.type == pa.binary() != kind:
        values = values.cast(pa.string())
    return values.cast(kind)
