"""Two histories of one table that went apart, made one again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa
from pyarrow import types as kinds

from hakiri.pipelines.evolution.errors import SchemasDiverged
from hakiri.pipelines.evolution.forms import type_text
from hakiri.pipelines.evolution.shapes import (
    TableShape,
    accepted_types,
    is_noted_missing,
    noted_missing,
    of_another_type,
    path_of,
    taken_names,
    with_accepted_types,
    with_former_names,
)
from hakiri.pipelines.evolution.types import common_number_or_moment, common_type
from hakiri.sources.contract import EXTRA_COLUMN
from hakiri.store.schemas import former_names


class Side(StrEnum):
    """Whose name or key is taken where both chose another."""

    OURS = "ours"
    THEIRS = "theirs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Something about which the two differ. `is_choice`: it is settled by taking one side's word for it."""

    column: str
    problem: str
    is_choice: bool


@dataclass(frozen=True, slots=True)
class Divergence:
    """All that stands in the way of one schema."""

    conflicts: tuple[Conflict, ...]

    def error(self, table: str) -> SchemasDiverged:
        is_choice = all(conflict.is_choice for conflict in self.conflicts)
        return SchemasDiverged(
            table,
            [conflict.problem for conflict in self.conflicts],
            hint="choose with `--take ours` or `--take theirs`"
            if is_choice
            else "rename one of the two columns where it comes from, and run that pipeline first",
        )


def reconciled(ours: TableShape, theirs: TableShape, *, take: Side | None = None) -> TableShape | Divergence:
    """The shape that has room for all that is stored under either; ours itself if theirs brings nothing new.

    Columns of one side alone are added, types become the least that holds both, and a rename on one side
    counts for both. Where both renamed a column, or have another key, `take` says whose word it is.
    """
    conflicts: list[Conflict] = []
    pairs = _pairs(list(ours.schema), list(theirs.schema), conflicts)
    columns = [_joined(mine, pairs.get(mine.name, mine), take, conflicts) for mine in ours.schema]
    known = {name for mine in ours.schema for name in _names(mine)}
    added = [their for their in theirs.schema if not known & _names(their)]
    for their in added:
        clash = taken_names(columns).get(their.name.casefold())
        if clash is not None:
            problem = f"`{their.name}` cannot be added: {clash}"
            conflicts.append(Conflict(column=their.name, problem=problem, is_choice=False))
    names = {mine.name: column.name for mine, column in zip(ours.schema, columns, strict=True)}
    their_names = {their.name: names[mine] for mine, their in pairs.items()}
    key = _key(
        [names.get(name, name) for name in ours.primary_key],
        [their_names.get(name, name) for name in theirs.primary_key],
        take,
        conflicts,
    )
    if conflicts:
        return Divergence(tuple(conflicts))
    end = len(columns) - (1 if columns and columns[-1].name == EXTRA_COLUMN else 0)
    fields = [*columns[:end], *added, *columns[end:]]
    return TableShape(schema=pa.schema(fields, metadata=ours.schema.metadata), primary_key=key)


def _pairs(
    ours: Sequence[pa.Field], theirs: Sequence[pa.Field], conflicts: list[Conflict]
) -> dict[str, pa.Field]:
    """Their column by the name of ours that is the same one: they have a name in common, now or before."""
    pairs: dict[str, pa.Field] = {}
    for their in theirs:
        same = [mine for mine in ours if _names(mine) & _names(their)]
        if len(same) > 1 or (same and same[0].name in pairs):
            both = [mine.name for mine in same] if len(same) > 1 else [pairs[same[0].name].name, their.name]
            one = their.name if len(same) > 1 else same[0].name
            problem = f"`{one}` was called both `{both[0]}` and `{both[1]}`"
            conflicts.append(Conflict(column=one, problem=problem, is_choice=False))
        elif same:
            pairs[same[0].name] = their
    return pairs


def _joined(mine: pa.Field, their: pa.Field, take: Side | None, conflicts: list[Conflict]) -> pa.Field:
    name = _joined_name(mine, their, take, conflicts)
    former = (*former_names(mine), *former_names(their), mine.name, their.name)
    column = _joined_types(mine, their, path_of("", mine.name), conflicts).with_name(name)
    return with_former_names(column, (each for each in former if each != name))


def _joined_name(mine: pa.Field, their: pa.Field, take: Side | None, conflicts: list[Conflict]) -> str:
    is_ours_newer, is_theirs_newer = their.name in former_names(mine), mine.name in former_names(their)
    if mine.name == their.name or (is_ours_newer and not is_theirs_newer):
        return str(mine.name)
    if is_theirs_newer and not is_ours_newer:
        return str(their.name)
    if take is None:
        problem = f"one column was renamed to `{mine.name}` here and to `{their.name}` there"
        conflicts.append(Conflict(column=mine.name, problem=problem, is_choice=True))
    return str(their.name if take is Side.THEIRS else mine.name)


def _joined_types(mine: pa.Field, their: pa.Field, path: str, conflicts: list[Conflict]) -> pa.Field:
    """Our column with room for the values of both, and the notes of both."""
    kind = _joined_nested(mine.type, their.type, path, conflicts)
    texts = [*accepted_types(mine), *accepted_types(their)]
    if kind is None:
        kind = common_type(mine.type, their.type)
        if kind is None:
            problem = f"`{path}` is {type_text(mine.type)} here and {type_text(their.type)} there"
            conflicts.append(Conflict(column=path, problem=problem, is_choice=False))
            return mine
        if common_number_or_moment(mine.type, their.type) is None:
            # Either side's source goes on to bring its own type, which this decision lets in.
            texts += [type_text(each) for each in (mine.type, their.type) if each != kind]
    joined = with_accepted_types(of_another_type(mine, kind), texts)
    return noted_missing(joined) if is_noted_missing(their) else joined


def _joined_nested(
    mine: pa.DataType, their: pa.DataType, path: str, conflicts: list[Conflict]
) -> pa.DataType | None:
    if kinds.is_struct(mine) and kinds.is_struct(their):
        theirs = {field.name: field for field in their}
        ours = [
            _joined_types(field, theirs.pop(field.name, field), path_of(path, field.name), conflicts)
            for field in mine
        ]
        cased = {field.name.casefold() for field in ours} & {name.casefold() for name in theirs}
        if cased:
            problem = f"names inside of `{path}` differ only in case: {', '.join(sorted(cased))}"
            conflicts.append(Conflict(column=path, problem=problem, is_choice=False))
        return pa.struct([*ours, *theirs.values()])
    if kinds.is_list(mine) and kinds.is_list(their):
        return pa.list_(_joined_types(mine.value_field, their.value_field, f"{path}[]", conflicts))
    if kinds.is_map(mine) and kinds.is_map(their):
        key = _joined_types(mine.key_field, their.key_field, f"{path}[key]", conflicts)
        return pa.map_(key, _joined_types(mine.item_field, their.item_field, f"{path}[value]", conflicts))
    return None


def _key(
    ours: Sequence[str], theirs: Sequence[str], take: Side | None, conflicts: list[Conflict]
) -> tuple[str, ...]:
    if set(ours) != set(theirs) and take is None:
        problem = f"the primary key is {_listed(ours)} here and {_listed(theirs)} there"
        conflicts.append(Conflict(column="", problem=problem, is_choice=True))
    return tuple(theirs if set(ours) != set(theirs) and take is Side.THEIRS else ours)


def _names(field: pa.Field) -> set[str]:
    return {field.name, *former_names(field)}


def _listed(key: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in key) or "none"
