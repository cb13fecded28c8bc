"""Whole queries: WITH, set operations, ORDER BY, LIMIT and OFFSET around SELECTs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hakiri.transforms.sql import nodes, relations
from hakiri.transforms.sql.groupby import numbered
from hakiri.transforms.sql.scopes import Cte, Scope, at_set_operator
from hakiri.transforms.sql.selects import Select, read_select
from hakiri.transforms.sql.sources import read_values
from hakiri.transforms.sql.subqueries import at_query
from hakiri.transforms.sql.tokens import Kind
from hakiri.transforms.sql.windows import read_orders

if TYPE_CHECKING:
    from pyspark.sql.connect import proto
    from pyspark.sql.connect.proto import Relation

    from hakiri.transforms.sql.reading import Reading

    Order = proto.Expression.SortOrder

_DIGITS = re.compile(r"[0-9]{1,10}")
_MOST_ROWS = 2**31 - 1
_KINDS = {"UNION": "UNION", "INTERSECT": "INTERSECT", "EXCEPT": "EXCEPT", "MINUS": "EXCEPT"}


def read_query(scope: Scope) -> Relation:
    """A query with all that may stand around its SELECTs."""
    cursor = scope.cursor
    cursor.deeper()
    if cursor.accept_word("WITH"):
        scope = _with_ctes(scope)
    made = _organized(scope, _read_terms(scope, _read_term(scope)))
    cursor.shallower()
    return made


def continue_query(scope: Scope, left: Relation) -> Relation:
    """The rest of a query whose first part, in parentheses, has been read."""
    return _organized(scope, _read_terms(scope, left))


def _with_ctes(scope: Scope) -> Scope:
    cursor = scope.cursor
    if cursor.at_word("RECURSIVE") and cursor.ahead().word != "AS":
        cursor.fail("recursive queries are not supported", "write the levels out")
    while True:
        name = cursor.expect_name("a name for the query")
        columns = scope.read_names() if cursor.at_symbol("(") else []
        cursor.expect_word("AS")
        cursor.expect_symbol("(")
        plans, unstable = scope.counts.plans, scope.counts.unstable_calls
        plan = read_query(scope)
        cursor.expect_symbol(")")
        if columns:
            plan = relations.with_names(plan, columns)
        cte = Cte(
            name=name,
            plan=plan,
            is_stable=scope.counts.unstable_calls == unstable,
            first_plan_id=plans,
            last_plan_id=scope.counts.plans,
        )
        scope = replace(scope, ctes={**scope.ctes, name.lower(): cte})
        if not cursor.accept_symbol(","):
            return scope


def _read_terms(scope: Scope, left: Select | Relation) -> Select | Relation:
    """UNION and EXCEPT from the left; INTERSECT binds stronger."""
    cursor = scope.cursor
    left, steps = _read_intersections(scope, left), 0
    while word := cursor.accept_word("UNION", "EXCEPT", "MINUS"):
        cursor.deeper()
        steps += 1
        is_all = _is_all(scope)
        left = _combined(left, _read_intersections(scope, _read_term(scope)), word, is_all=is_all)
    cursor.shallower(steps)
    return left


def _read_intersections(scope: Scope, left: Select | Relation) -> Select | Relation:
    steps = 0
    while scope.cursor.accept_word("INTERSECT"):
        scope.cursor.deeper()
        steps += 1
        is_all = _is_all(scope)
        left = _combined(left, _read_term(scope), "INTERSECT", is_all=is_all)
    scope.cursor.shallower(steps)
    return left


def _is_all(scope: Scope) -> bool:
    if scope.cursor.at_words("BY", "NAME"):
        scope.cursor.fail("UNION BY NAME is not supported", "name the columns in one order")
    is_all = scope.cursor.accept_word("ALL", "DISTINCT") == "ALL"
    if scope.cursor.at_words("BY", "NAME"):
        scope.cursor.fail("UNION BY NAME is not supported", "name the columns in one order")
    return is_all


def _combined(left: Select | Relation, right: Select | Relation, word: str, *, is_all: bool) -> Relation:
    if word == "UNION":
        both = relations.combined(_plan(left), _plan(right), "UNION", is_all=True)
        return both if is_all else relations.distinct(both)
    return relations.combined(_plan(left), _plan(right), _KINDS[word], is_all=is_all)


def _plan(term: Select | Relation) -> Relation:
    return term.plan() if isinstance(term, Select) else term


def _read_term(scope: Scope) -> Select | Relation:
    cursor = scope.cursor
    if cursor.at_word("SELECT"):
        return read_select(scope)
    if cursor.at_word("VALUES"):
        return read_values(scope)
    if at_query(cursor):
        cursor.expect_symbol("(")
        made = read_query(scope)
        cursor.expect_symbol(")")
        return made
    if cursor.at_word("FROM", "TABLE", "MAP", "REDUCE"):
        cursor.fail(f"a query cannot begin with `{cursor.token.text}`", "begin with SELECT")
    return cursor.unexpected("`SELECT`")


def _organized(scope: Scope, term: Select | Relation) -> Relation:
    cursor = scope.cursor
    for word in ("CLUSTER", "DISTRIBUTE"):
        if cursor.at_words(word, "BY"):
            cursor.fail(f"{word} BY is not supported", "leave the distribution to Spark")
    clause = (term.scope if isinstance(term, Select) else scope).clause()
    is_global = not cursor.at_words("SORT", "BY")
    orders: list[Order] = []
    if cursor.accept_words("ORDER", "BY") or cursor.accept_words("SORT", "BY"):
        orders = _read_orders(clause, term)
    if isinstance(term, Select) and is_global:
        made = term.plan(orders)
    else:
        made = _plan(term)
        made = relations.sorted_by(made, orders, is_global=is_global) if orders else made
    limit = None
    if cursor.accept_word("LIMIT") and not cursor.accept_word("ALL"):
        limit = _row_count(scope)
    if cursor.accept_word("OFFSET"):
        made = relations.after(made, _row_count(scope))
    if at_set_operator(cursor):
        cursor.fail(
            f"{cursor.token.word} cannot stand behind ORDER BY or LIMIT",
            "put the query before in parentheses",
        )
    return made if limit is None else relations.limited(made, limit)


def _read_orders(clause: Reading, term: Select | Relation) -> list[Order]:
    cursor = clause.cursor
    if cursor.at_word("ALL") and cursor.ahead().text != "(":
        cursor.fail("ORDER BY ALL is not supported", "name the columns")
    token, orders = cursor.token, read_orders(clause)
    if clause.subqueries:
        cursor.fail("ORDER BY cannot hold subqueries", "compute them in the SELECT list", token)
    items: Sequence[object] = term.items if isinstance(term, Select) else ()
    for order in orders:
        if order.child.literal.HasField("integer"):
            number = order.child.literal.integer
            if not items:
                cursor.fail("numbers cannot stand in this ORDER BY", "name the column instead", token)
            item = numbered(clause, term.items, number, token)  # type: ignore[union-attr]
            order.child.CopyFrom(nodes.column(item.names) if item.names else item.node)
    return orders


def _row_count(scope: Scope) -> int:
    cursor = scope.cursor
    is_number = cursor.token.kind is Kind.NUMBER and _DIGITS.fullmatch(cursor.token.text)
    if not is_number or int(cursor.token.text) > _MOST_ROWS:
        cursor.unexpected("a whole number of rows")
    return int(cursor.take().text)
