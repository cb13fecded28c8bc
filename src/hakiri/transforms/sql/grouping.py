"""`GROUP BY`: an Aggregate as DataFrames make it, whose columns are the groups first and then the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hakiri.transforms.sql import nodes, relations
from hakiri.transforms.sql.errors import BadSql
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
    subqueries: tuple[Relation, ...] = ()
    having_subqueries: tuple[Relation, ...] = ()

    def plan(self) -> Relation:
        """The same columns in the same order as the list has, whatever the Aggregate puts first."""
        self._check()
        heads = [item.node for item in self.items[: len(self.groups.keys)] if not item.names]
        has_conditions = self.having is not None or bool(self.orders)
        if heads == list(self.groups.keys) and not (has_conditions and self._has_shadowed_key()):
            return self._with_keys_first()
        if not has_conditions or self.groups.kind != "GROUPBY":
            by_name = self._selected_by_name()
            if by_name is not None:
                return by_name
        if self.groups.kind != "GROUPBY":
            raise _bad(self.items[0], "a list with ROLLUP, CUBE or GROUPING SETS must begin with its groups")
        return self._with_hidden_keys()

    def _check(self) -> None:
        conditions = [
            *([] if self.having is None else [self.having]),
            *(order.child for order in self.orders),
        ]
        if any(part.HasField("window") for node in conditions for part in nodes.everything_in(node)):
            raise _bad(self.items[0], "HAVING and ORDER BY of groups cannot hold window functions")

    def _has_shadowed_key(self) -> bool:
        names = {name.lower() for item in self.items for name in item.names}
        return any(
            parts[-1].lower() in names for key in self.groups.keys if (parts := nodes.column_parts(key))
        )

    def _with_keys_first(self) -> Relation:
        """`.groupBy("a").agg(…)`, and columns for what only HAVING and ORDER BY compute."""
        hidden = _Hidden()
        hidden.wanted += [key for key in self.groups.keys if not key.HasField("unresolved_attribute")]
        having, orders = self._conditions(hidden, frozenset())
        tail = [item.expression for item in self.items[len(self.groups.keys) :]]
        made = self._aggregate(self.groups.keys, tail + hidden.expressions())
        made = self._finished(made, having, orders)
        return relations.without(made, hidden.names()) if hidden.found else made

    def _selected_by_name(self) -> Relation | None:
        """`.groupBy("a").agg(x.alias("n")).select("n", "a")`, if every column has a name of its own."""
        computed = [item for item in self.items if item.node not in self.groups.keys]
        keys = [nodes.column_parts(key) for key in self.groups.keys]
        if not all(keys) or any(len(item.names) != 1 for item in computed):
            return None
        names = [item.names[0].lower() for item in computed] + [key[-1].lower() for key in keys]
        if len(set(names)) < len(names) or any(has_aggregate(order.child) for order in self.orders):
            return None
        hidden = _Hidden()
        having, _ = self._conditions(hidden, frozenset())
        made = self._aggregate(
            self.groups.keys, [item.expression for item in computed] + hidden.expressions()
        )
        made = relations.project(
            self._finished(made, having, ()),
            [nodes.column(item.names) if item in computed else item.expression for item in self.items],
        )
        return relations.sorted_by(made, self.orders) if self.orders else made

    def _with_hidden_keys(self) -> Relation:
        """The groups have names of ours, and are dropped in the end."""
        hidden = _Hidden()
        keys = [hidden.name_of(key, "group") for key in self.groups.keys]
        # ORDER BY means a column of the result before a group, HAVING the other way round.
        names = frozenset(name.lower() for item in self.items for name in item.names)
        having, orders = self._conditions(hidden, names)
        made = self._aggregate(
            hidden.expressions()[: len(keys)],
            [item.expression for item in self.items] + hidden.expressions()[len(keys) :],
        )
        return relations.without(self._finished(made, having, orders), hidden.names())

    def _conditions(
        self, hidden: _Hidden, result_names: frozenset[str]
    ) -> tuple[Expression | None, list[Order]]:
        """HAVING and ORDER BY in which hidden columns stand for groups and aggregates."""

        def of_order(node: Expression) -> Expression | None:
            parts = nodes.column_parts(node)
            return None if len(parts) == 1 and parts[0].lower() in result_names else hidden.column_for(node)

        having = None if self.having is None else nodes.rewritten(self.having, hidden.column_for)
        orders = []
        for order in self.orders:
            copy = type(order)()
            copy.CopyFrom(order)
            copy.child.CopyFrom(nodes.rewritten(order.child, of_order))
            orders.append(copy)
        return having, orders

    def _aggregate(self, keys: Sequence[Expression], expressions: Sequence[Expression]) -> Relation:
        made = relations.relation()
        made.aggregate.input.CopyFrom(self.source if self.source is not None else relations.project(None, []))
        made.aggregate.grouping_expressions.extend(keys)
        made.aggregate.aggregate_expressions.extend(expressions)
        made.aggregate.group_type = _KINDS[self.groups.kind]  # type: ignore[assignment]
        for grouping_set in self.groups.sets:
            made.aggregate.grouping_sets.add().grouping_set.extend(grouping_set)
        return relations.beside(made, self.subqueries)

    def _finished(self, made: Relation, having: Expression | None, orders: Sequence[Order]) -> Relation:
        if having is not None:
            made = relations.beside(relations.filtered(made, having), self.having_subqueries)
        return relations.sorted_by(made, orders) if orders else made


class _Hidden:
    """Columns of ours in an Aggregate, each for one expression."""

    def __init__(self) -> None:
        self.found: list[tuple[Expression, str]] = []
        self.wanted: list[Expression] = []

    def name_of(self, node: Expression, what: str) -> str:
        known = next((name for seen, name in self.found if seen == node), None)
        if known is None:
            known = hidden_name(what, len(self.found))
            self.found.append((node, known))
        return known

    def column_for(self, node: Expression) -> Expression | None:
        is_known = any(seen == node for seen, _ in self.found)
        if not is_known and node not in self.wanted and not _is_aggregate(node):
            return None
        return nodes.column([self.name_of(node, "aggregate")])

    def expressions(self) -> list[Expression]:
        return [nodes.named(node, name) for node, name in self.found]

    def names(self) -> list[str]:
        return [name for _, name in self.found]


def _bad(item: Item, problem: str) -> BadSql:
    hint = "compute it in an inner query, and select from that"
    return BadSql(problem, line=item.token.line, column=item.token.column, hint=hint)
