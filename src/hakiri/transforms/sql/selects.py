"""One SELECT: its FROM clause is read first, for it says what the names in the list mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hakiri.transforms.sql import nodes, relations
from hakiri.transforms.sql.cursor import Cursor
from hakiri.transforms.sql.expressions import read_expression
from hakiri.transforms.sql.groupby import read_groups
from hakiri.transforms.sql.grouping import Aggregation, Groups, has_aggregate
from hakiri.transforms.sql.items import Item, hidden_name, read_items, selected
from hakiri.transforms.sql.scopes import Scope
from hakiri.transforms.sql.sources import read_source
from hakiri.transforms.sql.tokens import Kind
from hakiri.transforms.sql.windows import read_window
from hakiri.transforms.sql.words import SET_OPERATORS

if TYPE_CHECKING:
    from pyspark.sql.connect import proto
    from pyspark.sql.connect.proto import Expression, Relation

    Order = proto.Expression.SortOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """A SELECT that was read, up to its ORDER BY, which may change the form of its plan."""

    scope: Scope
    source: Relation | None
    items: tuple[Item, ...]
    is_distinct: bool
    groups: Groups | None
    having: Expression | None
    qualify: Expression | None
    subqueries: tuple[Relation, ...]
    having_subqueries: tuple[Relation, ...]

    def plan(self, orders: Sequence[Order] = ()) -> Relation:
        if self.is_distinct:
            self._check_distinct(orders)
        inner = () if self.is_distinct or self.qualify is not None else tuple(orders)
        outer = () if inner else tuple(orders)
        qualify, items, hidden = self.qualify, self.items, []
        if qualify is not None and any(node.HasField("window") for node in nodes.everything_in(qualify)):
            hidden = [hidden_name("qualify", 0)]
            items = (*items, Item(token=items[0].token, node=qualify, names=(hidden[0],)))
            qualify = nodes.column(hidden)
        if self._is_aggregation():
            made = Aggregation(
                source=self.source,
                groups=self.groups or Groups(),
                items=items,
                having=self.having,
                subqueries=self.subqueries,
                having_subqueries=self.having_subqueries,
                orders=inner,
            ).plan()
        else:
            made, outer = relations.beside(selected(self.source, items), self.subqueries), (*inner, *outer)
        if qualify is not None:
            made = relations.filtered(made, qualify)
            made = relations.without(made, hidden) if hidden else made
        if self.is_distinct:
            made = relations.distinct(made)
        return relations.sorted_by(made, outer) if outer else made

    def _check_distinct(self, orders: Sequence[Order]) -> None:
        """Spark's Deduplicate would sort by a column outside the result, of any of the rows it drops."""
        names = {item.name.lower() for item in self.items if item.name}
        if any(item.is_star for item in self.items):
            return
        for order in orders:
            for part in nodes.everything_in(order.child):
                parts = nodes.column_parts(part)
                if parts and not names & {parts[0].lower(), parts[-1].lower()}:
                    self.scope.cursor.fail(
                        f"`{parts[-1]}` is not in the result of SELECT DISTINCT",
                        "add it to the list",
                        self.items[0].token,
                    )

    def _is_aggregation(self) -> bool:
        is_asked = self.groups is not None or self.having is not None
        return is_asked or any(has_aggregate(item.node) for item in self.items)


def read_select(scope: Scope) -> Select:
    cursor = scope.cursor
    cursor.expect_word("SELECT")
    is_distinct = cursor.accept_word("DISTINCT", "ALL") == "DISTINCT"
    list_starts, source_at = cursor.index, _place_of_from(cursor)
    list_ends, source = source_at, None
    if source_at is not None:
        cursor.index = source_at + 1
        source, scope = read_source(scope)
    source_ends = cursor.index
    scope = _with_windows(scope)
    cursor.index, clause = list_starts, scope.clause()
    items = read_items(clause)
    if list_ends is not None:
        if cursor.index != list_ends:
            cursor.unexpected("`,` or `FROM`")
        cursor.index = source_ends
    source = _filtered(scope, source)
    groups = read_groups(clause, items) if cursor.accept_words("GROUP", "BY") else None
    having_clause = scope.clause()
    having = read_expression(having_clause) if cursor.accept_word("HAVING") else None
    qualify = _qualify(scope, items) if cursor.at_word("QUALIFY") else None
    _skip_windows(scope)
    return Select(
        scope=scope,
        source=source,
        items=items,
        is_distinct=is_distinct,
        groups=groups,
        having=having,
        qualify=qualify,
        subqueries=tuple(clause.subqueries),
        having_subqueries=tuple(having_clause.subqueries),
    )


def _filtered(scope: Scope, source: Relation | None) -> Relation | None:
    cursor = scope.cursor
    if not cursor.accept_word("WHERE"):
        return source
    clause = scope.clause()
    if source is None:
        source = relations.project(None, [])
    return relations.beside(relations.filtered(source, read_expression(clause)), clause.subqueries)


def _qualify(scope: Scope, items: Sequence[Item]) -> Expression:
    cursor = scope.cursor
    token, reading = cursor.take(), scope.clause()
    condition = read_expression(reading)
    if reading.subqueries:
        cursor.fail("QUALIFY cannot hold subqueries", "filter in an outer query", token)
    computed = [condition, *(item.node for item in items)]
    if not any(part.HasField("window") for node in computed for part in nodes.everything_in(node)):
        cursor.fail("QUALIFY needs a window function", "write WHERE or HAVING instead", token)
    aliases = {item.names[0].lower() for item in items if item.names and not item.mentions(item.names[0])}
    for part in nodes.everything_in(condition):
        for inner in nodes.everything_in(part) if part.HasField("window") else ():
            if nodes.column_parts(inner)[-1:] and nodes.column_parts(inner)[0].lower() in aliases:
                name = nodes.column_parts(inner)[0]
                cursor.fail(f"the window in QUALIFY names the alias `{name}`", "repeat its expression", token)
    return condition


def _place_of_from(cursor: Cursor) -> int | None:
    """Where the FROM of the SELECT stands whose list begins here."""
    depth, offset = 0, 0
    while (token := cursor.ahead(offset)).kind is not Kind.END:
        if token.kind is Kind.SYMBOL:
            depth += (token.text in "([") - (token.text in ")]")
            if depth < 0 or token.text == ";":
                return None
        elif depth == 0 and token.word == "FROM" and not _is_distinct_from(cursor, offset):
            return cursor.index + offset
        elif depth == 0 and token.word in SET_OPERATORS and not _is_exclusion(cursor, offset):
            return None
        offset += 1
    return None


def _is_distinct_from(cursor: Cursor, offset: int) -> bool:
    return offset > 1 and cursor.ahead(offset - 1).word == "DISTINCT"


def _is_exclusion(cursor: Cursor, offset: int) -> bool:
    """`* EXCEPT (a)`, and not `SELECT 1 EXCEPT (SELECT 2)`."""
    return (
        cursor.ahead(offset).word == "EXCEPT"
        and cursor.ahead(offset - 1).text == "*"
        and cursor.ahead(offset + 1).text == "("
        and cursor.ahead(offset + 2).word not in {"SELECT", "WITH", "VALUES"}
    )


def _with_windows(scope: Scope) -> Scope:
    """The scope with the windows that the query names behind everything else."""
    cursor, depth, offset = scope.cursor, 0, 0
    while (token := cursor.ahead(offset)).kind is not Kind.END and depth >= 0:
        if token.kind is Kind.SYMBOL:
            depth += (token.text in "([") - (token.text in ")]")
        elif depth == 0 and token.word in SET_OPERATORS:
            break
        elif depth == 0 and _is_window(cursor, offset):
            place = cursor.index
            cursor.index += offset
            windows = dict(scope.windows)
            _read_windows(scope, windows)
            cursor.index = place
            return replace(scope, windows=windows)
        offset += 1
    return scope


def _is_window(cursor: Cursor, offset: int) -> bool:
    is_named = cursor.ahead(offset + 1).kind in {Kind.WORD, Kind.QUOTED}
    return cursor.ahead(offset).word == "WINDOW" and is_named and cursor.ahead(offset + 2).word == "AS"


def _read_windows(scope: Scope, windows: dict[str, Expression]) -> None:
    cursor = scope.cursor
    cursor.expect_word("WINDOW")
    while True:
        name = cursor.expect_name("a window's name")
        cursor.expect_word("AS")
        clause = replace(scope, windows=windows).clause()
        windows[name.lower()] = read_window(clause)
        if clause.subqueries:
            cursor.fail("a window cannot hold subqueries", "compute them in an inner query")
        if not cursor.accept_symbol(","):
            return


def _skip_windows(scope: Scope) -> None:
    if _is_window(scope.cursor, 0):
        _read_windows(scope, {})
