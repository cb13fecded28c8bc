"""What is asked of a table: one SELECT, and which ones a read is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hakiri.sources.contract import Read, Window
from hakiri.sources.errors import PermanentFailure, SchemaIncompatible
from hakiri.sources.sql.bounds import literal, window_literal
from hakiri.sources.sql.relations import Column, Relation, misfits_sql


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """Columns of a table; after them, where values may be misfits, a text of those that are."""

    relation: Relation
    columns: tuple[Column, ...]
    conditions: tuple[str, ...] = ()
    order: str | None = None
    limit: int | None = None

    @property
    def expressions(self) -> list[str]:
        misfits = misfits_sql(self.columns)
        return [column.select for column in self.columns] + ([] if misfits is None else [misfits])

    @property
    def sql(self) -> str:
        parts = [f"SELECT {', '.join(self.expressions)} FROM {self.relation.target}"]  # noqa: S608 - all of it is quoted
        if self.conditions:
            parts.append("WHERE " + " AND ".join(f"({condition})" for condition in self.conditions))
        if self.order is not None:
            parts.append(f"ORDER BY {self.order}")
        if self.limit is not None:
            parts.append(f"LIMIT {self.limit}")
        return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """The SELECTs of one read.

    - `followed`: the column whose values the cursors hold, if there is one. It may stand after those that are
      wanted; `wanted` is how many these are.
    - `without_value`: the rows in which it is NULL. No cursor tells that they were read, so they come first.
    - `is_ordered`: the rows of `main` come in its order, so that there is a cursor before the end.
    """

    main: Select
    wanted: int
    followed: Column | None = None
    is_ordered: bool = False
    without_value: Select | None = None


def plan_read(relation: Relation, read: Read) -> ReadPlan:
    """Which rows, in which order; raises PermanentFailure for a cursor or window that makes no sense."""
    wanted = _wanted_columns(relation, read)
    name = _followed_name(read)
    if name is None:
        return ReadPlan(main=Select(relation=relation, columns=wanted, limit=read.limit), wanted=len(wanted))
    followed = relation.ordered_column(name)
    columns = _checked_for_order(wanted, followed)
    window = () if read.window is None else _within(relation, read.window)
    # Arrow orders texts by their bytes, and a database perhaps in another way: it has to tell the last one.
    is_ordered = read.window is None or read.cursor is not None or not _is_ordered_alike(followed)
    main = Select(relation=relation, columns=columns, conditions=window, limit=read.limit)
    if not is_ordered:
        return ReadPlan(main=main, wanted=len(wanted), followed=followed)
    after = () if read.cursor is None else (f"{followed.key} > {literal(followed, read.cursor[name])}",)
    null = f"{followed.key} IS NULL"
    return ReadPlan(
        main=replace(main, conditions=(*window, f"{followed.key} IS NOT NULL", *after), order=followed.key),
        wanted=len(wanted),
        followed=followed,
        is_ordered=True,
        without_value=replace(main, conditions=(*window, null))
        if read.cursor is None and followed.is_nullable
        else None,
    )


def ends_of(relation: Relation, column: Column) -> tuple[Select, Select]:
    """The rows with the lowest and the highest value of a column; an index on it gives them at once."""
    lowest = Select(
        relation=relation,
        columns=_checked_for_order((column,), column),
        conditions=(f"{column.key} IS NOT NULL",),
        order=column.key,
        limit=1,
    )
    return lowest, replace(lowest, order=f"{column.key} DESC")


def _wanted_columns(relation: Relation, read: Read) -> tuple[Column, ...]:
    if read.schema is None:
        return relation.columns
    known = {column.name: column for column in relation.columns}
    for name in read.schema.names:
        if name not in known:
            raise SchemaIncompatible(
                f"table `{relation.name}` has no column `{name}` any more",
                hint="`hakiri source tables` shows its columns",
            )
    return tuple(known[name] for name in read.schema.names)


def _followed_name(read: Read) -> str | None:
    if read.cursor is None:
        return read.incremental or (read.window.field if read.window is not None else None)
    if len(read.cursor) != 1 or (read.incremental or next(iter(read.cursor))) not in read.cursor:
        raise PermanentFailure(
            f"the cursor of table `{read.table}` is one of {', '.join(f'`{key}`' for key in read.cursor)}"
            + (f", and `{read.incremental}` is to be followed" if read.incremental else ""),
            hint="read the table from the start with `hakiri cursor reset`, or name the column it is of",
        )
    return next(iter(read.cursor))


def _checked_for_order(wanted: tuple[Column, ...], followed: Column) -> tuple[Column, ...]:
    """The columns and the followed one, in which values that its order mixes up are misfits too."""
    checked = followed
    if followed.key_misfit is not None:
        conditions = [text for text in (followed.misfit, followed.key_misfit) if text is not None]
        checked = replace(
            followed, misfit=" OR ".join(conditions), misfit_words="a cursor cannot follow texts and others"
        )
    if followed in wanted:
        return tuple(checked if column is followed else column for column in wanted)
    return (*wanted, checked)


def _is_ordered_alike(column: Column) -> bool:
    return column.grain is not None and column.grain.name != "TEXT"


def _within(relation: Relation, window: Window) -> tuple[str, ...]:
    column = relation.ordered_column(window.field)
    ends = []
    if window.since is not None:
        ends.append(f"{column.key} >= {window_literal(column, window.since)}")
    if window.until is not None:
        ends.append(f"{column.key} < {window_literal(column, window.until)}")
    if not window.has_nulls:
        return tuple(ends) or (f"{column.key} IS NOT NULL",)
    return (f"({' AND '.join(ends)}) OR {column.key} IS NULL",) if ends else ()
