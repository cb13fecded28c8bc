"""What may stand once behind a value: BETWEEN, IN, LIKE, RLIKE and IS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hakiri.transforms.sql import nodes
from hakiri.transforms.sql.literals import read_string, text_literal, truth_literal
from hakiri.transforms.sql.subqueries import at_query, read_membership
from hakiri.transforms.sql.words import UNSTABLE

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Expression

    from hakiri.transforms.sql.reading import Reading

_NEGATABLE = ("BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP")


def read_predicate(reading: Reading, value: Expression) -> Expression:
    """The value with the predicate behind it, or as it is if there is none."""
    cursor = reading.cursor
    if cursor.accept_word("IS"):
        return _is(reading, value)
    is_negated = cursor.at_word("NOT") and cursor.ahead().word in _NEGATABLE
    if is_negated:
        cursor.take()
    match cursor.accept_word(*_NEGATABLE):
        case "BETWEEN":
            node = _between(reading, value)
        case "IN":
            node = _in(reading, value)
        case "LIKE" | "ILIKE" as word:
            if quantifier := cursor.accept_word("ANY", "SOME", "ALL"):
                return _like_several(reading, value, word, quantifier, is_negated=is_negated)
            node = _like(reading, value, word)
        case "RLIKE" | "REGEXP":
            node = nodes.call("rlike", value, _value(reading))
        case _:
            return value
    return nodes.call("not", node) if is_negated else node


def _value(reading: Reading) -> Expression:
    from hakiri.transforms.sql.expressions import read_value

    return read_value(reading)


def _expressions(reading: Reading) -> list[Expression]:
    from hakiri.transforms.sql.expressions import read_expression

    reading.cursor.expect_symbol("(")
    found = [read_expression(reading)]
    while reading.cursor.accept_symbol(","):
        found.append(read_expression(reading))
    reading.cursor.expect_symbol(")")
    return found


def _between(reading: Reading, value: Expression) -> Expression:
    lower = _value(reading)
    reading.cursor.expect_word("AND")
    upper = _value(reading)
    calls = (part.unresolved_function.function_name for part in nodes.everything_in(value))
    if any(name in UNSTABLE for name in calls):
        return nodes.call("between", value, lower, upper)
    reading.spend(value.ByteSize())
    return nodes.call("and", nodes.call(">=", value, lower), nodes.call("<=", value, upper))


def _in(reading: Reading, value: Expression) -> Expression:
    if at_query(reading.cursor):
        return read_membership(reading, value)
    return nodes.call("in", value, *_expressions(reading))


def _like(reading: Reading, value: Expression, word: str) -> Expression:
    cursor = reading.cursor
    pattern = _value(reading)
    if not cursor.accept_word("ESCAPE"):
        return nodes.call(word.lower(), value, pattern)
    token = cursor.token
    escape = read_string(cursor)
    if len(escape) != 1:
        cursor.fail("ESCAPE takes one character", "write as in `LIKE '10/%' ESCAPE '/'`", token)
    return nodes.call(word.lower(), value, pattern, text_literal(escape))


def _like_several(
    reading: Reading, value: Expression, word: str, quantifier: str, *, is_negated: bool
) -> Expression:
    patterns = _expressions(reading)
    reading.spend(value.ByteSize() * len(patterns))
    likes = [nodes.call(word.lower(), value, pattern) for pattern in patterns]
    if is_negated:
        likes = [nodes.call("not", like) for like in likes]
    return nodes.joined("and" if quantifier == "ALL" else "or", likes)


def _is(reading: Reading, value: Expression) -> Expression:
    cursor = reading.cursor
    is_negated = bool(cursor.accept_word("NOT"))
    word = cursor.expect_word("NULL", "TRUE", "FALSE", "UNKNOWN", "DISTINCT")
    if word == "NULL":
        return nodes.call("isNotNull" if is_negated else "isNull", value)
    if word == "UNKNOWN":
        # AND makes Spark refuse what is no boolean, as IS UNKNOWN does.
        node = nodes.call("isNull", nodes.call("and", value, truth_literal(value=True)))
    elif word == "DISTINCT":
        cursor.expect_word("FROM")
        node, is_negated = nodes.call("<=>", value, _value(reading)), not is_negated
    else:
        node = nodes.call("<=>", value, truth_literal(value=word == "TRUE"))
    return nodes.call("not", node) if is_negated else node
