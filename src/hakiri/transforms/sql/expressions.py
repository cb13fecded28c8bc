"""Expressions with Spark's precedence: OR, AND, NOT, predicates, comparisons, |, ^, &, shifts, +, *, sign."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hakiri.transforms.sql import nodes
from hakiri.transforms.sql.calls import read_call
from hakiri.transforms.sql.intervals import at_interval, read_interval
from hakiri.transforms.sql.literals import (
    TYPED,
    null_literal,
    read_string,
    read_typed,
    text_literal,
    truth_literal,
)
from hakiri.transforms.sql.numbers import read_number
from hakiri.transforms.sql.predicates import read_predicate
from hakiri.transforms.sql.subqueries import at_query, read_exists, read_scalar
from hakiri.transforms.sql.tokens import Kind
from hakiri.transforms.sql.types import read_type
from hakiri.transforms.sql.words import NO_COLUMN_ALIAS, RESERVED

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Expression

    from hakiri.transforms.sql.cursor import Cursor
    from hakiri.transforms.sql.reading import Reading

_OR, _AND, _NOT = 1, 2, 3
_COMPARISON, _SHIFT, _SIGN = 1, 5, 8
_OPERATORS = {
    "=": (_COMPARISON, "=="),
    "==": (_COMPARISON, "=="),
    "<=>": (_COMPARISON, "<=>"),
    "<>": (_COMPARISON, "!="),
    "!=": (_COMPARISON, "!="),
    "<": (_COMPARISON, "<"),
    "<=": (_COMPARISON, "<="),
    "!>": (_COMPARISON, "<="),
    ">": (_COMPARISON, ">"),
    ">=": (_COMPARISON, ">="),
    "!<": (_COMPARISON, ">="),
    "|": (2, "|"),
    "^": (3, "^"),
    "&": (4, "&"),
    "+": (6, "+"),
    "-": (6, "-"),
    "||": (6, "concat"),
    "*": (7, "*"),
    "/": (7, "/"),
    "%": (7, "%"),
}
_SHIFTS = ((">>>", "shiftrightunsigned"), ("<<", "shiftleft"), (">>", "shiftright"))
_SIGNS = {"-": "negative", "+": "positive", "~": "~"}
_CONSTANTS = {"CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_TIME"}


def read_named(reading: Reading) -> Expression:
    """An expression or a star, and its alias if there is one."""
    star = read_star(reading)
    node = star or read_expression(reading)
    names = read_alias(reading.cursor)
    if star and names:
        reading.cursor.fail("`*` cannot have an alias", "name the columns instead")
    return nodes.named(node, *names) if names else node


def read_alias(cursor: Cursor) -> tuple[str, ...]:
    """`AS name`, `name` or `AS (name, name)`; nothing if none of them stands here."""
    is_certain = bool(cursor.accept_word("AS"))
    if cursor.at_symbol("(") and is_certain:
        cursor.take()
        names = [cursor.expect_name("an alias")]
        while cursor.accept_symbol(","):
            names.append(cursor.expect_name("an alias"))
        cursor.expect_symbol(")")
        return tuple(names)
    if is_certain or (cursor.at_name() and cursor.token.word not in NO_COLUMN_ALIAS):
        return (cursor.expect_name("an alias"),)
    return ()


def read_star(reading: Reading) -> Expression | None:
    """`*` or `t.*`, if it stands here."""
    cursor, offset = reading.cursor, 0
    while cursor.ahead(offset).kind in {Kind.WORD, Kind.QUOTED} and cursor.ahead(offset + 1).text == ".":
        offset += 2
    last = cursor.ahead(offset)
    if last.kind is not Kind.SYMBOL or last.text != "*":
        return None
    parts = [cursor.ahead(place).value for place in range(0, offset, 2)]
    if parts and parts[0].lower() in reading.lateral_views:
        cursor.fail("`*` of a LATERAL VIEW is not supported", "name the columns of the view")
    cursor.index += offset + 1
    return nodes.star(parts)


def read_expression(reading: Reading) -> Expression:
    """One expression, without an alias."""
    return _boolean(reading, _OR)


def _boolean(reading: Reading, least: int) -> Expression:
    cursor = reading.cursor
    cursor.deeper()
    if cursor.accept_word("NOT") or cursor.accept_symbol("!"):
        left = nodes.call("not", _boolean(reading, _NOT))
    elif cursor.at_word("EXISTS") and at_query(cursor, 1):
        left = read_exists(reading)
    else:
        left = read_predicate(reading, read_value(reading))
    for word, strength in (("AND", _AND), ("OR", _OR)):
        if least > strength or not cursor.at_word(word):
            continue
        operands = [left]
        while cursor.accept_word(word):
            operands.append(_boolean(reading, strength + 1))
        left = nodes.joined(word.lower(), operands)
    cursor.shallower()
    return left


def read_value(reading: Reading, least: int = _COMPARISON) -> Expression:
    """An expression of operators, without AND, OR, NOT and predicates such as IN or IS NULL."""
    cursor = reading.cursor
    left, steps = _signed(reading), 0
    while (operator := _operator(cursor)) and operator[0] >= least:
        # `a + b + c` is `(a + b) + c`: every operator nests what stands before it.
        cursor.deeper()
        steps += 1
        strength, name, length = operator
        cursor.index += length
        right = read_value(reading, strength + 1)
        left = (
            nodes.call("not", nodes.call("==", left, right))
            if name == "!="
            else nodes.call(name, left, right)
        )
    cursor.shallower(steps)
    return left


def _operator(cursor: Cursor) -> tuple[int, str, int] | None:
    """How strongly the operator here binds, its function, and how many tokens it has."""
    token = cursor.token
    if token.word == "DIV":
        return 7, "div", 1
    if token.kind is not Kind.SYMBOL or token.text not in _OPERATORS:
        return None
    # The lexer cuts `>>` in two, for in `array<array<int>>` it closes two types.
    for text, name in _SHIFTS:
        following = [cursor.ahead(offset) for offset in range(len(text))]
        if "".join(part.text for part in following) == text and following[-1].end - token.start == len(text):
            return _SHIFT, name, len(text)
    return (*_OPERATORS[token.text], 1)


def _signed(reading: Reading) -> Expression:
    cursor = reading.cursor
    if not cursor.at_symbol(*_SIGNS):
        return _with_parts(reading, _primary(reading))
    sign = cursor.take().text
    if sign == "-" and cursor.token.kind is Kind.NUMBER:
        return _with_parts(reading, read_number(cursor, is_negative=True))
    cursor.deeper()
    operand = read_value(reading, _SIGN)
    cursor.shallower()
    return nodes.call(_SIGNS[sign], operand)


def _primary(reading: Reading) -> Expression:
    cursor = reading.cursor
    match cursor.token.kind:
        case Kind.NUMBER:
            return read_number(cursor, is_negative=False)
        case Kind.STRING:
            return text_literal(read_string(cursor))
        case Kind.WORD | Kind.QUOTED:
            return _from_word(reading)
    if cursor.at_symbol("("):
        return _lambda(reading) or _in_parentheses(reading)
    if cursor.at_symbol("?", ":"):
        cursor.fail("parameters are not supported", "write the value itself")
    return cursor.unexpected("an expression")


def _from_word(reading: Reading) -> Expression:
    cursor = reading.cursor
    word, following = cursor.token.word, cursor.ahead()
    if literal := _literal(cursor):
        return literal
    if word == "CASE":
        return _case(reading)
    if word in RESERVED:
        cursor.unexpected("an expression")
    if following.text == "->":
        return _lambda(reading) or cursor.unexpected("a lambda")
    if following.text == "(":
        return read_call(reading)
    if word in _CONSTANTS and following.text != ".":
        return nodes.call(cursor.take().word.lower())
    return _column(reading)


def _literal(cursor: Cursor) -> Expression | None:
    """A literal that begins with a word, if one stands here."""
    word = cursor.token.word
    if word in {"NULL", "TRUE", "FALSE"}:
        cursor.take()
        return null_literal() if word == "NULL" else truth_literal(value=word == "TRUE")
    if at_interval(cursor):
        return read_interval(cursor)
    return read_typed(cursor) if word in TYPED and cursor.ahead().kind is Kind.STRING else None


def _column(reading: Reading) -> Expression:
    """A name with dots. The first part may be a variable of a lambda; the others are then its fields."""
    cursor = reading.cursor
    parts = [cursor.expect_name("a column")]
    while cursor.at_symbol(".") and cursor.ahead().kind in {Kind.WORD, Kind.QUOTED}:
        cursor.take()
        parts.append(cursor.expect_name("a field"))
    if cursor.at_symbol("("):
        cursor.fail(
            f"the function `{'.'.join(parts)}` has a qualified name", "call a function of Spark's by its name"
        )
    if parts[0].lower() in reading.lambda_names:
        node = nodes.variable(reading.lambda_names[parts[0].lower()])
        for part in parts[1:]:
            node = nodes.part_of(node, text_literal(part))
        return node
    if len(parts) > 1 and parts[0].lower() in reading.lateral_views:
        return nodes.column(parts[1:])
    return nodes.column(parts)


def _with_parts(reading: Reading, node: Expression) -> Expression:
    """What follows a value directly: `.field`, `[key]`, `::type`."""
    cursor, start, steps = reading.cursor, -1, 0
    while start != cursor.index:
        cursor.deeper()
        start, steps = cursor.index, steps + 1
        if cursor.at_symbol(".") and cursor.ahead().kind in {Kind.WORD, Kind.QUOTED}:
            cursor.take()
            field = cursor.expect_name("a field")
            parts = nodes.column_parts(node)
            node = nodes.column([*parts, field]) if parts else nodes.part_of(node, text_literal(field))
        elif cursor.accept_symbol("["):
            cursor.deeper()
            key = read_value(reading)
            cursor.shallower()
            cursor.expect_symbol("]")
            node = nodes.part_of(node, key)
        elif cursor.accept_symbol("::"):
            node = nodes.converted(node, read_type(cursor))
        elif cursor.accept_word("COLLATE"):
            node = nodes.call("collate", node, text_literal(cursor.expect_name("a collation")))
        elif cursor.at_symbol(":"):
            cursor.fail("paths with `:` are not supported", "write `variant_get(v, '$.a.b', 'string')`")
    cursor.shallower(steps)
    return node


def _in_parentheses(reading: Reading) -> Expression:
    cursor = reading.cursor
    if at_query(cursor):
        return read_scalar(reading)
    cursor.take()
    first = read_named(reading)
    if not cursor.at_symbol(","):
        cursor.expect_symbol(")")
        if first.HasField("alias"):
            cursor.fail("an alias cannot stand here", "put the alias behind the parentheses", cursor.before())
        return first
    fields = [first]
    while cursor.accept_symbol(","):
        fields.append(read_named(reading))
    cursor.expect_symbol(")")
    return nodes.call("struct", *fields)


def _lambda(reading: Reading) -> Expression | None:
    """`x -> …` or `(x, y) -> …`, if it stands here."""
    cursor = reading.cursor
    names, offset = [], 0
    if cursor.at_symbol("("):
        offset = 1
        while cursor.ahead(offset).kind in {Kind.WORD, Kind.QUOTED}:
            names.append(cursor.ahead(offset).value)
            offset += 1
            if cursor.ahead(offset).text != ",":
                break
            offset += 1
        if cursor.ahead(offset).text != ")":
            return None
    else:
        names.append(cursor.token.value)
    if not names or cursor.ahead(offset + 1).text != "->":
        return None
    token = cursor.token
    lowered = [name.lower() for name in names]
    if len(set(lowered)) < len(names):
        cursor.fail("a lambda has two variables of one name", "give them different names", token)
    cursor.index += offset + 2
    scope = replace(reading, lambda_names={**reading.lambda_names, **dict(zip(lowered, names, strict=True))})
    return nodes.function_of(names, read_expression(scope))


def _case(reading: Reading) -> Expression:
    cursor = reading.cursor
    cursor.take()
    operand = None if cursor.at_word("WHEN") else read_expression(reading)
    arguments = []
    while cursor.accept_word("WHEN"):
        condition = read_expression(reading)
        if operand is not None:
            reading.spend(operand.ByteSize())
            condition = nodes.call("==", operand, condition)
        cursor.expect_word("THEN")
        arguments += [condition, read_expression(reading)]
    if not arguments:
        cursor.unexpected("`WHEN`")
    if cursor.accept_word("ELSE"):
        arguments.append(read_expression(reading))
    cursor.expect_word("END")
    return nodes.call("when", *arguments)
