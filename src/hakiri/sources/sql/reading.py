"""A read as batches with cursors: rows with one value of the cursor's column are never torn apart by it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from hakiri.sources.contract import Batch, Cursor, Extent, Read
from hakiri.sources.errors import SchemaIncompatible
from hakiri.sources.sql.bounds import bound_of
from hakiri.sources.sql.fitting import Fit, Sifted
from hakiri.sources.sql.relations import Column, Relation
from hakiri.sources.sql.selects import ReadPlan, Select, ends_of, plan_read


class Asked(Protocol):
    """A connection in one state of the database."""

    # Whether the database lets only UTF-8 in.
    is_text_checked: bool

    def batches(self, select: Select) -> Generator[pa.RecordBatch]:
        """The rows, as the driver gives them. Close it before the connection."""


def read_batches(asked: Asked, relation: Relation, read: Read) -> Iterator[Batch]:
    """The rows of a read with the cursor after each batch, as `Connector.open` promises."""
    plan = plan_read(relation, read)
    selected = partial(select_batches, asked, sets_aside=read.sets_aside, followed=plan.followed)
    left = read.limit
    if plan.without_value is not None:
        with closing(selected(plan.without_value)) as batches:
            for part in batches:
                left = None if left is None else left - part.count
                yield _given(part, plan, read, None)
    if left is not None and left <= 0:
        return
    with closing(selected(replace(plan.main, limit=left))) as batches:
        if plan.followed is None:
            yield from (_given(part, plan, read, None) for part in batches)
        elif plan.is_ordered:
            yield from _in_order(batches, plan, read, left)
        else:
            yield from _in_any_order(batches, plan, read, left)


def select_batches(
    asked: Asked, select: Select, *, sets_aside: bool = False, followed: Column | None = None
) -> Generator[Sifted]:
    """The rows of a SELECT in the types of its columns; none is empty. Close it before the connection."""
    fit = Fit(
        relation=select.relation,
        columns=select.columns,
        is_text_checked=asked.is_text_checked,
        sets_aside=sets_aside,
        followed=followed,
    )
    with closing(asked.batches(select)) as batches:
        for batch in batches:
            if batch.num_rows:
                yield fit.sift(batch)


def looked_up_extent(asked: Asked, relation: Relation, column: Column) -> Extent:
    """The ends of a column from its rows: at once with an index on it, else by looking through them."""
    lowest, highest, without = (
        next((part.rows for part in list(select_batches(asked, select, followed=column))), None)
        for select in (
            *ends_of(relation, column),
            Select(relation=relation, columns=(column,), conditions=(f"{column.key} IS NULL",), limit=1),
        )
    )
    return Extent(
        lowest=None if lowest is None else bound_of(lowest.column(0)[0]),
        highest=None if highest is None else bound_of(highest.column(0)[0]),
        rows=relation.estimated_rows,
        has_nulls=without is not None,
    )


def _in_order(batches: Iterable[Sifted], plan: ReadPlan, read: Read, limit: int | None) -> Iterator[Batch]:
    """Each batch is held until the next one shows whether all rows with its last value were in it."""
    held: Sifted | None = None
    count = 0
    for part in batches:
        count += part.count
        if held is not None:
            yield from _cut(held, plan, read, is_whole=not _values(held)[-1].equals(_values(part)[0]))
        held = part
    if held is not None:
        yield from _cut(held, plan, read, is_whole=limit is None or count < limit)


def _cut(part: Sifted, plan: ReadPlan, read: Read, *, is_whole: bool) -> Iterator[Batch]:
    """The rows with the cursor after them, or else those before the last value with theirs and the rest."""
    values = _values(part)
    if is_whole:
        yield _given(part, plan, read, _cursor(plan, values[-1]))
        return
    head = part.count - pc.sum(pc.equal(values, values[-1])).as_py()
    early = {number: reject for number, reject in part.rejects.items() if number < head}
    late = {number: reject for number, reject in part.rejects.items() if number >= head}
    rows = head - len(early)
    if head:
        first = replace(part, rows=part.rows.slice(0, rows), rejects=early)
        yield _given(first, plan, read, _cursor(plan, values[head - 1]))
    yield _given(replace(part, rows=part.rows.slice(rows), rejects=late), plan, read, None)


def _in_any_order(
    batches: Iterable[Sifted], plan: ReadPlan, read: Read, limit: int | None
) -> Iterator[Batch]:
    """The last batch has the highest value of all as its cursor, if that was the end."""
    held: Sifted | None = None
    highest: pa.Scalar | None = None
    count = 0
    for part in batches:
        count += part.count
        own = pc.max(_values(part))
        if own.is_valid and (highest is None or own.as_py() > highest.as_py()):
            highest = own
        if held is not None:
            yield _given(held, plan, read, None)
        held = part
    if held is not None:
        is_end = highest is not None and (limit is None or count < limit)
        yield _given(held, plan, read, _cursor(plan, highest) if is_end else None)


def _values(part: Sifted) -> pa.Array:
    assert part.values is not None  # noqa: S101 - asked only where a column is followed
    return part.values


def _cursor(plan: ReadPlan, value: pa.Scalar) -> Cursor:
    assert plan.followed is not None  # noqa: S101 - asked only where a column is followed
    return {plan.followed.name: bound_of(value)}


def _given(part: Sifted, plan: ReadPlan, read: Read, cursor: Cursor | None) -> Batch:
    """The wanted columns, in the form that the reader asks for."""
    columns = part.rows.columns[: plan.wanted]
    schema = read.schema or pa.schema([column.field for column in plan.main.columns[: plan.wanted]])
    if read.schema is not None:
        columns = [_in_form(array, field, read) for array, field in zip(columns, read.schema, strict=True)]
    rows = pa.RecordBatch.from_arrays(columns, schema=schema)
    return Batch(rows=rows, cursor=cursor, rejects=tuple(part.rejects.values()))


def _in_form(array: pa.Array, field: pa.Field, read: Read) -> pa.Array:
    if array.type.equals(field.type):
        return array
    try:
        return array.cast(field.type)
    except pa.ArrowException as error:
        raise SchemaIncompatible(
            f"column `{field.name}` of table `{read.table}` is of type {array.type} now, and a value of it "
            f"cannot be brought to {field.type}",
            hint="`hakiri source tables` shows its columns",
        ) from error
