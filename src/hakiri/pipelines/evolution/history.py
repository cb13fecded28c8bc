"""What happened between two versions of a table's shape, for showing its history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyarrow import types as kinds

from hakiri.pipelines.evolution.changes import (
    Change,
    ChangeKind,
    addition,
    creation,
    disappearance,
    key_change,
    renaming,
    widening,
)
from hakiri.pipelines.evolution.forms import type_text
from hakiri.pipelines.evolution.shapes import TableShape, accepted_types, is_noted_missing, path_of
from hakiri.pipelines.evolution.types import holds, is_widening, is_widening_for_some
from hakiri.store.schemas import former_names


def changes_between(before: TableShape | None, after: TableShape) -> tuple[Change, ...]:
    """What was done to the table, in the order of its columns; the key comes last."""
    if before is None:
        return (creation(len(after.schema)),)
    found = list(_between_columns(list(before.schema), list(after.schema), ""))
    names = {change.before: change.after for change in found if change.kind is ChangeKind.RENAME}
    if {names.get(name, name) for name in before.primary_key} != set(after.primary_key):
        found.append(key_change(before.primary_key, after.primary_key, "it was migrated"))
    return tuple(found)


def _between_columns(before: Sequence[pa.Field], after: Sequence[pa.Field], path: str) -> Iterator[Change]:
    earlier, later = {each.name: each for each in before}, {each.name for each in after}
    seen = set()
    for new in after:
        names = (new.name, *(name for name in reversed(former_names(new)) if name not in later))
        old = next((earlier[name] for name in names if name in earlier), None)
        inner = path_of(path, new.name)
        if old is None:
            yield addition(inner, type_text(new.type))
            continue
        seen.add(old.name)
        if old.name != new.name:
            yield renaming(inner, old.name, new.name)
        if is_noted_missing(new) and not is_noted_missing(old):
            yield disappearance(inner, type_text(new.type))
        yield from _between_types(old, new, inner)
    yield from (
        disappearance(path_of(path, each.name), type_text(each.type))
        for each in before
        if each.name not in seen
    )


def _between_types(before: pa.Field, after: pa.Field, path: str) -> Iterator[Change]:
    old, new = before.type, after.type
    if kinds.is_struct(old) and kinds.is_struct(new):
        yield from _between_columns(list(old), list(new), path)
    elif kinds.is_list(old) and kinds.is_list(new):
        yield from _between_types(old.value_field, new.value_field, f"{path}[]")
    elif kinds.is_map(old) and kinds.is_map(new):
        yield from _between_types(old.key_field, new.key_field, f"{path}[key]")
        yield from _between_types(old.item_field, new.item_field, f"{path}[value]")
    elif old == new:
        known = accepted_types(before)
        yield from (_accepted(path, new, text) for text in accepted_types(after) if text not in known)
    elif is_widening(old, new) or is_widening_for_some(old, new):
        yield widening(path, type_text(old), type_text(new))
    else:
        yield _retyped(path, old, new)


def _accepted(path: str, kind: pa.DataType, text: str) -> Change:
    return Change(
        kind=ChangeKind.NARROW_TYPE,
        column=path,
        before=type_text(kind),
        after=text,
        rule=f"an operator accepted it, and the column is {type_text(kind)}",
    )


def _retyped(path: str, old: pa.DataType, new: pa.DataType) -> Change:
    return Change(
        kind=ChangeKind.NARROW_TYPE if holds(old, new) else ChangeKind.CHANGE_TYPE,
        column=path,
        before=type_text(old),
        after=type_text(new),
        rule=f"an operator accepted it, and the column is {type_text(new)}",
    )
