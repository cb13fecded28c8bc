"""Rows brought into the types of their table, without loss; those that cannot be are named.

A value goes up, to a type that holds all of its kind (`int32` to `int64`, a date to a moment, anything to
text), or sideways and down where it loses nothing (`7.0` to `7`). Text is never taken for a number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hakiri.store.errors import UnfitColumns
from hakiri.store.row_json import json_texts, plain_texts
from hakiri.store.texts import is_any, is_bytes, is_text

Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A column in its new type, and which rows do not fit; None if all do. Those are NULL in the column."""

    column: pa.Array
    bad: Mask | None = None


def fitted(column: pa.Array, target: pa.DataType, path: str) -> Fitted:
    """The column in the type. Raises UnfitColumns for a field inside it that the type does not have."""
    if column.type.equals(target, check_metadata=True):
        return Fitted(column)
    if pa.types.is_dictionary(column.type):
        return fitted(column.dictionary_decode(), target, path)
    if pa.types.is_null(column.type):
        return Fitted(pa.nulls(len(column), target))
    for is_kind, fit in (
        (pa.types.is_struct, _fitted_struct),
        (_is_list, _fitted_list),
        (pa.types.is_map, _fitted_map),
    ):
        if is_kind(column.type) and is_kind(target):
            return fit(column, target, path)
    return _fitted_leaf(column, target)


def _is_list(kind: pa.DataType) -> bool:
    return is_any(kind, pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def _fitted_struct(column: pa.Array, target: pa.DataType, path: str) -> Fitted:
    names = [field.name for field in column.type.fields]
    known = {field.name for field in target.fields}
    if unknown := [name for name in names if name not in known]:
        raise UnfitColumns(f"column `{path}.{unknown[0]}` is not in the table's schema")
    given = dict(zip(names, column.flatten(), strict=True))
    inner = [
        fitted(given[field.name], field.type, f"{path}.{field.name}")
        if field.name in given
        else Fitted(pa.nulls(len(column), field.type))
        for field in target.fields
    ]
    whole = pa.StructArray.from_arrays(
        [one.column for one in inner], fields=target.fields, mask=column.is_null()
    )
    return Fitted(whole, _any([one.bad for one in inner]))


def _fitted_list(column: pa.Array, target: pa.DataType, path: str) -> Fitted:
    if not pa.types.is_list(column.type):
        column = column.cast(pa.list_(column.type.value_field))
    values = fitted(column.values, target.value_type, f"{path}[]")
    offsets = column.offsets.to_numpy()
    whole = pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), values.column, type=target, mask=column.is_null()
    )
    return Fitted(whole, _holding(values.bad, offsets, column))


def _fitted_map(column: pa.Array, target: pa.DataType, path: str) -> Fitted:
    keys = fitted(column.keys, target.key_type, f"{path}.key")
    items = fitted(column.items, target.item_type, f"{path}.value")
    bad = _any([keys.bad, items.bad])
    offsets = column.offsets.to_numpy()
    if keys.bad is None:
        whole = pa.MapArray.from_arrays(
            pa.array(offsets, pa.int32()), keys.column, items.column, type=target, mask=column.is_null()
        )
        return Fitted(whole, _holding(bad, offsets, column))
    # A key cannot be NULL, not even for a moment: the rows that hold a bad one are left out as a whole.
    rows = _holding(bad, offsets, column)
    kept = pc.if_else(pa.array(rows), pa.scalar(None, column.type), column)
    compact = kept.take(pa.array(np.arange(len(kept))))  # Arrow keeps the pairs of NULL rows until it copies
    return Fitted(_fitted_map(compact, target, path).column, rows)


def _holding(bad: Mask | None, offsets: np.ndarray[Any, Any], column: pa.Array) -> Mask | None:
    """Which lists hold a bad value."""
    if bad is None:
        return None
    before = np.concatenate([[0], np.cumsum(bad)])
    rows = before[offsets[1:]] > before[offsets[:-1]]
    rows &= column.is_valid().to_numpy(zero_copy_only=False)
    return rows if rows.any() else None


def _any(masks: list[Mask | None]) -> Mask | None:
    given = [mask for mask in masks if mask is not None]
    return np.logical_or.reduce(given) if given else None


def _fitted_leaf(column: pa.Array, target: pa.DataType) -> Fitted:
    cast = _cast_for(column.type, target)
    if cast is None:
        return _without(column, target, column.is_valid().to_numpy(zero_copy_only=False))
    try:
        return _checked(column, cast(column, target), target)
    except pa.ArrowInvalid:
        bad = np.zeros(len(column), np.bool_)
        bad[_misfits(column, target, cast)] = True
        left = pc.if_else(pa.array(bad), pa.scalar(None, column.type), column)
        rest = _checked(left, cast(left, target), target)
        return Fitted(rest.column, _any([bad, rest.bad]))


def _without(column: pa.Array, target: pa.DataType, bad: Mask) -> Fitted:
    return Fitted(pa.nulls(len(column), target), bad if bad.any() else None)


_SAME_KIND = (pa.types.is_date, pa.types.is_time, pa.types.is_duration)
_Cast: TypeAlias = Callable[[pa.Array, pa.DataType], pa.Array]


def _cast_for(source: pa.DataType, target: pa.DataType) -> _Cast | None:
    """How values of one type become those of another, or None where they never do."""
    if is_text(target):
        return None if is_bytes(source) else _text_cast
    if is_bytes(target):
        return _plain_cast if is_bytes(source) or is_text(source) else _bytes_cast
    if pa.types.is_integer(source) and pa.types.is_decimal(target):
        return lambda column, kind: column.cast(pa.decimal128(20, 0)).cast(kind)
    may_cast = (
        (_is_number(source) and _is_number(target))
        or (pa.types.is_timestamp(target) and _is_moment_like(source, target))
        or any(is_kind(source) and is_kind(target) for is_kind in _SAME_KIND)
    )
    return _plain_cast if may_cast else None


def _text_cast(column: pa.Array, target: pa.DataType) -> pa.Array:
    """The same texts that the views make of older files; Arrow writes floats and decimals otherwise."""
    if pa.types.is_nested(column.type):
        return pa.array(json_texts(column), target)
    return plain_texts(column).cast(target)


def _bytes_cast(column: pa.Array, target: pa.DataType) -> pa.Array:
    return _text_cast(column, pa.string()).cast(target)


def _plain_cast(column: pa.Array, target: pa.DataType) -> pa.Array:
    return column.cast(target)


def _is_number(kind: pa.DataType) -> bool:
    return is_any(kind, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)


def _is_moment_like(source: pa.DataType, target: pa.DataType) -> bool:
    """A moment without a zone says something else than one with it."""
    if pa.types.is_timestamp(source):
        return (source.tz is None) == (target.tz is None)
    return is_any(source, pa.types.is_date)


def _checked(column: pa.Array, cast: pa.Array, target: pa.DataType) -> Fitted:
    """Arrow rounds to floats and decimals without a word; what does not come back the same is lost."""
    is_rounding = (pa.types.is_floating(column.type) and not pa.types.is_integer(target)) or (
        pa.types.is_decimal(column.type) and pa.types.is_floating(target)
    )
    is_wider = (column.type, target) == (pa.float32(), pa.float64())
    if not is_rounding or is_text(target) or is_bytes(target) or is_wider:
        return Fitted(cast)
    came_back = pc.equal(cast.cast(column.type, safe=False), column)
    if pa.types.is_floating(column.type):
        came_back = pc.or_(came_back, pc.is_nan(column))
    bad = ~came_back.fill_null(True).to_numpy(zero_copy_only=False)  # noqa: FBT003 - pyarrow takes it so
    if not bad.any():
        return Fitted(cast)
    return Fitted(pc.if_else(pa.array(bad), pa.scalar(None, target), cast), bad)


def _misfits(column: pa.Array, target: pa.DataType, cast: _Cast) -> list[int]:
    """The rows that the cast refuses, found by halving: few casts when few are bad."""
    found: list[int] = []
    spans = [(0, len(column))]
    while spans:
        start, length = spans.pop()
        try:
            cast(column.slice(start, length), target)
        except pa.ArrowInvalid:
            if length == 1:
                found.append(start)
            else:
                half = length // 2
                spans += [(start, half), (start + half, length - half)]
    return found
