"""What becomes of a table when other columns come in than it has: decided here, and nowhere else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from hakiri.pipelines.evolution.changes import (
    Change,
    ChangeKind,
    ContractMode,
    creation,
    key_change,
    kinds_text,
)
from hakiri.pipelines.evolution.errors import SchemaIncompatible
from hakiri.pipelines.evolution.forms import known_part
from hakiri.pipelines.evolution.renames import take_renames
from hakiri.pipelines.evolution.shapes import NO_SHAPE, TableShape, path_of
from hakiri.pipelines.evolution.tidy import tidied
from hakiri.pipelines.evolution.walk import Rules, Walk, unknown_column
from hakiri.sources.contract import EXTRA_COLUMN

_NAMING = (ChangeKind.ADD_COLUMN, ChangeKind.RENAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evolution:
    """What the table is afterwards, the changes that happen, and those that do not.

    With anything refused nothing happens: the shape is what it was, empty for a table that is not there.
    `ignored` is what comes in and is not stored.
    """

    shape: TableShape
    changes: tuple[Change, ...] = ()
    refused: tuple[Change, ...] = ()
    ignored: tuple[Change, ...] = ()

    @property
    def is_refused(self) -> bool:
        return bool(self.refused)

    @property
    def change_kind(self) -> str:
        """The kinds of the changes as the catalog keeps them: `add_column+widen_type`."""
        return kinds_text(self.changes)

    def error(self, table: str, pipeline: str) -> SchemaIncompatible:
        return refusal(self.refused, table, pipeline)


def refusal(refused: Sequence[Change], table: str, pipeline: str) -> SchemaIncompatible:
    """Every refused change with its rule, and the ways out."""
    problems = [f"{change} ({change.rule})" for change in refused]
    return SchemaIncompatible(table, pipeline, problems, ways_out(refused, table, pipeline))


def evolve(
    stored: TableShape | None,
    incoming: TableShape,
    *,
    mode: ContractMode,
    is_open: bool,
    exact: Collection[str] = (),
) -> Evolution:
    """What becomes of the table when rows of the incoming shape are to be stored.

    `is_open`: the incoming schema was learnt from a sample, so it says what may come and not what must.
    `exact`: paths of int64 columns all of whose stored numbers are within 2 to the power of 53; only those
    may become double, see `proof`.
    """
    walk = Walk(rules=Rules(mode=mode, is_open=is_open, exact=exact))
    shape = _walked(walk, stored, incoming)
    if walk.refused:
        return Evolution(shape=stored or NO_SHAPE, refused=tuple(walk.refused), ignored=tuple(walk.ignored))
    return Evolution(shape=shape, changes=tuple(walk.changes), ignored=tuple(walk.ignored))


def accept(
    stored: TableShape,
    incoming: TableShape,
    *,
    mode: ContractMode = ContractMode.EVOLVE,
    is_open: bool = False,
    exact: Collection[str] = (),
    columns: Collection[str] | None = None,
) -> Evolution:
    """What the table is when an operator lets through what `evolve` refuses: all of it, or these columns.

    A type that is refused becomes the least one that holds the values of both, so none is lost, and is noted
    with the column: it is not refused again. What a run would do by itself is left to it. What cannot be let
    through, or was not chosen, is still `refused`.
    """
    rules = Rules(mode=mode, is_open=is_open, exact=exact, is_accepting=True, chosen=columns)
    walk = Walk(rules=rules)
    shape = _walked(walk, stored, incoming)
    return Evolution(
        shape=shape,
        changes=tuple(walk.changes),
        refused=tuple(walk.refused),
        ignored=tuple(walk.ignored),
    )


def accepted(stored: TableShape, incoming: TableShape) -> TableShape:
    """The stored shape with room for every value of the incoming one, noted as an operator's decision."""
    return accept(stored, incoming).shape


def ways_out(refused: Collection[Change], table: str, pipeline: str) -> list[str]:
    """What can be done about refused changes, as orders: one that will do for each kind of trouble."""
    keys = [change for change in refused if change.kind is ChangeKind.CHANGE_KEY]
    others = [change for change in refused if change.kind is not ChangeKind.CHANGE_KEY]
    orders = []
    if any(change.kind in _NAMING and not change.is_acceptable for change in others):
        orders.append("give it another name or type in a transform")
    ways = ["cast it in a transform"] if any(change.kind not in _NAMING for change in others) else []
    if any(change.is_acceptable for change in others):
        ways.append(f"run `hakiri schema accept --pipeline {pipeline}`")
    if ways:
        orders.append(", or ".join(ways))
    for change in keys:
        columns = (change.after or "").replace(", ", ",")
        wanted = f"--primary-key {columns}" if columns else "--no-primary-key"
        migrate = f"run `hakiri schema migrate --pipeline {pipeline} --table {table} {wanted}`"
        orders.append(migrate if change.is_acceptable else "name columns that come in as its `primary_key`")
    return orders


def _walked(walk: Walk, stored: TableShape | None, incoming: TableShape) -> TableShape:
    columns, problems = tidied(list(incoming.schema))
    walk.refused += problems
    if stored is None:
        return _created(walk, columns, incoming)
    now = take_renames(walk, list(stored.schema), columns)
    known, added = walk.fields(now.stored, now.incoming)
    _check_key(walk, stored, incoming, now.names)
    # What found no place of its own stays the last column.
    end = len(known) - (1 if known and known[-1].name == EXTRA_COLUMN else 0)
    fields = [*known[:end], *added, *known[end:]]
    names = {each.name for each in fields}
    return TableShape(
        schema=pa.schema(fields, metadata=stored.schema.metadata),
        primary_key=tuple(name if name in names else now.names[name] for name in stored.primary_key),
    )


def _created(walk: Walk, columns: Sequence[pa.Field], incoming: TableShape) -> TableShape:
    known = [(each, known_part(each.type)) for each in columns]
    fields = [pa.field(each.name, part) for each, part in known if part is not None]
    walk.ignored += [
        unknown_column(path_of("", each.name), each.type) for each, part in known if part is None
    ]
    _check_key_comes_in(walk, incoming, frozenset(each.name for each in fields))
    walk.may(creation(len(fields)))
    return TableShape(schema=pa.schema(fields), primary_key=incoming.primary_key)


def _check_key(walk: Walk, stored: TableShape, incoming: TableShape, renames: Mapping[str, str]) -> None:
    # The rows of a sample may lack a column by chance.
    by_chance = stored.schema.names if walk.rules.is_open else ()
    _check_key_comes_in(walk, incoming, frozenset((*incoming.schema.names, *by_chance)))
    before = [renames.get(name, name) for name in stored.primary_key]
    if set(before) != set(incoming.primary_key):
        rule = "rows are told apart by it, so it changes only by a migration"
        walk.refused.append(key_change(stored.primary_key, incoming.primary_key, rule))


def _check_key_comes_in(walk: Walk, incoming: TableShape, names: Collection[str]) -> None:
    absent = [name for name in incoming.primary_key if name not in names]
    if absent:
        change = key_change((), incoming.primary_key, f"there is no column {', '.join(absent)}")
        walk.refused.append(replace(change, is_acceptable=False))
