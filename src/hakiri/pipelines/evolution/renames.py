"""Columns that say what they were called before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from hakiri.pipelines.evolution.changes import renaming
from hakiri.pipelines.evolution.shapes import (
    path_of,
    renamed,
    renamed_from,
    taken_names,
)
from hakiri.pipelines.evolution.walk import Walk
from hakiri.store.schemas import former_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    """The stored columns under the names they have now, and the incoming ones that are still to be looked at.

    `names` has every rename that was declared, also one that is refused: from the stored name to the new one.
    """

    stored: tuple[pa.Field, ...]
    incoming: tuple[pa.Field, ...]
    names: Mapping[str, str]


def take_renames(walk: Walk, stored: Sequence[pa.Field], incoming: Sequence[pa.Field]) -> Renamed:
    """Give columns the new names that the incoming ones declare, where the rules allow it."""
    columns, left = list(stored), list(incoming)
    names: dict[str, str] = {}
    present = {each.name for each in incoming}
    for new in incoming:
        former = renamed_from(new)
        origin = None if former in (None, new.name) else _origin(columns, former)
        if origin is None or origin.name == new.name:
            continue  # nothing to rename: a new column like any other, or one that was renamed before
        change = renaming(path_of("", new.name), origin.name, new.name)
        if any(each.name == new.name for each in columns):
            walk.ignored.append(replace(change, rule="both are columns of the table already"))
            continue
        clash = (
            f"`{origin.name}` is a column of the source still"
            if origin.name in present
            else taken_names([each for each in columns if each is not origin]).get(new.name.casefold())
        )
        names[origin.name] = new.name
        if walk.may(change, clash or walk.rules.fixed, is_possible=clash is None):
            columns[columns.index(origin)] = renamed(origin, new.name)
        else:
            left.remove(new)
    return Renamed(stored=tuple(columns), incoming=tuple(left), names=names)


def _origin(columns: Sequence[pa.Field], former: str | None) -> pa.Field | None:
    by_name = (each for each in columns if each.name == former)
    by_note = (each for each in columns if former in former_names(each))
    return next(by_name, None) or next(by_note, None)
