"""Calls of functions, those with a grammar of their own too, and what may follow a call: FILTER and OVER."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hakiri.transforms.sql import nodes
from hakiri.transforms.sql.literals import text_literal, truth_literal, whole_literal
from hakiri.transforms.sql.tokens import Token
from hakiri.transforms.sql.types import read_type
from hakiri.transforms.sql.windows import read_over
from hakiri.transforms.sql.words import IGNORES_NULLS, SKIPS_NULLS, UNITS, UNSTABLE

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Expression

    from hakiri.transforms.sql.reading import Reading

_ADDS = frozenset({"TIMESTAMPADD", "DATEADD", "DATE_ADD"})
_DIFFERENCES = frozenset({"TIMESTAMPDIFF", "DATEDIFF", "DATE_DIFF", "TIMEDIFF"})
_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "trim"}


def read_call(reading: Reading) -> Expression:
    """The call that begins here with the function's name."""
    cursor = reading.cursor
    cursor.deeper()
    token = cursor.take()
    cursor.expect_symbol("(")
    if token.word in _ADDS | _DIFFERENCES and cursor.token.word in UNITS and cursor.ahead().text == ",":
        node = _with_unit(reading, "timestampadd" if token.word in _ADDS else "timestampdiff")
    elif token.word in _SPECIAL:
        node = _SPECIAL[token.word](reading, token)
    else:
        node = _general(reading, token, [])
    cursor.shallower()
    return node


def _value(reading: Reading) -> Expression:
    from hakiri.transforms.sql.expressions import read_value

    return read_value(reading)


def _expression(reading: Reading) -> Expression:
    from hakiri.transforms.sql.expressions import read_expression

    return read_expression(reading)


def _general(reading: Reading, token: Token, arguments: list[Expression]) -> Expression:
    """The rest of a call after its first arguments, if those have been read already."""
    cursor, name = reading.cursor, token.value.lower()
    is_distinct = False
    if not arguments:
        is_distinct = cursor.accept_word("DISTINCT", "ALL") == "DISTINCT"
        if not cursor.at_symbol(")"):
            arguments = [_argument(reading, name)]
    while cursor.accept_symbol(","):
        arguments.append(_argument(reading, name))
    ignores_nulls = cursor.accept_words("IGNORE", "NULLS")
    cursor.expect_symbol(")")
    if name == "count" and not is_distinct and [_is_star(argument) for argument in arguments] == [True]:
        arguments = [whole_literal(1)]
    if cursor.at_words("WITHIN", "GROUP"):
        cursor.fail(
            "WITHIN GROUP is not supported", "use percentile(x, 0.5), or array_join of a sorted array"
        )
    if cursor.at_word("FILTER") and cursor.ahead().text == "(":
        arguments = _filtered(reading, name, arguments)
    if cursor.accept_words("IGNORE", "NULLS"):
        ignores_nulls = True
    else:
        cursor.accept_words("RESPECT", "NULLS")
    arguments = _completed(reading, token, arguments, ignores_nulls=ignores_nulls)
    if name in UNSTABLE:
        reading.counts.unstable_calls += 1
    node = nodes.call(name, *arguments, is_distinct=is_distinct)
    return read_over(reading, node) if cursor.at_word("OVER") else node


def _argument(reading: Reading, name: str) -> Expression:
    from hakiri.transforms.sql.expressions import read_named, read_star

    cursor = reading.cursor
    if name == "struct":
        return read_named(reading)
    if cursor.at_name() and cursor.ahead().text == "=>":
        key = cursor.expect_name("an argument's name")
        cursor.take()
        return nodes.named_argument(key, _expression(reading))
    return read_star(reading) or _expression(reading)


def _is_star(node: Expression) -> bool:
    return node.HasField("unresolved_star") and not node.unresolved_star.HasField("unparsed_target")


def _filtered(reading: Reading, name: str, arguments: list[Expression]) -> list[Expression]:
    """`sum(x) FILTER (WHERE c)` is `sum(CASE WHEN c THEN x END)` for functions that skip NULLs."""
    cursor = reading.cursor
    place = SKIPS_NULLS.get(name, len(arguments))
    if place >= len(arguments):
        cursor.fail(f"FILTER is not supported for `{name}`", "filter the rows in a subquery before")
    cursor.take()
    cursor.take()
    cursor.expect_word("WHERE")
    condition = _expression(reading)
    cursor.expect_symbol(")")
    kept = nodes.call("when", condition, arguments[place])
    return [*arguments[:place], kept, *arguments[place + 1 :]]


def _completed(
    reading: Reading, token: Token, arguments: list[Expression], *, ignores_nulls: bool
) -> list[Expression]:
    """The arguments with the defaults that DataFrames send, so that both surfaces give one plan."""
    name = token.value.lower()
    if ignores_nulls and len(arguments) != IGNORES_NULLS.get(name):
        reading.cursor.fail(
            f"IGNORE NULLS is not supported for `{name}`", "use last_value(x, true) over a window", token
        )
    if name in {"first", "last", "nth_value"} or ignores_nulls:
        if len(arguments) == IGNORES_NULLS[name]:
            return [*arguments, truth_literal(value=ignores_nulls)]
    elif name in {"lag", "lead"} and len(arguments) == 1:
        return [*arguments, whole_literal(1)]
    return arguments


def _with_unit(reading: Reading, name: str) -> Expression:
    cursor = reading.cursor
    unit = text_literal(cursor.take().word)
    cursor.expect_symbol(",")
    first = _value(reading)
    cursor.expect_symbol(",")
    second = _value(reading)
    cursor.expect_symbol(")")
    return nodes.call(name, unit, first, second)


def _cast(reading: Reading, token: Token) -> Expression:
    cursor = reading.cursor
    value = _expression(reading)
    cursor.expect_word("AS")
    to = read_type(cursor)
    cursor.expect_symbol(")")
    return nodes.converted(value, to, is_safe=token.word == "TRY_CAST")


def _extract(reading: Reading, token: Token) -> Expression:
    cursor = reading.cursor
    if cursor.at_name() and cursor.ahead().word == "FROM":
        field = text_literal(cursor.take().value)
        cursor.take()
        source = _value(reading)
        cursor.expect_symbol(")")
        return nodes.call("extract", field, source)
    return _general(reading, token, [])


def _trim(reading: Reading, token: Token) -> Expression:
    """`trim(BOTH 'x' FROM s)`; the letters come first, as in the function."""
    cursor = reading.cursor
    side = "BOTH"
    if cursor.at_word(*_TRIMS) and cursor.ahead().text not in {",", ")", "."}:
        side = cursor.take().word
    letters = [] if cursor.at_word("FROM") else [_value(reading)]
    if not cursor.accept_word("FROM"):
        if cursor.before().word in _TRIMS and not letters:
            cursor.unexpected("`FROM`")
        return _general(reading, token, letters)
    text = _value(reading)
    cursor.expect_symbol(")")
    return nodes.call(_TRIMS[side], *letters, text)


def _substring(reading: Reading, token: Token) -> Expression:
    cursor = reading.cursor
    arguments = [_value(reading)]
    if not cursor.accept_word("FROM"):
        return _general(reading, token, arguments)
    arguments.append(_value(reading))
    if cursor.accept_word("FOR"):
        arguments.append(_value(reading))
    return _general(reading, token, arguments)


def _position(reading: Reading, token: Token) -> Expression:
    arguments = [_value(reading)]
    if reading.cursor.accept_word("IN"):
        arguments.append(_value(reading))
    return _general(reading, token, arguments)


def _overlay(reading: Reading, token: Token) -> Expression:
    cursor = reading.cursor
    arguments = [_value(reading)]
    if not cursor.accept_word("PLACING"):
        return _general(reading, token, arguments)
    arguments.append(_value(reading))
    cursor.expect_word("FROM")
    arguments.append(_value(reading))
    arguments.append(_value(reading) if cursor.accept_word("FOR") else whole_literal(-1))
    return _general(reading, token, arguments)


def _refused(reading: Reading, token: Token) -> Expression:
    reading.cursor.fail("names that are computed are not supported", "write the name itself", token)


_SPECIAL: dict[str, Callable[[Reading, Token], Expression]] = {
    "CAST": _cast,
    "EXTRACT": _extract,
    "IDENTIFIER": _refused,
    "OVERLAY": _overlay,
    "POSITION": _position,
    "SUBSTR": _substring,
    "SUBSTRING": _substring,
    "TRIM": _trim,
    "TRY_CAST": _cast,
}
