"""Types in the footers of Parquet and ORC files: what Spark makes of them, and what files have in common.

Files of one table may differ by these rules and in no other way; a column that a file lacks is NULL there:

- whole numbers widen to the larger type, `float` to `double`, and whole numbers of up to 32 bits to `double`;
- decimals widen until both fit, in at most 38 digits;
- structs have the fields of both, in the order in which they first appear, and lists and maps widen inside;
- a column without a type, as pandas writes one that is all None, is of the type that another file gives it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from hakiri.sources.json_rows.types import TIMESTAMP

LOCAL_MOMENT = pa.timestamp("us")
_MOST_DIGITS = 38
_WHOLE = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_AS_THEY_ARE = (
    *_WHOLE,
    pa.bool_(),
    pa.float32(),
    pa.float64(),
    pa.string(),
    pa.binary(),
    pa.date32(),
    pa.null(),
)
_OTHER_LAYOUTS = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.date64(): pa.date32(),
}


class Unsupported(Exception):
    """A type that Spark does not have."""


class Conflict(Exception):
    """Two types without one that holds both."""


def type_in_spark(kind: pa.DataType, *, are_moments: bool) -> pa.DataType:  # noqa: PLR0911 - one rule each
    """The type as Spark has it; raises Unsupported.

    `are_moments`: a time without a zone is one in UTC, as ORC and old Parquet files mean it.
    """
    if kind in _AS_THEY_ARE:
        return kind
    if kind in _OTHER_LAYOUTS:
        return _OTHER_LAYOUTS[kind]
    if pa.types.is_timestamp(kind):
        return TIMESTAMP if kind.tz is not None or are_moments else LOCAL_MOMENT
    if pa.types.is_decimal(kind) and kind.precision <= _MOST_DIGITS and kind.scale >= 0:
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_dictionary(kind):
        return type_in_spark(kind.value_type, are_moments=are_moments)
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_struct(kind) and kind.num_fields:
        return pa.struct([(child.name, type_in_spark(child.type, are_moments=are_moments)) for child in kind])
    if pa.types.is_map(kind):
        key, item = (type_in_spark(each, are_moments=are_moments) for each in (kind.key_type, kind.item_type))
        return pa.map_(key, item)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(type_in_spark(kind.value_type, are_moments=are_moments))
    raise Unsupported(str(kind))


def has_inside(kind: pa.DataType, wanted: Sequence[pa.DataType]) -> bool:
    """Whether one of these types is anywhere inside of a nested one."""
    children = [kind.field(number).type for number in range(kind.num_fields)]
    return any(child in wanted or has_inside(child, wanted) for child in children)


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType:  # noqa: PLR0911 - one rule each
    """The narrowest type that holds all values of both; raises Conflict."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if one in _WHOLE and other in _WHOLE:
        return max(one, other, key=_WHOLE.index)
    if {one, other} <= {*_WHOLE[:3], pa.float32(), pa.float64()}:
        return pa.float64()
    if pa.types.is_decimal(one) and pa.types.is_decimal(other):
        return _common_decimal(one, other)
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        return _common_struct(one, other)
    if pa.types.is_map(one) and pa.types.is_map(other) and one.key_type == other.key_type:
        return pa.map_(one.key_type, common_type(one.item_type, other.item_type))
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(common_type(one.value_type, other.value_type))
    raise Conflict


def _common_decimal(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    scale = max(one.scale, other.scale)
    digits = max(one.precision - one.scale, other.precision - other.scale) + scale
    if digits > _MOST_DIGITS:
        raise Conflict
    return pa.decimal128(digits, scale)


def _common_struct(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    fields = {child.name: child.type for child in one}
    for child in other:
        fields[child.name] = common_type(fields.get(child.name, pa.null()), child.type)
    if len({name.casefold() for name in fields}) < len(fields):
        raise Conflict
    return pa.struct(list(fields.items()))
