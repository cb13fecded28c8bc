"""Which types hold the values of which others, without the loss of any.

Among the types that a table can have (see `forms`):

- int8 < int16 < int32 < int64 < a decimal with room for their digits;
- int8, int16 < float32 < double, and int32 < double; of int64 only what is not beyond 2 to the power of 53;
- a decimal < one with at least as many digits on either side of the point; a whole one with at most 15 digits
  < double;
- date < timestamp, as its midnight, in UTC if there is a zone. With and without a zone are two things;
- every type < string, as its text, or as JSON if it is nested, but for bytes, of which there is no text. To
  become text is no widening: the column is another one then;
- string < binary, as its bytes in UTF-8;
- null < everything.

Structs, lists and maps hold what their parts hold, and a struct may have more fields than one that it holds.
"""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types as kinds

from hakiri.pipelines.evolution.forms import BINARY, DOUBLE, TEXT, WHOLE, decimal_of, list_of

LARGEST_EXACT_IN_DOUBLE = 2**53

_DIGITS_OF_WHOLE = dict(zip(WHOLE, (3, 5, 10, 19), strict=True))
_DIGITS_IN_FLOAT, _DIGITS_IN_DOUBLE = 7, 15
_FLOATS = (pa.float32(), DOUBLE, None)


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The least stored type that holds every value of both; None if there is none."""
    if one == other or kinds.is_null(other):
        return one
    if kinds.is_null(one):
        return other
    return (
        _common_nested(one, other)
        or _common_number(one, other)
        or _common_moment(one, other)
        or _common_text(one, other)
    )


def holds(wide: pa.DataType, narrow: pa.DataType) -> bool:
    """Whether every value of the stored type `narrow` has a place of its own in `wide`."""
    return bool(common_type(wide, narrow) == wide)


def is_widening(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether the stored type `new` holds all of `old` and more, and is still the same kind of thing."""
    return bool(old != new) and _keeps_kind(old, new) and holds(new, old)


def is_widening_for_some(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether it is a widening unless there are whole numbers beyond 2 to the power of 53."""
    return bool(old == pa.int64() and new == DOUBLE)


def common_number_or_moment(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The common type, if both can widen to it: text is none."""
    found = common_type(one, other)
    return found if found is not None and _keeps_kind(one, found) and _keeps_kind(other, found) else None


def _common_nested(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    if kinds.is_struct(one) and kinds.is_struct(other):
        return _common_struct(one, other)
    if kinds.is_list(one) and kinds.is_list(other):
        element = common_type(one.value_type, other.value_type)
        return None if element is None else list_of(element)
    if kinds.is_map(one) and kinds.is_map(other):
        key, value = common_type(one.key_type, other.key_type), common_type(one.item_type, other.item_type)
        return None if key is None or value is None else pa.map_(key, value)
    return None


def _common_text(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    if _has_bytes_inside(one) or _has_bytes_inside(other):
        return None
    return BINARY if BINARY in (one, other) else TEXT


def _common_struct(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    ours, theirs = ({field.name: field.type for field in kind} for kind in (one, other))
    names = list(dict.fromkeys((*ours, *theirs)))
    if len({name.casefold() for name in names}) < len(names):
        return None
    types = {name: common_type(ours.get(name, pa.null()), theirs.get(name, pa.null())) for name in names}
    return None if None in types.values() else pa.struct(list(types.items()))


def _common_number(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The least number type that holds both; None if there is none, or one of them is no number."""
    if not (_is_number(one) and _is_number(other)):
        return None
    if kinds.is_floating(one) or kinds.is_floating(other):
        return _FLOATS[max(_rank_as_float(one), _rank_as_float(other))]
    if one in WHOLE and other in WHOLE:
        return max(one, other, key=WHOLE.index)
    (digits, scale), (more_digits, more_scale) = _digits(one), _digits(other)
    return decimal_of(max(digits, more_digits), max(scale, more_scale))


def _common_moment(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    if kinds.is_date(one) and kinds.is_timestamp(other):
        return other
    return one if kinds.is_timestamp(one) and kinds.is_date(other) else None


def _is_number(kind: pa.DataType) -> bool:
    return bool(kind in WHOLE or kinds.is_floating(kind) or kinds.is_decimal(kind))


def _rank_as_float(kind: pa.DataType) -> int:
    """The place in `_FLOATS` of the least that holds every value of the number type."""
    if kinds.is_floating(kind):
        return _FLOATS.index(kind)
    digits, scale = _digits(kind)
    if scale > 0 or digits > _DIGITS_IN_DOUBLE:
        return 2
    return int(digits > _DIGITS_IN_FLOAT)


def _digits(kind: pa.DataType) -> tuple[int, int]:
    """How many digits a whole or decimal number has before and after the point."""
    whole = _DIGITS_OF_WHOLE.get(kind)
    return (kind.precision - kind.scale, kind.scale) if whole is None else (whole, 0)


def _has_bytes_inside(kind: pa.DataType) -> bool:
    if not kinds.is_nested(kind):
        return False
    parts = (kind.field(index).type for index in range(kind.num_fields))
    return any(part == BINARY or _has_bytes_inside(part) for part in parts)


def _keeps_kind(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether no part of the type turns into text or bytes."""
    if kinds.is_struct(old) and kinds.is_struct(new):
        after = {field.name: field.type for field in new}
        return all(_keeps_kind(field.type, after[field.name]) for field in old if field.name in after)
    if kinds.is_list(old) and kinds.is_list(new):
        return _keeps_kind(old.value_type, new.value_type)
    if kinds.is_map(old) and kinds.is_map(new):
        return _keeps_kind(old.key_type, new.key_type) and _keeps_kind(old.item_type, new.item_type)
    return bool(old == new or kinds.is_null(old) or new not in (TEXT, BINARY))
