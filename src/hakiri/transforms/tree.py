"""A plan for people: one line a relation, innermost last, with its expressions as they would be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from google.protobuf.message import Message
from pyspark.sql.connect.proto import Expression, Relation

_LONGEST_LINE = 160
_OPERATORS = frozenset(
    {"==", "!=", "<", "<=", ">", ">=", "<=>", "+", "-", "*", "/", "%", "and", "or", "div", "||"}
)
_TWO, _ONE = 2, 1


def plan_tree(relation: Relation) -> list[str]:
    """The lines of a plan."""
    return list(_lines(relation, ""))


def _lines(relation: Relation, indent: str) -> Iterator[str]:
    kind = relation.WhichOneof("rel_type") or "nothing"
    body = getattr(relation, kind, None)
    line = f"{indent}{'└ ' if indent else ''}{_headline(kind, body)}"
    yield line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"
    for child in _children(body):
        yield from _lines(child, f"{indent}  ")


def _children(body: Message | None) -> Iterator[Relation]:
    for field, value in body.ListFields() if body is not None else ():
        if field.message_type is Relation.DESCRIPTOR:
            yield from value if field.is_repeated else (value,)


def _headline(kind: str, body: Any) -> str:
    tell = _TOLD.get(kind)
    words = tell(body) if tell is not None else ""
    return f"{kind} {words}".rstrip()


def _read(read: Any) -> str:
    return str(read.named_table.unparsed_identifier)


def _aggregate(aggregate: Any) -> str:
    by = f" by {_listed(aggregate.grouping_expressions)}" if aggregate.grouping_expressions else ""
    return f"{_listed(aggregate.aggregate_expressions)}{by}"


def _join(join: Any) -> str:
    how = type(join).JoinType.Name(join.join_type).removeprefix("JOIN_TYPE_").lower().replace("_", " ")
    on = (
        f"using {', '.join(join.using_columns)}" if join.using_columns else f"on {shown(join.join_condition)}"
    )
    return f"{how} {on}"


def _columns(with_columns: Any) -> str:
    return ", ".join(f"{', '.join(alias.name)} = {shown(alias.expr)}" for alias in with_columns.aliases)


def _renamed(renamed: Any) -> str:
    pairs = [f"{each.col_name} → {each.new_col_name}" for each in renamed.renames]
    return ", ".join(pairs or [f"{old} → {new}" for old, new in renamed.rename_columns_map.items()])


def _set_operation(operation: Any) -> str:
    return str(type(operation).SetOpType.Name(operation.set_op_type)).removeprefix("SET_OP_TYPE_").lower()


def _deduplicated(deduplicate: Any) -> str:
    return (
        "by all columns" if deduplicate.all_columns_as_keys else f"by {', '.join(deduplicate.column_names)}"
    )


def _dropped(drop: Any) -> str:
    return ", ".join([*map(shown, drop.columns), *drop.column_names])


_TOLD: Mapping[str, Callable[[Any], str]] = MappingProxyType(
    {
        "read": _read,
        "project": lambda project: _listed(project.expressions),
        "filter": lambda where: shown(where.condition),
        "aggregate": _aggregate,
        "join": _join,
        "with_columns": _columns,
        "with_columns_renamed": _renamed,
        "sort": lambda sort: ", ".join(map(_ordered, sort.order)),
        "limit": lambda limit: str(limit.limit),
        "offset": lambda offset: str(offset.offset),
        "set_op": _set_operation,
        "deduplicate": _deduplicated,
        "drop": _dropped,
        "subquery_alias": lambda alias: str(alias.alias),
        "to_df": lambda to_df: ", ".join(to_df.column_names),
    }
)


def _listed(expressions: Sequence[Expression]) -> str:
    return ", ".join(map(shown, expressions))


def _ordered(order: Any) -> str:
    is_down = order.direction == Expression.SortOrder.SORT_DIRECTION_DESCENDING
    return f"{shown(order.child)}{' desc' if is_down else ''}"


def shown(expression: Expression) -> str:
    """An expression, about as its author would write it in SQL."""
    kind = expression.WhichOneof("expr_type") or "nothing"
    tell = _EXPRESSIONS.get(kind)
    return tell(getattr(expression, kind)) if tell is not None else kind


def _lambda(function: Any) -> str:
    names = ", ".join(".".join(each.name_parts) for each in function.arguments)
    return f"{names} -> {shown(function.function)}"


def _window(window: Any) -> str:
    parts = []
    if window.partition_spec:
        parts.append(f"partition by {_listed(window.partition_spec)}")
    if window.order_spec:
        parts.append(f"order by {', '.join(map(_ordered, window.order_spec))}")
    return f"{shown(window.window_function)} over ({' '.join(parts)})"


def _call(name: str, arguments: Sequence[Expression], *, is_distinct: bool = False) -> str:
    texts = [shown(argument) for argument in arguments]
    if name in _OPERATORS and len(texts) == _TWO:
        return f"({texts[0]} {name} {texts[1]})"
    if name == "not" and len(texts) == _ONE:
        return f"not {texts[0]}"
    if name == "when":
        return _case(texts)
    return f"{name}({'distinct ' if is_distinct else ''}{', '.join(texts)})"


def _case(texts: Sequence[str]) -> str:
    pairs = [f"when {texts[at]} then {texts[at + 1]}" for at in range(0, len(texts) - 1, _TWO)]
    rest = [f"else {texts[-1]}"] if len(texts) % _TWO == _ONE else []
    return f"case {' '.join([*pairs, *rest])} end"


def _literal(literal: Any) -> str:
    kind = literal.WhichOneof("literal_type")
    value = getattr(literal, kind) if kind else None
    if kind == "string":
        return f"'{value}'"
    return (
        "null" if kind in (None, "null") else f"{kind} literal" if isinstance(value, Message) else str(value)
    )


def _type(cast: Any) -> str:
    if cast.WhichOneof("cast_to_type") == "type_str":
        return str(cast.type_str)
    kind = str(cast.type.WhichOneof("kind"))
    if kind == "decimal":
        return f"decimal({cast.type.decimal.precision},{cast.type.decimal.scale})"
    return {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}.get(kind, kind)


_EXPRESSIONS: Mapping[str, Callable[[Any], str]] = MappingProxyType(
    {
        "unresolved_attribute": lambda attribute: str(attribute.unparsed_identifier),
        "unresolved_star": lambda star: str(star.unparsed_target) or "*",
        "literal": _literal,
        "alias": lambda alias: f"{shown(alias.expr)} as {', '.join(alias.name)}",
        "unresolved_function": lambda call: _call(
            call.function_name, call.arguments, is_distinct=call.is_distinct
        ),
        "call_function": lambda call: _call(call.function_name, call.arguments),
        "cast": lambda cast: f"cast({shown(cast.expr)} as {_type(cast)})",
        "sort_order": _ordered,
        "lambda_function": _lambda,
        "unresolved_named_lambda_variable": lambda variable: ".".join(variable.name_parts),
        "unresolved_extract_value": lambda value: f"{shown(value.child)}[{shown(value.extraction)}]",
        "window": _window,
    }
)
