"""The columns of a table beside those that come in: what becomes of each, and by which rule."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyarrow import types as kinds

from hakiri.pipelines.evolution.changes import (
    Change,
    ChangeKind,
    ContractMode,
    addition,
    disappearance,
    widening,
)
from hakiri.pipelines.evolution.forms import TEXT, known_part, type_text
from hakiri.pipelines.evolution.shapes import (
    accepted_types,
    is_noted_missing,
    noted_missing,
    of_another_type,
    path_of,
    taken_names,
    with_accepted_types,
)
from hakiri.pipelines.evolution.types import (
    common_number_or_moment,
    common_type,
    holds,
    is_widening,
    is_widening_for_some,
)

ACCEPTED = "an operator accepted it"
_FIXED = "the contract of the table is `{}`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What decides about a change.

    `exact` are columns whose whole numbers are known to be within 2 to the power of 53. With `is_accepting`
    only what would be refused is done: all of it, or that at or below one of the paths in `chosen`.
    """

    mode: ContractMode = ContractMode.EVOLVE
    is_open: bool = False
    exact: Collection[str] = ()
    is_accepting: bool = False
    chosen: Collection[str] | None = None

    def is_chosen(self, path: str) -> bool:
        return self.chosen is None or any(
            path == each or path.startswith((f"{each}.", f"{each}[")) for each in self.chosen
        )

    def leaves_out(self, path: str) -> bool:
        """Whether a new column is not stored; only an operator who names it can have it in then."""
        is_named = self.is_accepting and self.chosen is not None and self.is_chosen(path)
        return self.mode is ContractMode.DISCARD and not is_named

    @property
    def fixed(self) -> str | None:
        """Why nothing may change, where the contract says so."""
        return None if self.mode is ContractMode.EVOLVE else _FIXED.format(self.mode)


@dataclass(slots=True, kw_only=True)
class Walk:
    """One walk through the columns, and what it found."""

    rules: Rules
    changes: list[Change] = field(default_factory=list)
    refused: list[Change] = field(default_factory=list)
    ignored: list[Change] = field(default_factory=list)

    def may(self, change: Change, refusal: str | None = None, *, is_possible: bool = True) -> bool:
        """Note the change where it belongs, and say whether it happens. A refusal says why it should not."""
        if refusal is None and is_possible:
            if self.rules.is_accepting:
                return False  # a run does that by itself
            self.changes.append(change)
            return True
        if self.rules.is_accepting and is_possible and self.rules.is_chosen(change.column):
            is_retyped = change.kind in (ChangeKind.NARROW_TYPE, ChangeKind.CHANGE_TYPE)
            self.changes.append(change if is_retyped else replace(change, rule=ACCEPTED))
            return True
        self.refused.append(replace(change, rule=refusal or change.rule, is_acceptable=is_possible))
        return False

    def fields(
        self, stored: Sequence[pa.Field], incoming: Sequence[pa.Field], path: str = ""
    ) -> tuple[list[pa.Field], list[pa.Field]]:
        """What becomes of the columns that there are, and those that are new."""
        coming = {each.name: each for each in incoming}
        known = [
            self.field(each, coming[each.name], path_of(path, each.name))
            if each.name in coming
            else self._missing(each, path_of(path, each.name))
            for each in stored
        ]
        names, taken = {each.name for each in stored}, taken_names(stored)
        found = (
            self._added(each, path_of(path, each.name), taken.get(each.name.casefold()))
            for each in incoming
            if each.name not in names
        )
        return known, [each for each in found if each is not None]

    def field(self, stored: pa.Field, incoming: pa.Field, path: str) -> pa.Field:
        """What becomes of one column; the very same field if nothing does."""
        old, new = stored.type, incoming.type
        if kinds.is_struct(old) and kinds.is_struct(new):
            known, added = self.fields(list(old), list(new), path)
            return _rebuilt(stored, list(old), [*known, *added], pa.struct)
        if kinds.is_list(old) and kinds.is_list(new):
            element = self.field(old.value_field, new.value_field, f"{path}[]")
            return _rebuilt(stored, [old.value_field], [element], lambda parts: pa.list_(*parts))
        if kinds.is_map(old) and kinds.is_map(new):
            before = [old.key_field, old.item_field]
            key = self.field(old.key_field, new.key_field, f"{path}[key]")
            value = self.field(old.item_field, new.item_field, f"{path}[value]")
            return _rebuilt(stored, before, [key, value], lambda parts: pa.map_(*parts))
        return stored if self._takes(stored, new) else self._retyped(stored, new, path)

    def _takes(self, stored: pa.Field, new: pa.DataType) -> bool:
        """Whether the column has room for values of the type as it is."""
        old = stored.type
        if old == new or kinds.is_null(new) or type_text(new) in accepted_types(stored):
            return True
        # Rows of an open table are brought into the stored form, and what finds no place goes to `_extra`.
        is_text_or_close = old == TEXT or is_widening_for_some(new, old)
        return self.rules.is_open and (is_text_or_close or holds(old, new))

    def _retyped(self, stored: pa.Field, new: pa.DataType, path: str) -> pa.Field:
        old = stored.type
        wider = self._wider(old, new, path)
        if wider is not None:
            change = widening(path, type_text(old), type_text(wider))
            return of_another_type(stored, wider) if self.may(change, self.rules.fixed) else stored
        target = common_type(old, new)
        change = Change(
            kind=ChangeKind.NARROW_TYPE if target == old else ChangeKind.CHANGE_TYPE,
            column=path,
            before=type_text(old),
            after=type_text(new),
            rule="" if target is None else f"{ACCEPTED}, and the column is {type_text(target)}",
        )
        if not self.may(change, _reason_against(old, new, target), is_possible=target is not None):
            return stored
        texts = (type_text(each) for each in (old, new) if each != target)
        return with_accepted_types(of_another_type(stored, target), (*accepted_types(stored), *texts))

    def _wider(self, old: pa.DataType, new: pa.DataType, path: str) -> pa.DataType | None:
        """The type that a widening leads to, if it is one."""
        if is_widening(old, new) or (is_widening_for_some(old, new) and path in self.rules.exact):
            return new
        # A declared type that is not the stored one would look like a narrowing the next time.
        return common_number_or_moment(old, new) if self.rules.is_open else None

    def _missing(self, stored: pa.Field, path: str) -> pa.Field:
        # A sample may lack a column by chance, and once it was said that one is gone, it was said.
        if self.rules.is_open or is_noted_missing(stored):
            return stored
        change = disappearance(path, type_text(stored.type))
        return noted_missing(stored) if self.may(change) else stored

    def _added(self, incoming: pa.Field, path: str, clash: str | None) -> pa.Field | None:
        known = known_part(incoming.type)
        if known is None:
            self.ignored.append(unknown_column(path, incoming.type))
            return None
        change = addition(path, type_text(known))
        if clash is not None:
            self.may(change, clash, is_possible=False)
            return None
        if self.rules.leaves_out(path):
            self.ignored.append(replace(change, rule=f"it is not stored: {self.rules.fixed}"))
            return None
        return pa.field(incoming.name, known) if self.may(change, self.rules.fixed) else None


def unknown_column(path: str, kind: pa.DataType) -> Change:
    """A column that is not there yet, since nothing but nulls was seen of it."""
    return replace(
        addition(path, type_text(kind)), rule="nothing but NULL was seen of it, so it is not stored yet"
    )


def _rebuilt(
    stored: pa.Field, before: Sequence[pa.Field], after: list[pa.Field], made_of: Callable[..., pa.DataType]
) -> pa.Field:
    is_same = len(before) == len(after) and all(
        one.equals(other, check_metadata=True) for one, other in zip(before, after, strict=True)
    )
    return stored if is_same else of_another_type(stored, made_of(after))


def _reason_against(old: pa.DataType, new: pa.DataType, target: pa.DataType | None) -> str:
    if target == old:
        return f"{type_text(new)} holds fewer values than {type_text(old)}"
    if target is None:
        return "no type holds the values of both"
    if is_widening_for_some(old, new):
        return "a double does not hold every whole number beyond 2 to the power of 53"
    return f"only {type_text(target)} holds the values of both"
