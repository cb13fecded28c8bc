"""The FROM clause: tables, subqueries, joins, VALUES and LATERAL VIEWs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hakiri.transforms.sql import nodes, relations
from hakiri.transforms.sql.expressions import read_expression
from hakiri.transforms.sql.scopes import Scope, at_set_operator
from hakiri.transforms.sql.subqueries import at_query
from hakiri.transforms.sql.words import (
    GENERATORS,
    JOINING,
    NO_ALIAS,
    NO_TABLE_ALIAS,
    OUTER_GENERATORS,
    QUERY_STARTS,
)

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Expression, Relation

    from hakiri.transforms.sql.reading import Reading

_JOINS = {
    (): "INNER",
    ("INNER",): "INNER",
    ("CROSS",): "CROSS",
    ("LEFT",): "LEFT_OUTER",
    ("LEFT", "OUTER"): "LEFT_OUTER",
    ("RIGHT",): "RIGHT_OUTER",
    ("RIGHT", "OUTER"): "RIGHT_OUTER",
    ("FULL",): "FULL_OUTER",
    ("FULL", "OUTER"): "FULL_OUTER",
    ("SEMI",): "LEFT_SEMI",
    ("LEFT", "SEMI"): "LEFT_SEMI",
    ("ANTI",): "LEFT_ANTI",
    ("LEFT", "ANTI"): "LEFT_ANTI",
}
_JOIN_WORDS = ("INNER", "CROSS", "LEFT", "RIGHT", "FULL", "OUTER", "SEMI", "ANTI")
# What Spark calls it. The name hides the names inside the subquery from the rest of the query.
_UNNAMED = "__auto_generated_subquery_name"
_LATERAL_JOINS = {"INNER", "CROSS", "LEFT_OUTER"}


def read_source(scope: Scope) -> tuple[Relation, Scope]:
    """What stands behind FROM, and the scope with the names of its LATERAL VIEWs."""
    cursor, steps = scope.cursor, 0
    made = _read_joined(scope)
    while cursor.accept_symbol(","):
        cursor.deeper()
        steps += 1
        if cursor.at_word("LATERAL") and cursor.ahead().word != "VIEW":
            made = _lateral(scope, made, "INNER")
            made = _read_joins(scope, made)
        else:
            made = relations.join(made, _read_joined(scope), "INNER")
    while cursor.at_words("LATERAL", "VIEW"):
        cursor.deeper()
        steps += 1
        made, scope = _lateral_view(scope, made)
    cursor.shallower(steps)
    made = bare(made)
    if cursor.at_word("PIVOT", "UNPIVOT"):
        word = cursor.token.word
        instead = "max(CASE WHEN … END) for each column" if word == "PIVOT" else "stack(…)"
        cursor.fail(f"{word} is not supported", f"write {instead} instead")
    return made, scope


def _read_joined(scope: Scope) -> Relation:
    if scope.cursor.at_word("LATERAL"):
        scope.cursor.fail("LATERAL needs a table before it", "put the other table first")
    return _read_joins(scope, read_primary(scope))


def _read_joins(scope: Scope, left: Relation) -> Relation:
    cursor, steps = scope.cursor, 0
    while True:
        if cursor.at_word("NATURAL"):
            cursor.fail("NATURAL JOIN is not supported", "name the columns with USING")
        start = cursor.token
        words = []
        while cursor.at_word(*_JOIN_WORDS):
            words.append(cursor.take().word)
        if not words and not cursor.at_word("JOIN"):
            cursor.shallower(steps)
            return left
        cursor.deeper()
        steps += 1
        cursor.expect_word("JOIN")
        kind = _JOINS.get(tuple(words))
        if kind is None:
            cursor.fail(
                f"`{' '.join(words)} JOIN` is not a join", "write LEFT, RIGHT, FULL, SEMI or ANTI", start
            )
        left = _lateral(scope, left, kind) if cursor.at_word("LATERAL") else _join(scope, left, kind)


def _join(scope: Scope, left: Relation, kind: str) -> Relation:
    cursor = scope.cursor
    made = relations.join(left, read_primary(scope), kind)
    if cursor.accept_word("ON"):
        clause = scope.clause()
        made.join.join_condition.CopyFrom(read_expression(clause))
        return relations.beside(made, clause.subqueries)
    if cursor.accept_word("USING"):
        made.join.using_columns.extend(scope.read_names())
    return made


def _lateral(scope: Scope, left: Relation, kind: str) -> Relation:
    cursor = scope.cursor
    cursor.expect_word("LATERAL")
    if kind not in _LATERAL_JOINS or not at_query(cursor):
        cursor.fail("LATERAL is not supported here", "write it as `LEFT JOIN LATERAL (SELECT …)`")
    made = relations.lateral_join(left, read_primary(scope), kind)
    if cursor.accept_word("ON"):
        clause = scope.clause()
        made.lateral_join.join_condition.CopyFrom(read_expression(clause))
        return relations.beside(made, clause.subqueries)
    return made


def read_primary(scope: Scope) -> Relation:
    """One table, subquery or group of joins, with its alias."""
    cursor = scope.cursor
    cursor.deeper()
    if cursor.at_symbol("("):
        made = _in_parentheses(scope)
    elif cursor.at_word("VALUES"):
        made = read_values(scope)
    else:
        made = _table(scope)
    cursor.shallower()
    return made


def _in_parentheses(scope: Scope) -> Relation:
    """A query, or a relation; only what follows the inner parentheses tells `((SELECT …) UNION …)` apart."""
    cursor = scope.cursor
    cursor.expect_symbol("(")
    if cursor.at_word(*QUERY_STARTS):
        made, is_query = scope.read_query(scope), True
    else:
        made, is_query = _read_joined(scope), False
        if at_set_operator(cursor) or cursor.at_word("ORDER", "LIMIT", "OFFSET", "SORT"):
            made, is_query = scope.continue_query(scope, bare(made)), True
    cursor.expect_symbol(")")
    alias, columns = _alias(scope)
    if columns:
        made = relations.with_names(made, columns)
    if alias:
        return relations.aliased(made, alias)
    return relations.aliased(made, _UNNAMED) if is_query else made


def bare(made: Relation) -> Relation:
    """The query inside parentheses that had no alias."""
    is_unnamed = made.HasField("subquery_alias") and made.subquery_alias.alias == _UNNAMED
    return made.subquery_alias.input if is_unnamed else made


def _table(scope: Scope) -> Relation:
    cursor = scope.cursor
    token = cursor.token
    if token.word in NO_ALIAS - JOINING or token.word == "TABLE":
        cursor.unexpected("a table")
    name = cursor.expect_name("a table")
    if cursor.at_symbol("."):
        cursor.fail("tables have no qualified names here", f"name one of {scope.known_tables()}", token)
    if cursor.at_symbol("("):
        cursor.fail(f"the table function `{name}` is not supported", "read a table", token)
    made, own_name = scope.table(name, token)
    if cursor.at_word("TABLESAMPLE"):
        cursor.fail("TABLESAMPLE is not supported", "filter on a hash of the key instead")
    if cursor.at_words("FOR") or cursor.at_words("VERSION", "AS") or cursor.at_words("TIMESTAMP", "AS"):
        cursor.fail("older versions of a table cannot be read here", "remove the clause")
    alias, columns = _alias(scope)
    if columns:
        made = relations.with_names(made, columns)
    alias = alias or own_name or (name if columns else "")
    return relations.aliased(made, alias) if alias else made


def _alias(scope: Scope) -> tuple[str, list[str]]:
    cursor = scope.cursor
    if not cursor.accept_word("AS") and (not cursor.at_name() or cursor.token.word in NO_ALIAS):
        return "", []
    if cursor.token.word in NO_TABLE_ALIAS:
        cursor.unexpected("an alias")
    return cursor.expect_name("an alias"), scope.read_names() if cursor.at_symbol("(") else []


def read_values(scope: Scope) -> Relation:
    """`VALUES (1, 'a'), (2, 'b') AS t(x, y)`: one array of structs, made into rows."""
    cursor = scope.cursor
    cursor.expect_word("VALUES")
    rows, clause = [], scope.clause()
    while True:
        token, row = cursor.token, read_expression(clause)
        is_row = row.unresolved_function.function_name == "struct"
        rows.append(list(row.unresolved_function.arguments) if is_row else [row])
        if len(rows[-1]) != len(rows[0]):
            cursor.fail("a row of VALUES is longer or shorter than the first", "make them equal", token)
        if not cursor.accept_symbol(","):
            break
    if clause.subqueries:
        cursor.fail("VALUES cannot hold subqueries", "write a SELECT")
    token = cursor.token
    alias, columns = _alias(scope)
    names = columns or [f"col{place + 1}" for place in range(len(rows[0]))]
    if len(names) != len(rows[0]):
        cursor.fail("VALUES has more or fewer columns than its alias", "name every column once", token)
    structs = [
        nodes.call("struct", *(nodes.named(value, name) for value, name in zip(row, names, strict=True)))
        for row in rows
    ]
    made = relations.project(None, [nodes.call("inline", nodes.call("array", *structs))])
    return relations.aliased(made, alias) if alias else made


def _lateral_view(scope: Scope, left: Relation) -> tuple[Relation, Scope]:
    """`LATERAL VIEW explode(xs) t AS x` adds columns to the rows, as `select("*", explode("xs"))` does."""
    cursor = scope.cursor
    cursor.index += 2
    is_outer = bool(cursor.accept_word("OUTER"))
    token, clause = cursor.token, scope.clause()
    generator = read_expression(clause)
    _check_generator(clause, generator, is_outer=is_outer)
    if is_outer:
        generator.unresolved_function.function_name += "_outer"
    if not cursor.at_name():
        cursor.unexpected("a name for the view")
    view = cursor.expect_name("a name for the view")
    names = []
    if cursor.accept_word("AS") or (cursor.at_name() and cursor.token.word not in NO_ALIAS):
        names.append(cursor.expect_name("a column"))
        while cursor.accept_symbol(","):
            names.append(cursor.expect_name("a column"))
    if clause.subqueries:
        cursor.fail("a LATERAL VIEW cannot hold subqueries", "join the other table", token)
    made = relations.project(left, [nodes.star(), nodes.named(generator, *names) if names else generator])
    return made, replace(scope, lateral_views=scope.lateral_views | {view.lower()})


def _check_generator(reading: Reading, generator: Expression, *, is_outer: bool) -> None:
    name = generator.unresolved_function.function_name
    if name not in (OUTER_GENERATORS if is_outer else GENERATORS | {f"{g}_outer" for g in OUTER_GENERATORS}):
        reading.cursor.fail(
            f"`{name}` cannot stand in a LATERAL VIEW",
            "use explode, posexplode or inline",
            reading.cursor.before(),
        )
