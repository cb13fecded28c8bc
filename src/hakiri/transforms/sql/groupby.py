"""Reading what stands behind GROUP BY."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hakiri.transforms.sql import nodes
from hakiri.transforms.sql.expressions import read_expression
from hakiri.transforms.sql.grouping import Groups, has_aggregate
from hakiri.transforms.sql.items import Item
from hakiri.transforms.sql.tokens import Token

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Expression

    from hakiri.transforms.sql.reading import Reading

_MOST_CUBED = 6


@dataclass(frozen=True, slots=True)
class _Element:
    """`a` or `(a, b)`: keys that come and go together."""

    keys: tuple[Expression, ...]
    token: Token


def read_groups(reading: Reading, items: Sequence[Item]) -> Groups:
    cursor = reading.cursor
    token = cursor.token
    if cursor.at_word("ALL") and cursor.ahead().text != "(":
        cursor.fail("GROUP BY ALL is not supported", "name the groups")
    if kind := _analytics(reading):
        groups = _read_analytics(reading, items, kind)
        if cursor.at_symbol(","):
            _refuse_mixture(reading)
        return groups
    keys = [_key(reading, items)]
    while cursor.accept_symbol(","):
        if _analytics(reading):
            _refuse_mixture(reading)
        keys.append(_key(reading, items))
    if cursor.accept_word("WITH"):
        return Groups(kind=cursor.expect_word("ROLLUP", "CUBE"), keys=tuple(keys))
    if _analytics(reading):
        _refuse_mixture(reading)
    if any(has_aggregate(key) for key in keys):
        cursor.fail("an aggregate cannot be a group", "group by columns", token)
    return Groups(keys=tuple(keys))


def _refuse_mixture(reading: Reading) -> None:
    reading.cursor.fail(
        "ROLLUP, CUBE and GROUPING SETS beside other groups are not supported",
        "write all of it as GROUPING SETS",
    )


def _analytics(reading: Reading) -> str:
    cursor = reading.cursor
    if cursor.at_word("ROLLUP", "CUBE") and cursor.ahead().text == "(":
        return cursor.token.word
    return "GROUPING_SETS" if cursor.at_words("GROUPING", "SETS") else ""


def _key(reading: Reading, items: Sequence[Item]) -> Expression:
    cursor = reading.cursor
    token = cursor.token
    node = read_expression(reading)
    if node.literal.HasField("integer"):
        return numbered(reading, items, node.literal.integer, token).node
    parts = nodes.column_parts(node)
    for item in items:
        if len(parts) == 1 and [name.lower() for name in item.names] == [parts[0].lower()]:
            _check_alias(reading, item, parts[0], token)
    return node


def _check_alias(reading: Reading, item: Item, name: str, token: Token) -> None:
    """Spark prefers a column of the source to an alias, and only the running query knows the columns.

    If the alias is computed from a column of its own name, that column must be there; and no aggregate can
    be a group.
    """
    if not has_aggregate(item.node) and not item.mentions(name):
        reading.cursor.fail(
            f"`{name}` may be the alias or a column", "repeat the expression, or write its number", token
        )


def numbered(reading: Reading, items: Sequence[Item], number: int, token: Token) -> Item:
    """The item that a number in GROUP BY or ORDER BY stands for."""
    if not 1 <= number <= len(items) or any(item.is_star or len(item.names) > 1 for item in items[:number]):
        reading.cursor.fail(
            f"there is no column {number} to be counted in the list", "name the column instead", token
        )
    return items[number - 1]


def _read_analytics(reading: Reading, items: Sequence[Item], kind: str) -> Groups:
    cursor = reading.cursor
    cursor.index += 2 if kind == "GROUPING_SETS" else 1
    cursor.expect_symbol("(")
    elements = [_element(reading, items)]
    while cursor.accept_symbol(","):
        elements.append(_element(reading, items))
    cursor.expect_symbol(")")
    keys: list[Expression] = []
    for element in elements:
        keys += [key for key in element.keys if key not in keys]
    if kind != "GROUPING_SETS" and all(len(element.keys) == 1 for element in elements):
        return Groups(kind=kind, keys=tuple(keys))
    if kind == "CUBE" and len(elements) > _MOST_CUBED:
        cursor.fail("a CUBE of so many groups is not supported", "write GROUPING SETS", elements[0].token)
    return Groups(kind="GROUPING_SETS", keys=tuple(keys), sets=tuple(_sets(elements, kind)))


def _element(reading: Reading, items: Sequence[Item]) -> _Element:
    cursor = reading.cursor
    token = cursor.token
    if _analytics(reading):
        cursor.fail("groups inside groups are not supported", "write all of it as GROUPING SETS")
    if not cursor.at_symbol("("):
        return _Element((_key(reading, items),), token)
    cursor.take()
    keys = [] if cursor.at_symbol(")") else [_key(reading, items)]
    while keys and cursor.accept_symbol(","):
        keys.append(_key(reading, items))
    cursor.expect_symbol(")")
    return _Element(tuple(keys), token)


def _sets(elements: Sequence[_Element], kind: str) -> Iterator[tuple[Expression, ...]]:
    if kind == "GROUPING_SETS":
        yield from (element.keys for element in elements)
    elif kind == "ROLLUP":
        for count in range(len(elements), -1, -1):
            yield tuple(key for element in elements[:count] for key in element.keys)
    else:
        for mask in range(2 ** len(elements) - 1, -1, -1):
            chosen = [element for place, element in enumerate(elements) if mask >> place & 1]
            yield tuple(key for element in chosen for key in element.keys)
