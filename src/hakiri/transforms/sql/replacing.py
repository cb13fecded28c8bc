"""Plans of DataFrames without the SQL text that `F.expr`, `df.where("…")` and `cast("…")` put into them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from hakiri.transforms.sql.errors import BadSql
from hakiri.transforms.sql.parsing import any_query_plan, expression_plan, type_plan
from hakiri.transforms.sql.relations import messages_in, relation

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Expression, Relation

_LONGEST_EXCERPT = 60
_Plan = TypeVar("_Plan")


def without_sql_text(plan: Relation) -> Relation:
    """A copy in which nodes stand where SQL text stood, names of types included; all else is as it was.

    Raises BadSql for text that cannot become nodes.
    """
    copy = relation()
    copy.CopyFrom(plan)
    # Outer messages come first, so what replaces a message is itself looked into afterwards.
    for message in messages_in(copy):
        match message.DESCRIPTOR.full_name:
            case "spark.connect.Expression":
                _replace_expression(cast("Expression", message))
            case "spark.connect.Relation":
                _replace_query(cast("Relation", message))
    return copy


def _replace_expression(node: Expression) -> None:
    if node.HasField("expression_string"):
        made = _made(node.expression_string.expression, expression_plan)
        # The author's line, which Spark names when something is wrong with the expression.
        if node.HasField("common"):
            made.common.CopyFrom(node.common)
        node.CopyFrom(made)
    elif node.HasField("cast") and node.cast.HasField("type_str"):
        node.cast.type.CopyFrom(_made(node.cast.type_str, type_plan))


def _replace_query(plan: Relation) -> None:
    if not plan.HasField("sql"):
        return
    if plan.sql.args or plan.sql.pos_args or plan.sql.named_arguments or plan.sql.pos_arguments:
        raise BadSql(
            f"the query `{_excerpt(plan.sql.query)}` has parameters",
            line=1,
            column=1,
            hint="write the values into the query",
        )
    made = _made(plan.sql.query, any_query_plan)
    if plan.HasField("common"):
        made.common.CopyFrom(plan.common)
    plan.CopyFrom(made)


def _made(text: str, read: Callable[[str], _Plan]) -> _Plan:
    """The plan; what is wrong is said with the text, for a DataFrame holds many."""
    try:
        return read(text)
    except BadSql as error:
        raise BadSql(
            f"{error.problem}, in `{_excerpt(text)}`", line=error.line, column=error.column, hint=error.hint
        ) from error


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_EXCERPT else f"{line[:_LONGEST_EXCERPT]}…"
