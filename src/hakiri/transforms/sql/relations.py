"""Relations of a plan, built exactly as Spark's own DataFrame client builds them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

from hakiri.transforms.sql.nodes import messages, name_parts

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from pyspark.sql.connect import proto
    from pyspark.sql.connect.proto import Expression, Relation

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def relation() -> Relation:
    made: Relation = messages().Relation()
    return made


def table(name: str) -> Relation:
    made = relation()
    quoted = name if _PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"
    made.read.named_table.unparsed_identifier = quoted
    return made


def aliased(source: Relation, alias: str) -> Relation:
    made = relation()
    made.subquery_alias.input.CopyFrom(source)
    made.subquery_alias.alias = alias
    return made


def project(source: Relation | None, expressions: Iterable[Expression]) -> Relation:
    """Without a source: one row."""
    made = relation()
    if source is not None:
        made.project.input.CopyFrom(source)
    made.project.expressions.extend(expressions)
    return made


def filtered(source: Relation, condition: Expression) -> Relation:
    made = relation()
    made.filter.input.CopyFrom(source)
    made.filter.condition.CopyFrom(condition)
    return made


def sorted_by(
    source: Relation, orders: Iterable[proto.Expression.SortOrder], *, is_global: bool = True
) -> Relation:
    made = relation()
    made.sort.input.CopyFrom(source)
    made.sort.order.extend(orders)
    made.sort.is_global = is_global
    return made


def distinct(source: Relation) -> Relation:
    made = relation()
    made.deduplicate.input.CopyFrom(source)
    made.deduplicate.all_columns_as_keys = True
    made.deduplicate.within_watermark = False
    return made


def limited(source: Relation, limit: int) -> Relation:
    made = relation()
    made.limit.input.CopyFrom(source)
    made.limit.limit = limit
    return made


def after(source: Relation, offset: int) -> Relation:
    made = relation()
    made.offset.input.CopyFrom(source)
    made.offset.offset = offset
    return made


def without(source: Relation, names: Iterable[str]) -> Relation:
    made = relation()
    made.drop.input.CopyFrom(source)
    made.drop.column_names.extend(names)
    return made


def with_names(source: Relation, names: Iterable[str]) -> Relation:
    made = relation()
    made.to_df.input.CopyFrom(source)
    made.to_df.column_names.extend(names)
    return made


def renamed(source: Relation, names: Iterable[tuple[str, str]]) -> Relation:
    made = relation()
    made.with_columns_renamed.input.CopyFrom(source)
    for old, new in names:
        made.with_columns_renamed.renames.add(col_name=old, new_col_name=new)
    return made


def combined(left: Relation, right: Relation, kind: str, *, is_all: bool) -> Relation:
    """UNION, INTERSECT or EXCEPT."""
    made = relation()
    made.set_op.left_input.CopyFrom(left)
    made.set_op.right_input.CopyFrom(right)
    made.set_op.set_op_type = getattr(messages().SetOperation, f"SET_OP_TYPE_{kind}")
    made.set_op.is_all = is_all
    made.set_op.by_name = False
    made.set_op.allow_missing_columns = False
    return made


def join(left: Relation, right: Relation, kind: str) -> Relation:
    """Without a condition; the caller adds it, or the columns of USING."""
    made = relation()
    made.join.left.CopyFrom(left)
    made.join.right.CopyFrom(right)
    made.join.join_type = getattr(messages().Join, f"JOIN_TYPE_{kind}")
    return made


def lateral_join(left: Relation, right: Relation, kind: str) -> Relation:
    made = relation()
    made.lateral_join.left.CopyFrom(left)
    made.lateral_join.right.CopyFrom(right)
    made.lateral_join.join_type = getattr(messages().Join, f"JOIN_TYPE_{kind}")
    return made


def beside(root: Relation, subqueries: Sequence[Relation]) -> Relation:
    """The relation together with the plans of the subqueries in its expressions."""
    if not subqueries:
        return root
    made = relation()
    made.with_relations.root.CopyFrom(root)
    made.with_relations.references.extend(subqueries)
    return made


def messages_in(message: Message) -> Iterator[Message]:
    """The message and all messages inside it, outer ones first."""
    yield message
    for kind, inner in message.ListFields():
        if kind.message_type is None:
            continue
        if kind.message_type.GetOptions().map_entry:
            parts = [part for part in inner.values() if hasattr(part, "ListFields")]
        else:
            parts = [inner] if hasattr(inner, "ListFields") else list(inner)
        for part in parts:
            yield from messages_in(part)


def renumber(made: Relation, offset: int) -> None:
    """Give the plans of subqueries inside other ids, so that the relation may stand in a plan twice."""
    for message in messages_in(made):
        name = message.DESCRIPTOR.full_name
        is_plan = name == "spark.connect.RelationCommon" and message.HasField("plan_id")
        if is_plan or name == "spark.connect.SubqueryExpression":
            message.plan_id += offset  # type: ignore[attr-defined]


def with_qualifiers(made: Relation) -> Relation:
    """Give a table that columns name (`input.id`) its name as alias: what is read in its place has none."""
    dotted = set()
    for message in messages_in(made):
        name = message.DESCRIPTOR.full_name
        if name == "spark.connect.Expression.UnresolvedAttribute":
            parts = name_parts(message.unparsed_identifier)  # type: ignore[attr-defined]
            dotted |= {parts[0].lower()} if len(parts) > 1 else set()
        elif name == "spark.connect.Expression.UnresolvedStar":
            dotted |= {part.lower() for part in name_parts(message.unparsed_target)[:1]}  # type: ignore[attr-defined]
    reads = [
        cast("Relation", message)
        for message in messages_in(made)
        if message.DESCRIPTOR.full_name == "spark.connect.Relation" and message.HasField("read")
    ]
    for read in reads:
        name = name_parts(read.read.named_table.unparsed_identifier)[-1]
        if name.lower() in dotted:
            read.CopyFrom(aliased(read, name))
    return made
