"""`GROUP BY`: an Aggregate as DataFrames make it, whose columns are the groups first and then the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hakiri.transforms.sql import nodes, relations
from hakiri.transforms.sql.items import Item, hidden_name
from hakiri.transforms.sql.words import AGGREGATES

if TYPE_CHECKING:
    from pyspark.sql.connect import proto
    from pyspark.sql.connect.proto import Expression, Relation

    Order = proto.Expression.SortOrder

_KINDS = {"GROUPBY": 1, "ROLLUP": 2, "CUBE": 3, "GROUPING_SETS": 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """What stands behind GROUP BY; nothing in it means one group of all rows."""

    kind: str = "GROUPBY"
    keys: tuple[Expression, ...] = ()
    sets: tuple[tuple[Expression, ...], ...] = ()


def has_aggregate(node: Expression) -> bool:
    """Whether an aggregate is computed here, over the query's rows and not over a window's."""
    if node.HasField("window"):
        function = node.window.window_function
        inner = [*nodes.children(function), *list(nodes.children(node))[1:]]
        return any(has_aggregate(part) for part in inner)
    return _is_aggregate(node) or any(has_aggregate(part) for part in nodes.children(node))


def _is_aggregate(node: Expression) -> bool:
    return node.unresolved_function.function_name in AGGREGATES


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregation:
    """A query with groups, before it is known in which form its plan can be written."""

    source: Relation | None
    groups: Groups
    items: tuple[Item, ...]
    having: Expression | None = None
    orders: tuple[Order, ...] = ()

    def plan(self) -> Relation:
        keys, count = self.groups.keys, len(self.groups.keys)
        heads = tuple(item.node for item in self.items[:count] if not item.names)
        is_plain = heads == keys
        tail = self.items[count:] if is_plain else self.items
        names = {name.lower() for item in tail for name in item.names}
        is_simple = not any(self._needs_hidden(node, names) for node in self._conditions())
        if is_plain and is_simple:
            return _finished(
                self._aggregate(keys, [item.expression for item in tail]), self.having, self.orders
            )
        if not self._conditions() or self.groups.kind != "GROUPBY":
            by_name = self._selected_by_name()
            if by_name is not None:
                return by_name
        return self._with_hidden_groups()

    def _conditions(self) -> list[Expression]:
        having = [self.having] if self.having is not None else []
        return having + [order.child for order in self.orders]

    def _needs_hidden(self, node: Expression, names: set[str]) -> bool:
        """Whether a condition uses more than the names of columns that the plain Aggregate has."""
        if has_aggregate(node):
            return True
        return any(
            part in self.groups.keys
            and (not part.HasField("unresolved_attribute") or nodes.column_parts(part)[-1].lower() in names)
            for part in nodes.everything_in(node)
        )

    def _aggregate(self, keys: Sequence[Expression], expressions: Sequence[Expression]) -> Relation:
        made = relations.relation()
        if self.source is not None:
            made.aggregate.input.CopyFrom(self.source)
        else:
            made.aggregate.input.CopyFrom(relations.project(None, []))
        made.aggregate.grouping_expressions.extend(keys)
        made.aggregate.aggregate_expressions.extend(expressions)
        made.aggregate.group_type = _KINDS[self.groups.kind]  # type: ignore[assignment]
        for grouping_set in self.groups.sets:
            made.aggregate.grouping_sets.add().grouping_set.extend(grouping_set)
        return made

    def _selected_by_name(self) -> Relation | None:
        """`.groupBy("a").agg(x.alias("n")).select("n", "a")`, if every column has a name of its own."""
        computed = [item for item in self.items if item.node not in self.groups.keys]
        if any(len(item.names) != 1 for item in computed):
            return None
        keys = [nodes.column_parts(key) for key in self.groups.keys]
        names = [item.names[0].lower() for item in computed] + [key[-1].lower() for key in keys if key]
        if not all(keys) or len(set(names)) < len(names):
            return None
        made = self._aggregate(self.groups.keys, [item.expression for item in computed])
        made = _finished(made, self.having, self.orders)
        return relations.project(
            made, [nodes.column(item.names) if item in computed else item.expression for item in self.items]
        )

    def _with_hidden_groups(self) -> Relation:
        """The groups, and the aggregates of HAVING and ORDER BY, have names of ours until dropped."""
        hidden: list[tuple[Expression, str]] = [
            (key, hidden_name("group", place)) for place, key in enumerate(self.groups.keys)
        ]
        names = {name.lower() for item in self.items for name in item.names}

        def change(node: Expression, *, is_order: bool) -> Expression | None:
            known = next((name for seen, name in hidden if seen == node), None)
            parts = nodes.column_parts(node)
            if known and is_order and len(parts) == 1 and parts[0].lower() in names:
                return None  # ORDER BY means the column of the result, HAVING the group
            if known is None and _is_aggregate(node):
                known = hidden_name("aggregate", len(hidden))
                hidden.append((node, known))
            return nodes.column([known]) if known else None

        having = self.having
        if having is not None:
            having = nodes.rewritten(having, lambda node: change(node, is_order=False))
        orders = []
        for order in self.orders:
            child = nodes.rewritten(order.child, lambda node: change(node, is_order=True))
            copy = type(order)()
            copy.CopyFrom(order)
            copy.child.CopyFrom(child)
            orders.append(copy)
        count = len(self.groups.keys)
        made = self._aggregate(
            [nodes.named(key, name) for key, name in hidden[:count]],
            [item.expression for item in self.items]
            + [nodes.named(node, name) for node, name in hidden[count:]],
        )
        finished = _finished(made, having, orders)
        return relations.without(finished, [name for _, name in hidden]) if hidden else finished


def _finished(made: Relation, having: Expression | None, orders: Sequence[Order]) -> Relation:
    if having is not None:
        made = relations.filtered(made, having)
    return relations.sorted_by(made, orders) if orders else made
