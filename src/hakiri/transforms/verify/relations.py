"""What the relations of a plan must keep to, beyond which fields they may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from hakiri.core.nearest import nearest
from hakiri.transforms.verify import limits
from hakiri.transforms.verify.literals import arguments_of
from hakiri.transforms.verify.scope import Scope, Trouble, plain
from hakiri.transforms.verify.words import words

Check = Callable[[Any, Scope], Iterator[Trouble]]

_HINTS = words("broadcast broadcastjoin mapjoin merge mergejoin shuffle_merge shuffle_hash")
_JOINS = frozenset(
    f"JOIN_TYPE_{kind}"
    for kind in ("INNER", "FULL_OUTER", "LEFT_OUTER", "RIGHT_OUTER", "LEFT_ANTI", "LEFT_SEMI")
)
_DEEPEST_CONDITION = 50


def enum_name(message: Any, field: str) -> str:
    """The name of an enum's value; empty for a number that has none."""
    described = message.DESCRIPTOR.fields_by_name[field].enum_type
    value = described.values_by_number.get(getattr(message, field))
    return value.name if value is not None else ""


def _named_table(message: Any, scope: Scope) -> Iterator[Trouble]:
    name = message.unparsed_identifier
    if name not in scope.inputs:
        meant = nearest(name, scope.inputs)
        yield Trouble(
            "",
            f"table `{plain(name)}` is not among the declared inputs",
            f"did you mean `{meant}`?" if meant else "declare the table as a reference in the manifest",
        )


def _join(message: Any, scope: Scope) -> Iterator[Trouble]:
    if enum_name(message, "join_type") not in _JOINS:
        yield Trouble(
            "join_type",
            "a join is inner, left, right, full, semi or anti",
            "use one of them, on equal columns",
        )
    has_condition = message.HasField("join_condition")
    if has_condition and len(_columns_in(message.join_condition)) < 2:  # noqa: PLR2004 - one of each side
        yield Trouble(
            "join_condition",
            "the join compares no column with another, so every row meets every other",
            "join on equal columns",
        )
    if not has_condition and not message.using_columns:
        yield Trouble(
            "", "the join has no condition, so every row meets every other", "join on equal columns"
        )


def _columns_in(condition: Any) -> set[tuple[str, int]]:
    """The columns that a condition names outside subqueries."""
    found: set[tuple[str, int]] = set()
    ahead = [(condition, 0)]
    while ahead:
        expression, depth = ahead.pop()
        kind = expression.WhichOneof("expr_type")
        if kind == "unresolved_attribute":
            attribute = expression.unresolved_attribute
            found.add((attribute.unparsed_identifier, attribute.plan_id))
        elif depth < _DEEPEST_CONDITION:
            ahead += [(inner, depth + 1) for inner in _operands(expression, kind)]
    return found


def _operands(expression: Any, kind: str | None) -> list[Any]:
    if kind == "cast":
        return [expression.cast.expr]
    if kind == "alias":
        return [expression.alias.expr]
    if kind == "lambda_function":
        return [expression.lambda_function.function]
    if kind == "unresolved_extract_value":
        return [expression.unresolved_extract_value.child, expression.unresolved_extract_value.extraction]
    return list(arguments_of(expression))


def _set_operation(message: Any, scope: Scope) -> Iterator[Trouble]:
    if enum_name(message, "set_op_type") in ("", "SET_OP_TYPE_UNSPECIFIED"):
        yield Trouble("set_op_type", "the operation is not known", "use union, intersect or subtract")


def _aggregate(message: Any, scope: Scope) -> Iterator[Trouble]:
    group = enum_name(message, "group_type")
    if group in ("", "GROUP_TYPE_UNSPECIFIED"):
        yield Trouble("group_type", "the grouping is not known", "use groupBy, rollup, cube or pivot")
    if group == "GROUP_TYPE_CUBE" and len(message.grouping_expressions) > limits.MOST_CUBE_COLUMNS:
        yield Trouble(
            "grouping_expressions",
            f"a cube has at most {limits.MOST_CUBE_COLUMNS} columns",
            "use rollup, or name the groupings with groupingSets",
        )
    is_several = group in ("GROUP_TYPE_ROLLUP", "GROUP_TYPE_GROUPING_SETS")
    if is_several and len(message.grouping_expressions) > limits.MOST_GROUPINGS:
        yield Trouble("grouping_expressions", "there are too many groupings", "group by fewer columns")
    if len(message.grouping_sets) > limits.MOST_GROUPINGS:
        yield Trouble("grouping_sets", "there are too many groupings", "group by fewer columns")
    if len(message.pivot.values) * len(message.aggregate_expressions) > limits.MOST_PIVOT_COLUMNS:
        yield Trouble("pivot.values", "the pivot makes too many columns", "pivot fewer values")
    if (group == "GROUP_TYPE_PIVOT") != message.HasField("pivot"):
        yield Trouble("pivot", "a pivot and its values belong together", "run `hakiri compile` again")


def _pivot(message: Any, scope: Scope) -> Iterator[Trouble]:
    if not 1 <= len(message.values) <= limits.MOST_PIVOT_VALUES:
        yield Trouble(
            "values",
            f"a pivot needs its values, at most {limits.MOST_PIVOT_VALUES}: without them Spark looks at all "
            "rows to find them",
            "give the values, as in `pivot('kind', ['a', 'b'])`",
        )


def _unpivot(message: Any, scope: Scope) -> Iterator[Trouble]:
    if len(message.values.values) * (len(message.ids) + 1) > limits.MOST_UNPIVOTED:
        yield Trouble("values", "too many columns become rows", "unpivot fewer columns")


def _partitions(message: Any, scope: Scope) -> Iterator[Trouble]:
    is_given = message.DESCRIPTOR.name == "Repartition" or message.HasField("num_partitions")
    if is_given and not 1 <= message.num_partitions <= limits.MOST_PARTITIONS:
        yield Trouble(
            "num_partitions",
            f"{message.num_partitions} partitions are asked for, and 1 to {limits.MOST_PARTITIONS} may be",
            "leave it out: Spark chooses the number itself",
        )


def _hint(message: Any, scope: Scope) -> Iterator[Trouble]:
    if message.name.lower() not in _HINTS:
        yield Trouble("", f"the hint `{plain(message.name)}` is not known", "use `broadcast`, or none")


def _with_relations(message: Any, scope: Scope) -> Iterator[Trouble]:
    nested, node = 0, scope.node.parent
    while node is not None:
        nested += node.label.startswith("references[")
        node = node.parent
    if nested > limits.DEEPEST_SUBQUERY:
        yield Trouble("", "there are too many subqueries inside each other", "use a join")
    for index, reference in enumerate(message.references):
        if not reference.common.HasField("plan_id"):
            yield Trouble(f"references[{index}]", "nothing can refer to it", "run `hakiri compile` again")


RELATION_CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "Read.NamedTable": _named_table,
        "Join": _join,
        "SetOperation": _set_operation,
        "Aggregate": _aggregate,
        "Aggregate.Pivot": _pivot,
        "Repartition": _partitions,
        "RepartitionByExpression": _partitions,
        "Hint": _hint,
        "Unpivot": _unpivot,
        "WithRelations": _with_relations,
    }
)
