"""Incoming columns in the forms that a table has, and what is wrong with those that have none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyarrow import types as kinds

from hakiri.pipelines.evolution.changes import Change, addition
from hakiri.pipelines.evolution.forms import NoStoredType, stored_type, type_text
from hakiri.pipelines.evolution.shapes import TableShape, declared_renamed, path_of, renamed_from
from hakiri.store.rows import HIDDEN

_KEPT_BY_STORE = "the store keeps that name for itself"


def tidied(columns: Sequence[pa.Field]) -> tuple[tuple[pa.Field, ...], tuple[Change, ...]]:
    """The columns in stored forms, and for each that cannot be stored at all why it is refused."""
    kept: list[pa.Field] = []
    refused: list[Change] = []
    for each, clash in _with_clashes(columns):
        own = _KEPT_BY_STORE if each.name.casefold() in HIDDEN else clash
        problems = [_refused(each, path_of("", each.name), own)] if own else list(_problems(each))
        refused += problems
        if not problems:
            tidy = pa.field(each.name, stored_type(each.type))
            former = renamed_from(each)
            kept.append(tidy if former is None else declared_renamed(tidy, former))
    return tuple(kept), tuple(refused)


def tidy_shape(shape: TableShape) -> TableShape:
    """The shape in stored forms, without columns that cannot be stored, and with no notes but renames."""
    columns, _ = tidied(list(shape.schema))
    return TableShape(schema=pa.schema(columns), primary_key=shape.primary_key)


def _problems(column: pa.Field) -> Iterator[Change]:
    yield from _inner_clashes(column.type, path_of("", column.name))
    try:
        stored_type(column.type)
    except NoStoredType as error:
        yield _refused(column, path_of("", column.name), f"Spark has no type for {error}")


def _inner_clashes(kind: pa.DataType, path: str) -> Iterator[Change]:
    if kinds.is_struct(kind):
        for each, clash in _with_clashes(list(kind)):
            inner = path_of(path, each.name)
            if clash:
                yield _refused(each, inner, clash)
            yield from _inner_clashes(each.type, inner)
    elif kinds.is_map(kind):
        yield from _inner_clashes(kind.key_type, f"{path}[key]")
        yield from _inner_clashes(kind.item_type, f"{path}[value]")
    elif kinds.is_nested(kind) and not kinds.is_union(kind) and not kinds.is_run_end_encoded(kind):
        yield from _inner_clashes(kind.value_type, f"{path}[]")


def _with_clashes(columns: Sequence[pa.Field]) -> Iterator[tuple[pa.Field, str]]:
    first: dict[str, str] = {}
    for each in columns:
        other = first.get(each.name.casefold())
        first.setdefault(each.name.casefold(), each.name)
        clash = "it is there twice" if other == each.name else f"it differs from `{other}` only in case"
        yield each, "" if other is None else clash


def _refused(column: pa.Field, path: str, why: str) -> Change:
    return replace(addition(path, type_text(column.type)), rule=why, is_acceptable=False)
