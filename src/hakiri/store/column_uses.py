"""What columns may be used for: which ones rows can be sorted, partitioned and looked up by. Pure."""

from __future__ import annotations

import pyarrow as pa

from hakiri.store.texts import is_any


def why_unsorted(columns: pa.Schema, name: str) -> str | None:
    """Why rows cannot be sorted by a column, nor be partitioned by its values; None if they can."""
    place = columns.get_field_index(name)
    if place < 0:
        return "it has no such column"
    return "its values have no order" if pa.types.is_nested(columns.field(place).type) else None


def why_timeless(columns: pa.Schema, name: str, wanted: str) -> str | None:
    """Why rows cannot be partitioned by the time in a column, as is wanted; None if they can."""
    if why := why_unsorted(columns, name):
        return why
    kind = columns.field(name).type
    if is_any(kind, pa.types.is_date, pa.types.is_timestamp, pa.types.is_null):
        return None
    return f"`{wanted}` needs dates or moments, and its values are of type {kind}"


def why_unfiltered(columns: pa.Schema, name: str) -> str | None:
    """Why there can be no Bloom filter over a column; None if there can."""
    if why := why_unsorted(columns, name):
        return why
    is_flag = pa.types.is_boolean(columns.field(name).type)
    return "a filter over values that are true or false finds nothing" if is_flag else None
