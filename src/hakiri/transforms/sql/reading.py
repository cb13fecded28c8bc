"""What a parser of expressions knows about the place where the expression stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hakiri.transforms.sql.cursor import Cursor

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Expression, Relation

# Parts of a plan that the text names once and the plan needs several times: CTEs, the operand of BETWEEN.
MOST_REPEATED_BYTES = 2_000_000


class SubqueryReader(Protocol):
    def __call__(self, reading: Reading) -> Relation:
        """The query that begins here, inside an expression."""


@dataclass(slots=True)
class Counts:
    """What is counted over the whole text."""

    plans: int = 0
    unstable_calls: int = 0
    repeated_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One clause while it is read. Clauses of one text share the cursor and the counts."""

    cursor: Cursor
    counts: Counts = field(default_factory=Counts)
    read_subquery: SubqueryReader | None = None
    subqueries: list[Relation] = field(default_factory=list)
    """The plans of the subqueries met in this clause: they go beside the relation that holds the clause."""
    lambda_names: Mapping[str, str] = field(default_factory=dict)
    """Variables of lambdas around this place, by their names in lower case."""
    lateral_views: frozenset[str] = frozenset()
    """Names of LATERAL VIEWs: their columns are plain columns of the plan, so the names are left out."""
    windows: Mapping[str, Expression] = field(default_factory=dict)

    def spend(self, size: int) -> None:
        """Refuse a text whose plan would be many times larger than itself."""
        self.counts.repeated_bytes += size
        if self.counts.repeated_bytes > MOST_REPEATED_BYTES:
            self.cursor.fail(
                "the plan would repeat its parts too often",
                "compute the repeated part once, in a step of its own",
            )
