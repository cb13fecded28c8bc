"""Expressions of a plan, built exactly as Spark's own DataFrame client builds them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from pyspark.sql.connect import proto
    from pyspark.sql.connect.proto import DataType, Expression

# Longer chains of AND or OR become balanced trees: protobuf allows only 100 messages inside each other.
LONGEST_CHAIN = 12

_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


@cache
def messages() -> ModuleType:
    """Spark's protobuf classes. Loaded late: importing the client takes about a second."""
    from hakiri.engine.connect import load_client

    load_client()
    import pyspark.sql.connect.proto

    return pyspark.sql.connect.proto


def expression() -> Expression:
    node: Expression = messages().Expression()
    return node


def quoted_name(parts: Iterable[str]) -> str:
    """The parts of a name as one text, with backticks only where they are needed, as authors write them."""
    return ".".join(f"`{part.replace('`', '``')}`" if re.search(r"[.`*]", part) else part for part in parts)


def name_parts(identifier: str) -> tuple[str, ...]:
    """The parts of a name that was written as one text."""
    return tuple(found[2] or found[1].replace("``", "`") for found in _PART.finditer(identifier))


def column(parts: Sequence[str]) -> Expression:
    node = expression()
    node.unresolved_attribute.unparsed_identifier = quoted_name(parts)
    node.unresolved_attribute.is_metadata_column = False
    return node


def column_parts(node: Expression) -> tuple[str, ...]:
    """The name's parts if the node is a column's name; else nothing."""
    if not node.HasField("unresolved_attribute"):
        return ()
    return name_parts(node.unresolved_attribute.unparsed_identifier)


def star(parts: Sequence[str] = ()) -> Expression:
    node = expression()
    node.unresolved_star.SetInParent()
    if parts:
        node.unresolved_star.unparsed_target = f"{quoted_name(parts)}.*"
    return node


def call(name: str, *arguments: Expression, is_distinct: bool = False) -> Expression:
    node = expression()
    node.unresolved_function.function_name = name
    node.unresolved_function.arguments.extend(arguments)
    node.unresolved_function.is_distinct = is_distinct
    return node


def joined(name: str, operands: Sequence[Expression]) -> Expression:
    """`a AND b AND c`: from the left, as DataFrames give it, or balanced if that would nest too deep."""
    if len(operands) > LONGEST_CHAIN:
        middle = (len(operands) + 1) // 2
        return call(name, joined(name, operands[:middle]), joined(name, operands[middle:]))
    left = operands[0]
    for right in operands[1:]:
        left = call(name, left, right)
    return left


def named(node: Expression, *names: str) -> Expression:
    alias = expression()
    alias.alias.name.extend(names)
    alias.alias.expr.CopyFrom(node)
    return alias


def converted(node: Expression, to: DataType, *, is_safe: bool = False) -> Expression:
    cast = expression()
    cast.cast.expr.CopyFrom(node)
    cast.cast.type.CopyFrom(to)
    if is_safe:
        cast.cast.eval_mode = messages().Expression.Cast.EvalMode.EVAL_MODE_TRY
    return cast


def part_of(node: Expression, key: Expression) -> Expression:
    part = expression()
    part.unresolved_extract_value.child.CopyFrom(node)
    part.unresolved_extract_value.extraction.CopyFrom(key)
    return part


def variable(name: str) -> Expression:
    node = expression()
    node.unresolved_named_lambda_variable.name_parts.append(name)
    return node


def function_of(names: Iterable[str], body: Expression) -> Expression:
    node = expression()
    node.lambda_function.function.CopyFrom(body)
    node.lambda_function.arguments.extend(variable(name).unresolved_named_lambda_variable for name in names)
    return node


def named_argument(key: str, value: Expression) -> Expression:
    node = expression()
    node.named_argument_expression.key = key
    node.named_argument_expression.value.CopyFrom(value)
    return node


def sort_order(node: Expression, *, is_ascending: bool, is_nulls_first: bool) -> proto.Expression.SortOrder:
    kinds = messages().Expression.SortOrder
    order: proto.Expression.SortOrder = kinds(
        direction=kinds.SORT_DIRECTION_ASCENDING if is_ascending else kinds.SORT_DIRECTION_DESCENDING,
        null_ordering=kinds.SORT_NULLS_FIRST if is_nulls_first else kinds.SORT_NULLS_LAST,
    )
    order.child.CopyFrom(node)
    return order


def children(node: Expression) -> Iterator[Expression]:
    """The expressions directly inside this one; those of a subquery are not among them."""
    match node.WhichOneof("expr_type"):
        case "unresolved_function":
            yield from node.unresolved_function.arguments
        case "alias":
            yield node.alias.expr
        case "cast":
            yield node.cast.expr
        case "unresolved_extract_value":
            yield node.unresolved_extract_value.child
            yield node.unresolved_extract_value.extraction
        case "lambda_function":
            yield node.lambda_function.function
        case "named_argument_expression":
            yield node.named_argument_expression.value
        case "subquery_expression":
            yield from node.subquery_expression.in_subquery_values
        case "window":
            yield node.window.window_function
            yield from node.window.partition_spec
            yield from (order.child for order in node.window.order_spec)


def everything_in(node: Expression) -> Iterator[Expression]:
    yield node
    for child in children(node):
        yield from everything_in(child)


def rewritten(node: Expression, change: Callable[[Expression], Expression | None]) -> Expression:
    """A copy in which every outermost part that `change` has an answer for is that answer."""
    answer = change(node)
    if answer is not None:
        return answer
    copy = expression()
    copy.CopyFrom(node)
    for before, after in zip(children(node), children(copy), strict=True):
        after.CopyFrom(rewritten(before, change))
    return copy
