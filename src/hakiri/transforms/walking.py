"""Going through a plan, and bringing it into the one form in which equal transforms are equal bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.message import Message
from pyspark.sql.connect.proto import Expression, Relation

# The fields by which an expression says which relation it means.
_POINTERS = ("unresolved_attribute", "unresolved_star", "unresolved_regex", "subquery_expression")


def messages(message: Message) -> Iterator[Message]:
    """The message and everything in it, outermost first."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            items = [item for item in value.values() if isinstance(item, Message)]
        else:
            items = list(value) if field.is_repeated else [value]
        for item in items:
            yield from messages(item)


def named_tables(relation: Relation) -> list[Relation]:
    """The leaves of a plan that read a table by its name, as they stand in it."""
    return [
        each
        for each in messages(relation)
        if isinstance(each, Relation) and each.WhichOneof("rel_type") == "read"
        and each.read.WhichOneof("read_type") == "named_table"
    ]  # fmt: skip


def times_read(relation: Relation, table: str) -> int:
    """How often a plan reads the table of this name."""
    return sum(leaf.read.named_table.unparsed_identifier == table for leaf in named_tables(relation))


def with_fresh_plan_ids(relation: Relation, fresh: Callable[[], int]) -> Relation:
    """A copy whose relations have new ids, so that it can stand beside any other plan of the session."""
    copy = Relation()
    copy.CopyFrom(relation)
    new: dict[int, int] = {}
    for each in messages(copy):
        if isinstance(each, Relation):
            # The same relation may stand in several places, and has one id in all of them.
            old = each.common.plan_id if each.common.HasField("plan_id") else None
            made = new.get(old) if old is not None else None
            each.common.plan_id = fresh() if made is None else made
            if old is not None:
                new[old] = each.common.plan_id
    for pointer in _pointers(copy):
        pointer.plan_id = new[pointer.plan_id]
    return copy


def canonical(relation: Relation) -> Relation:
    """A copy without what changes from one compilation to the next and means nothing.

    Where in the author's files a column was written goes away; ids of relations stay only where an
    expression points at one, and are counted from 0; variables of lambdas are named by their order.
    """
    copy = Relation()
    copy.CopyFrom(relation)
    for each in messages(copy):
        if isinstance(each, Expression):
            each.ClearField("common")
        elif isinstance(each, Expression.UnresolvedAttribute) and not each.is_metadata_column:
            each.ClearField("is_metadata_column")  # Spark's client writes the default out
    _name_variables(copy)
    pointers = list(_pointers(copy))
    wanted = {pointer.plan_id for pointer in pointers}
    numbers: dict[int, int] = {}
    for each in messages(copy):
        if isinstance(each, Relation):
            old = each.common.plan_id if each.common.HasField("plan_id") else None
            each.ClearField("common")
            if old in wanted and old is not None:
                each.common.plan_id = numbers.setdefault(old, len(numbers))
    for pointer in pointers:
        pointer.plan_id = numbers[pointer.plan_id]
    return copy


def _pointers(relation: Relation) -> Iterator[Any]:
    for each in messages(relation):
        if isinstance(each, Expression) and (kind := each.WhichOneof("expr_type")) in _POINTERS:
            pointer = getattr(each, kind)
            if kind == "subquery_expression" or pointer.HasField("plan_id"):
                yield pointer


def _name_variables(relation: Relation) -> None:
    names: dict[str, str] = {}
    for each in messages(relation):
        if isinstance(each, Expression.UnresolvedNamedLambdaVariable):
            first, *rest = each.name_parts
            each.name_parts[:] = [names.setdefault(first, f"x{len(names)}"), *rest]
