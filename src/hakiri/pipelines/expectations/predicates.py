"""Predicates as plans: read without Spark, held to what a transform may do, and to one row at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hakiri.pipelines.expectations.errors import NotCheckable
from hakiri.transforms.sql import BadSql, expression_plan
from hakiri.transforms.sql.nodes import call, column_parts, everything_in, messages
from hakiri.transforms.verify import PlanRefused, verify_plan
from hakiri.transforms.verify.functions import (
    AGGREGATES,
    ROWS_FROM_VALUES,
    SKETCH_BUILDERS,
    SKETCH_READERS,
    WINDOWS,
)

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import Column
    from pyspark.sql.connect.proto import Expression

_INPUT = "input"
# Beside those that are listed by what they do: generators, aggregates and windows under other headings.
_OF_SEVERAL_ROWS = frozenset(
    (AGGREGATES + ROWS_FROM_VALUES + SKETCH_BUILDERS + SKETCH_READERS + WINDOWS).split()
) | {
    "json_tuple",
    "schema_of_variant_agg",
    "session_window",
    "vector_avg",
    "vector_sum",
    "window",
    "window_time",
}
# What an expression gives that is certainly no truth value.
_NO_CONDITIONS = frozenset({"+", "-", "*", "/", "%", "&", "|", "^", "~", "negative", "positive", "concat"})
_HINT = "write a condition on columns of one row and literals, with functions of Spark SQL"
_GUESS = "did you mean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """A condition that was found safe: its plan, and the columns that it looks at as they were written.

    `is_column`: it is nothing but a column, which then must be one of true and false.
    """

    plan: Expression
    columns: tuple[str, ...]
    is_column: bool


def read_predicate(text: str) -> Predicate:
    """The predicate without asking Spark. Raises NotCheckable for what is no condition on one row."""
    try:
        plan = expression_plan(text)
    except BadSql as error:
        where = f"line {error.line}, column {error.column}"
        raise NotCheckable(f"{error.problem} ({where})", error.hint) from error
    _refuse_other_than_conditions(plan)
    nodes = list(everything_in(plan))
    for node in nodes:
        _refuse_several_rows(node)
    _verify(plan)
    named = dict.fromkeys(parts[0] for node in nodes if (parts := column_parts(node)))
    return Predicate(plan=plan, columns=tuple(named), is_column=len(column_parts(plan)) == 1)


def broken_predicate(plan: Expression, origin: str) -> Column:
    """True where the predicate is false, as a column of Spark's client: what was verified is what runs.

    `origin` is what Spark's errors name as the place of the expression, see `origins_in`.
    """
    from pyspark.sql.connect.column import Column
    from pyspark.sql.connect.expressions import Expression as Planned

    is_broken = call("not", plan)
    for node in everything_in(is_broken):
        node.common.origin.python_origin.fragment = "predicate"
        node.common.origin.python_origin.call_site = origin

    class Verified(Planned):
        def to_plan(self, session: Any) -> Expression:
            return is_broken

        def __repr__(self) -> str:
            return "predicate"

    return Column(Verified())


def origins_in(error: PySparkException) -> list[str]:
    """Where the expressions were written that Spark blames."""
    from pyspark.errors import QueryContextType

    blamed = [each for each in error.getQueryContext() if each.contextType() == QueryContextType.DataFrame]
    return [each.callSite() for each in blamed]


def _verify(plan: Expression) -> None:
    """Hold the condition to everything that the plan of a transform is held to."""
    whole = messages().Relation()
    whole.filter.input.read.named_table.unparsed_identifier = _INPUT
    whole.filter.condition.CopyFrom(plan)
    try:
        verify_plan(whole, inputs=(_INPUT,))
    except PlanRefused as error:
        hints = [refusal.hint for refusal in error.refusals if refusal.hint.startswith(_GUESS)]
        problems = "; ".join(refusal.problem for refusal in error.refusals)
        raise NotCheckable(problems, (*hints, _HINT)[0]) from error


def _refuse_other_than_conditions(plan: Expression) -> None:
    kind = plan.WhichOneof("expr_type")
    if kind == "alias":
        raise NotCheckable("a condition has no alias", "take the alias out")
    if kind == "unresolved_star":
        raise NotCheckable("`*` is no condition", _HINT)
    if kind == "literal" and plan.literal.WhichOneof("literal_type") not in ("boolean", "null"):
        raise NotCheckable("it is a value, and no condition", _HINT)
    if kind == "unresolved_function" and plan.unresolved_function.function_name.lower() in _NO_CONDITIONS:
        raise NotCheckable("it gives a value that is neither true nor false", _HINT)


def _refuse_several_rows(node: Expression) -> None:
    for name in _called(node):
        if name in _OF_SEVERAL_ROWS:
            raise NotCheckable(f"`{name}` looks at several rows, or makes several of one", _HINT)
    if node.WhichOneof("expr_type") in ("window", "subquery_expression"):
        raise NotCheckable("it looks at other rows", _HINT)


def _called(node: Expression) -> Iterator[str]:
    if node.HasField("unresolved_function"):
        yield node.unresolved_function.function_name.lower()
