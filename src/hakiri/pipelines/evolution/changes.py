"""What can happen to the columns of a table, one thing at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class ContractMode(StrEnum):
    """What a table makes of columns that are not what they were: the `contract` of the manifest."""

    EVOLVE = "evolve"
    FREEZE = "freeze"
    DISCARD = "discard"


class ChangeKind(StrEnum):
    """In the order in which the kinds of one step are named."""

    CREATE = "create"
    ADD_COLUMN = "add_column"
    DROP_COLUMN = "drop_column"
    WIDEN_TYPE = "widen_type"
    NARROW_TYPE = "narrow_type"
    CHANGE_TYPE = "change_type"
    RENAME = "rename"
    CHANGE_KEY = "change_key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change, and the rule that decides about it, in a short sentence for people.

    `column` is a path: `address.zip` is a field of a struct, `tags[]` the elements of a list, `labels[key]`
    and `labels[value]` those of a map; it is empty for a change of the table as a whole. `before` and `after`
    are types; for a rename names, and for a key its columns. `is_acceptable` says of a refused one that an
    operator can let it through, with `hakiri schema accept` or, for a key, with `hakiri schema migrate`.
    """

    kind: ChangeKind
    column: str
    before: str | None
    after: str | None
    rule: str
    is_acceptable: bool = True

    def __str__(self) -> str:
        """One line for a person, without the rule."""
        match self.kind:
            case ChangeKind.CREATE:
                words = f"table created with {self.after}"
            case ChangeKind.ADD_COLUMN:
                words = f"column `{self.column}` added as {self.after}"
            case ChangeKind.DROP_COLUMN:
                words = f"column `{self.column}` dropped at the source"
            case ChangeKind.RENAME:
                words = f"column `{self.before}` renamed to `{self.after}`"
            case ChangeKind.CHANGE_KEY if self.before is self.after is None:
                words = "primary key changed"
            case ChangeKind.CHANGE_KEY:
                words = f"primary key changed from {self.before or 'none'} to {self.after or 'none'}"
            case _:
                words = f"column `{self.column}` changed from {self.before} to {self.after}"
        return words


def kinds_text(changes: Iterable[Change]) -> str:
    """The distinct kinds in their fixed order, joined by `+`: what the catalog keeps of a step."""
    found = {change.kind for change in changes}
    return "+".join(kind.value for kind in ChangeKind if kind in found)


def creation(columns: int) -> Change:
    return Change(
        kind=ChangeKind.CREATE,
        column="",
        before=None,
        after="1 column" if columns == 1 else f"{columns} columns",
        rule="the table is new",
    )


def addition(path: str, kind: str) -> Change:
    return Change(
        kind=ChangeKind.ADD_COLUMN,
        column=path,
        before=None,
        after=kind,
        rule="it is appended, and rows from before have NULL there",
    )


def disappearance(path: str, kind: str) -> Change:
    return Change(
        kind=ChangeKind.DROP_COLUMN,
        column=path,
        before=kind,
        after=None,
        rule="it stays, and new rows have NULL there",
    )


def widening(path: str, before: str, after: str) -> Change:
    return Change(
        kind=ChangeKind.WIDEN_TYPE,
        column=path,
        before=before,
        after=after,
        rule=f"every {before} has its place in {after}, and files stay as they are",
    )


def renaming(path: str, before: str, after: str) -> Change:
    return Change(
        kind=ChangeKind.RENAME,
        column=path,
        before=before,
        after=after,
        rule="it was declared, and rows from before are under the new name too",
    )


def key_change(before: Sequence[str], after: Sequence[str], rule: str) -> Change:
    return Change(
        kind=ChangeKind.CHANGE_KEY,
        column="",
        before=", ".join(before) or None,
        after=", ".join(after) or None,
        rule=rule,
    )
