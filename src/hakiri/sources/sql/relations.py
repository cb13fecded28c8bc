"""Tables and views as the database describes them, and their columns in SQL and in Arrow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import pyarrow as pa

from hakiri.core.nearest import nearest
from hakiri.sources.contract import Table
from hakiri.sources.errors import PermanentFailure

# Of columns that tell when a row was changed, these are what people call them.
_CHANGED = ("updat", "modif", "chang")
OTHER_KIND = "it is of another kind"
# Around a value in the text of misfits: signs that separate units and records, and hardly stand in a text.
_BEFORE_VALUE, _AFTER_VALUE = "\x1f", "\x1e"
_MISFITS = re.compile(rf"([0-9]+){_BEFORE_VALUE}(.*?){_AFTER_VALUE}(?=[0-9]+{_BEFORE_VALUE}|\Z)", re.DOTALL)


class Grain(Enum):
    """What kind of values a column is ordered by, where it can be cut and followed."""

    NUMBER = "whole numbers"
    MOMENT = "moments"
    LOCAL_MOMENT = "moments without a zone"
    DAY = "days"
    TEXT = "texts"

    @property
    def is_time(self) -> bool:
        return self in (Grain.MOMENT, Grain.LOCAL_MOMENT, Grain.DAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column.

    - `select` is what stands in the SELECT list; what comes of it can be cast to `type` by Arrow.
    - `misfit` is a condition in SQL: true for a value that `type` cannot hold, or that `select` would change;
      `misfit_words` says what is the matter with it, and `misfit_shown` gives it as text.
    - `grain` is None for a column that no cursor can follow. Else `key` is what conditions and orders name,
      `key_cast` follows a literal of it, and `key_misfit` is a condition for values that the order mixes up.
    - `may_be_time`: its texts may be moments, in whatever form they were written.
    """

    name: str
    type: pa.DataType
    select: str
    is_nullable: bool = True
    is_indexed: bool = False
    misfit: str | None = None
    misfit_words: str = OTHER_KIND
    misfit_shown: str = ""
    grain: Grain | None = None
    key: str = ""
    key_cast: str = ""
    key_misfit: str | None = None
    may_be_time: bool = False

    @property
    def field(self) -> pa.Field:
        return pa.field(self.name, self.type, nullable=self.is_nullable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A table or view. `name` is what the pipeline calls it, `target` what stands after FROM."""

    name: str
    target: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    estimated_rows: int | None = None
    description: str = ""

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([column.field for column in self.columns])

    def column(self, name: str) -> Column:
        """Raises PermanentFailure for a column that is not there."""
        for column in self.columns:
            if column.name == name:
                return column
        meant = nearest(name, [column.name for column in self.columns])
        raise PermanentFailure(
            f"table `{self.name}` has no column `{name}`",
            hint=f"did you mean `{meant}`?" if meant else "`hakiri source tables` shows its columns",
        )

    def ordered_column(self, name: str) -> Column:
        """A column that a cursor or a window can follow; raises PermanentFailure for any other."""
        column = self.column(name)
        if column.grain is None:
            usable = ", ".join(f"`{field}`" for field in cursor_fields(self))
            raise PermanentFailure(
                f"column `{name}` of table `{self.name}` cannot be a cursor: "
                "it holds no whole numbers, moments, days or plain texts",
                hint=f"use one of {usable}" if usable else "read the table without `incremental`",
            )
        return column

    @property
    def as_table(self) -> Table:
        return Table(
            name=self.name,
            schema=self.schema,
            primary_key=self.primary_key,
            cursor_fields=cursor_fields(self),
            estimated_rows=self.estimated_rows,
            description=self.description,
        )


def cursor_fields(relation: Relation) -> tuple[str, ...]:
    """Columns to follow, the likeliest first: when rows changed, other times, then what an index orders."""

    def rank(column: Column) -> int:
        if is_of_time(column):
            return 0 if any(part in column.name.lower() for part in _CHANGED) else 1
        return 2

    usable = [
        column
        for column in relation.columns
        if column.grain is not None and (column.is_indexed or is_of_time(column))
    ]
    return tuple(column.name for column in sorted(usable, key=rank))


def is_of_time(column: Column) -> bool:
    """Whether its values are times, as far as its type tells, or its name where the type is a text."""
    if column.grain is None:
        return False
    return column.grain.is_time or (column.grain is Grain.TEXT and column.name.lower().endswith("_at"))


def window_field(relation: Relation) -> str | None:
    """The column of numbers or times to cut the table by: its key if that is one, else an indexed one."""

    def cuts(column: Column) -> bool:
        return column.grain is not None and column.grain is not Grain.TEXT

    if len(relation.primary_key) == 1 and cuts(key := relation.column(relation.primary_key[0])):
        return key.name
    indexed = [column.name for column in relation.columns if column.is_indexed and cuts(column)]
    return indexed[0] if indexed else None


def quoted(name: str) -> str:
    """The name of something in the database, as it is; all three take the standard's quotes."""
    if "\0" in name:
        raise PermanentFailure("a name holds a zero byte", hint="correct the name")
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text in SQL. Backslashes mean nothing in it: Postgres is told so when it is connected to."""
    if "\0" in text:
        raise PermanentFailure("a value to compare with holds a zero byte", hint="correct the value")
    return "'" + text.replace("'", "''") + "'"


def misfits_sql(columns: Sequence[Column]) -> str | None:
    """In SQL, the misfits of a row as a text for `misfits_in`, or NULL; None if there can be none."""
    parts = []
    for number, column in enumerate(columns):
        if column.misfit is not None:
            shown = column.misfit_shown or f"CAST({quoted(column.name)} AS TEXT)"
            text = f"{text_literal(f'{number}{_BEFORE_VALUE}')} || {shown} || {text_literal(_AFTER_VALUE)}"
            parts.append((column.misfit, text))
    if not parts:
        return None
    # Of a row that fits nothing more is asked than that. No condition holds of NULL, which is no misfit.
    is_any = " OR ".join(f"({condition})" for condition, _ in parts)
    each = " || ".join(f"CASE WHEN {condition} THEN {text} ELSE '' END" for condition, text in parts)
    return f"CASE WHEN {is_any} THEN {each} END"


def misfits_in(text: str) -> dict[int, str]:
    """The values that do not fit, by the number of their column."""
    return {int(number): value for number, value in _MISFITS.findall(text)}
