"""The items of a SELECT list, and the plans of lists that have a star with EXCEPT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hakiri.transforms.sql import nodes, relations
from hakiri.transforms.sql.expressions import read_alias, read_expression, read_star
from hakiri.transforms.sql.tokens import Token

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Expression, Relation

    from hakiri.transforms.sql.reading import Reading


def hidden_name(what: str, place: int) -> str:
    """A column that no author has, and that is dropped before the plan ends."""
    return f"__hakiri_{what}_{place + 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item: what is computed, its alias (several for a generator), and what its star leaves out."""

    token: Token
    node: Expression
    names: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    @property
    def expression(self) -> Expression:
        return nodes.named(self.node, *self.names) if self.names else self.node

    def mentions(self, name: str) -> bool:
        """Whether the item is computed from a column of this name, which must then be there."""
        columns = (nodes.column_parts(part) for part in nodes.everything_in(self.node))
        return any(parts and parts[-1].lower() == name.lower() for parts in columns)

    @property
    def is_star(self) -> bool:
        return self.node.HasField("unresolved_star")

    @property
    def name(self) -> str | None:
        """The column's name, if the text says it."""
        if self.names:
            return self.names[0] if len(self.names) == 1 else None
        parts = nodes.column_parts(self.node)
        return parts[-1] if parts else None


def read_items(reading: Reading) -> tuple[Item, ...]:
    items = [_item(reading)]
    while reading.cursor.accept_symbol(","):
        items.append(_item(reading))
    excluding = [item for item in items if item.excluded]
    if excluding and sum(item.is_star for item in items) > 1:
        reading.cursor.fail(
            "EXCEPT beside another `*` is not supported", "name the columns", excluding[0].token
        )
    return tuple(items)


def _item(reading: Reading) -> Item:
    cursor, token = reading.cursor, reading.cursor.token
    star = read_star(reading)
    if star is None:
        node = read_expression(reading)
        return Item(token=token, node=node, names=read_alias(cursor))
    is_exclusion = cursor.at_word("EXCEPT") and cursor.ahead().text == "("
    if (
        is_exclusion
        and cursor.ahead(2).word not in {"SELECT", "WITH", "VALUES"}
        and cursor.ahead(2).text != "("
    ):
        return Item(token=token, node=star, excluded=_excluded(reading))
    if cursor.at_word("AS"):
        cursor.fail("`*` cannot have an alias", "name the columns instead")
    return Item(token=token, node=star)


def _excluded(reading: Reading) -> tuple[str, ...]:
    cursor = reading.cursor
    cursor.index += 2
    names = []
    while True:
        names.append(cursor.expect_name("a column"))
        if cursor.at_symbol("."):
            cursor.fail("EXCEPT of a field is not supported", "name whole columns")
        if not cursor.accept_symbol(","):
            break
    cursor.expect_symbol(")")
    return tuple(names)


def selected(source: Relation | None, items: Sequence[Item]) -> Relation:
    """The plan of a list without groups. `SELECT *` alone is the source itself."""
    if source is not None and len(items) == 1 and items[0].node == nodes.star() and not items[0].excluded:
        return source
    excluding = next((item for item in items if item.excluded), None)
    if excluding is None or source is None:
        return relations.project(source, [item.expression for item in items])
    return _without_excluded(source, items, excluding)


def _without_excluded(source: Relation, items: Sequence[Item], excluding: Item) -> Relation:
    """Drop what the star leaves out, but no other item of the same name; a misspelt name is an error.

    Spark's Drop says nothing about a column that is not there, so every dropped name is also selected.
    """
    names = {name.lower() for name in excluding.excluded}
    target = excluding.node.unresolved_star.unparsed_target.removesuffix(".*")
    expressions, renames = [], []
    for place, item in enumerate(items):
        if item.name and item.name.lower() in names:
            renames.append((hidden_name("item", place), item.name))
            expressions.append(nodes.named(item.node, renames[-1][0]))
        else:
            expressions.append(item.expression)
    checks = [hidden_name("except", place) for place in range(len(excluding.excluded))]
    for name, check in zip(excluding.excluded, checks, strict=True):
        expressions.append(nodes.named(nodes.column([*nodes.name_parts(target), name]), check))
    made = relations.without(relations.project(source, expressions), [*excluding.excluded, *checks])
    return relations.renamed(made, renames) if renames else made
