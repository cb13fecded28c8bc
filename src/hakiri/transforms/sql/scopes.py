"""Which tables and CTEs a query may name, and how its clauses are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hakiri.core.nearest import nearest
from hakiri.transforms.sql import relations
from hakiri.transforms.sql.cursor import Cursor
from hakiri.transforms.sql.reading import Counts, Reading
from hakiri.transforms.sql.tokens import Token
from hakiri.transforms.sql.words import SET_OPERATORS

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Expression, Relation


@dataclass(slots=True)
class Cte:
    """A query with a name. It is put in wherever it is named, so it must give the same rows each time."""

    name: str
    plan: Relation
    is_stable: bool
    first_plan_id: int
    last_plan_id: int
    uses: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is known around one query."""

    cursor: Cursor
    read_query: Callable[[Scope], Relation]
    continue_query: Callable[[Scope, Relation], Relation]
    tables: Mapping[str, str] | None = None
    """Allowed tables by their names in lower case; None allows all."""
    counts: Counts = field(default_factory=Counts)
    ctes: Mapping[str, Cte] = field(default_factory=dict)
    lateral_views: frozenset[str] = frozenset()
    windows: Mapping[str, Expression] = field(default_factory=dict)

    def clause(self) -> Reading:
        """For reading the expressions of one relation."""
        return Reading(
            cursor=self.cursor,
            counts=self.counts,
            read_subquery=lambda _: self.read_query(replace(self, windows={})),
            lateral_views=self.lateral_views,
            windows=self.windows,
        )

    def read_names(self) -> list[str]:
        """`(a, b, c)`"""
        self.cursor.expect_symbol("(")
        names = [self.cursor.expect_name("a column")]
        while self.cursor.accept_symbol(","):
            names.append(self.cursor.expect_name("a column"))
        self.cursor.expect_symbol(")")
        return names

    def table(self, name: str, token: Token) -> tuple[Relation, str]:
        """The table's relation, and the alias it needs if nothing else is given."""
        cte = self.ctes.get(name.lower())
        if cte is not None:
            return self._inlined(cte, token), cte.name
        if self.tables is None:
            return relations.table(name), ""
        if name.lower() in self.tables:
            return relations.table(self.tables[name.lower()]), ""
        meant = nearest(name, [*self.tables.values(), *(cte.name for cte in self.ctes.values())])
        hint = f"did you mean `{meant}`?" if meant else f"name one of {self.known_tables()}"
        return self.cursor.fail(f"there is no table `{name}`", hint, token)

    def known_tables(self) -> str:
        names = sorted(self.tables.values()) if self.tables else []
        return ", ".join(f"`{name}`" for name in names) or "the tables of the pipeline"

    def _inlined(self, cte: Cte, token: Token) -> Relation:
        cte.uses += 1
        if cte.uses > 1 and not cte.is_stable:
            self.cursor.fail(
                f"`{cte.name}` is used twice, but gives other rows each time",
                "move random functions out of the CTE, or use it once",
                token,
            )
        self.clause().spend(cte.plan.ByteSize())
        made = relations.relation()
        made.CopyFrom(cte.plan)
        if cte.uses > 1 and cte.last_plan_id > cte.first_plan_id:
            offset = self.counts.plans - cte.first_plan_id
            relations.renumber(made, offset)
            self.counts.plans = cte.last_plan_id + offset
        return made


def at_set_operator(cursor: Cursor) -> bool:
    return cursor.at_word(*SET_OPERATORS)
