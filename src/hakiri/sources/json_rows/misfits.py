"""Values that fit no column: where they stood, and how they are kept or told."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from hakiri.sources.json_rows.paths import escaped, field_path, item_path, joined
from hakiri.sources.json_rows.texts import json_text
from hakiri.sources.json_rows.types import type_text
from hakiri.sources.rejects import MOST_CHARACTERS_SHOWN, Reject

# From the position of a value in its column to its row, and to its path there (None is the record itself).
# Columns of items are longer than the table, so only a misfit is ever looked up.
Locate: TypeAlias = Callable[[int], tuple[int, str | None]]


class Misfit(NamedTuple):
    """A value that found no place. `expected` is the type of its column, None if it has no column."""

    # Not a dataclass: a page may have one in every record, and a tuple is made four times as fast.
    row: int
    path: str
    value: Any
    expected: pa.DataType | None


def row_itself(position: int) -> tuple[int, str | None]:
    return position, None


def field_of(parent: Locate, name: str) -> Locate:
    """A column of fields stands beside the column of their objects, position by position."""
    escaped_name = escaped(name)

    def locate(position: int) -> tuple[int, str]:
        row, path = parent(position)
        return row, joined(path, escaped_name)

    return locate


def item_of(parent: Locate, offsets: Sequence[int]) -> Locate:
    """The items of list n have the positions from `offsets[n]` to `offsets[n + 1]`."""

    def locate(position: int) -> tuple[int, str]:
        owner = bisect_right(offsets, position) - 1
        row, path = parent(owner)
        return row, item_path(path or "", position - offsets[owner])

    return locate


def entry_of(parent: Locate, offsets: Sequence[int], names: Sequence[str]) -> Locate:
    """The entries of map n have the positions from `offsets[n]` to `offsets[n + 1]`."""

    def locate(position: int) -> tuple[int, str]:
        row, path = parent(bisect_right(offsets, position) - 1)
        return row, field_path(path, names[position])

    return locate


def misfit(place: tuple[int, str | None], value: Any, expected: pa.DataType | None) -> Misfit:
    row, path = place
    return Misfit(row=row, path=path or "", value=value, expected=expected)


def extra_column(misfits: Iterable[Misfit], rows: int) -> pa.Array:
    """A JSON text for each row that has misfits, from their paths to their values; NULL for the others."""
    kept: dict[int, dict[str, Any]] = {}
    for found in misfits:
        kept.setdefault(found.row, {})[found.path] = found.value
    texts: list[str | None] = [None] * rows
    for row, values in kept.items():
        texts[row] = json_text(values)
    return pa.array(texts, pa.string())


def told(found: Misfit) -> str:
    """One line for an error. Of the value no more than 40 characters, since it is somebody's data."""
    text = json_text(found.value)
    shown = text if len(text) <= MOST_CHARACTERS_SHOWN else text[: MOST_CHARACTERS_SHOWN - 1] + "…"
    kind = found.expected
    expected = "there is no such column" if kind is None else f"`{type_text(kind)}` was expected"
    return f"`{found.path}` of record {found.row + 1} is `{shown}`, {expected}"


def reject_of(found: Misfit, record: dict[str, Any]) -> Reject:
    """The record as a row that does not fit, because of this value."""
    return Reject(
        problem=f"is no {found.expected}",
        row=json_text(record),
        column=found.path,
        value=found.value if type(found.value) is str else json_text(found.value),
    )
