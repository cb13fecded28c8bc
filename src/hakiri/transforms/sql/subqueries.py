"""Queries inside expressions: scalar ones, EXISTS and IN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hakiri.transforms.sql import nodes
from hakiri.transforms.sql.cursor import Cursor
from hakiri.transforms.sql.words import QUERY_STARTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql.connect.proto import Expression

    from hakiri.transforms.sql.reading import Reading


def at_query(cursor: Cursor, offset: int = 0) -> bool:
    """Whether parentheses open after so many tokens, and a query begins inside them."""
    if cursor.ahead(offset).text != "(":
        return False
    while cursor.ahead(offset).text == "(":
        offset += 1
    if cursor.ahead(offset).word == "VALUES":
        return cursor.ahead(offset + 1).text == "("
    return cursor.ahead(offset).word in QUERY_STARTS


def read_scalar(reading: Reading) -> Expression:
    return _subquery(reading, "SUBQUERY_TYPE_SCALAR")


def read_exists(reading: Reading) -> Expression:
    reading.cursor.take()
    return _subquery(reading, "SUBQUERY_TYPE_EXISTS")


def read_membership(reading: Reading, value: Expression) -> Expression:
    """`value IN (SELECT …)`; `(a, b) IN (SELECT x, y …)` compares two columns."""
    is_row = value.unresolved_function.function_name == "struct"
    values = value.unresolved_function.arguments if is_row else [value]
    return _subquery(reading, "SUBQUERY_TYPE_IN", values)


def _subquery(reading: Reading, kind: str, values: Iterable[Expression] = ()) -> Expression:
    cursor = reading.cursor
    if reading.read_subquery is None:
        cursor.fail("a subquery cannot stand in a single expression", "join the other table instead")
    if reading.lambda_names:
        cursor.fail("a subquery cannot stand in a lambda", "compute it outside of the lambda")
    cursor.deeper()
    cursor.expect_symbol("(")
    plan = reading.read_subquery(reading)
    cursor.expect_symbol(")")
    cursor.shallower()
    reading.counts.plans += 1
    plan.common.plan_id = reading.counts.plans
    reading.subqueries.append(plan)
    node = nodes.expression()
    node.subquery_expression.plan_id = plan.common.plan_id
    node.subquery_expression.subquery_type = getattr(nodes.messages().SubqueryExpression, kind)
    node.subquery_expression.in_subquery_values.extend(values)
    return node
