"""Values that are made of themselves: `x = concat(x, x)`, forty times in a row.

No single step of it is large, and the plan stays short. So sizes are followed through the plan by the names
of columns, and none may pass a limit. Columns that a `*` repeats are counted in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hakiri.transforms.verify.errors import Refusal
from hakiri.transforms.verify.limits import MOST_COLUMNS_OF_ONE, MOST_GROWTH
from hakiri.transforms.verify.scope import Node
from hakiri.transforms.verify.sizes import (
    COLLECTED,
    LENGTH,
    SMALL,
    SMALL_RESULTS,
    call_size,
    literal_size,
    name_parts,
)

_INPUTS = ("input", "left", "right", "left_input", "right_input", "root")
_SELECTED = ("expressions", "grouping_expressions", "aggregate_expressions", "pivot")
_OTHERS = ("condition", "join_condition", "order", "partition_exprs")
_CALLS = ("unresolved_function", "call_function")
_FOLDS = ("aggregate", "reduce")
_ONCE = 1.01  # with room for how computers add
_FIELD = "."  # behind the name of a variable: a field of it


@dataclass(frozen=True, slots=True)
class _Columns:
    """How large the columns of a relation are, and how many of them each column of a table has become."""

    named: Mapping[str, float] = field(default_factory=dict)
    other: float = 1.0
    copies: float = 1.0
    fields_apart: bool = False

    @property
    def largest(self) -> float:
        return max([self.other, *self.named.values()])

    @property
    def all_together(self) -> float:
        return (self.other + sum(self.named.values())) * self.copies

    def size_of(self, identifier: str) -> float:
        known = [self.named[part] for part in name_parts(identifier) if part in self.named]
        return max(known) if known else self.other


_NOTHING = _Columns(other=0.0, fields_apart=True)


def doubling_refusals(nodes: Sequence[Node]) -> Sequence[Refusal]:
    """What grows too large. The nodes are of a plan that is allowed otherwise, each at its own index."""
    look = _Look(nodes)
    look.columns(nodes[0])
    return look.found


class _Look:
    """One look at one plan."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.found: list[Refusal] = []
        self._inner: list[dict[str, list[Node]]] = [{} for _ in nodes]
        self._subqueries: dict[int, float] = {}
        for node in nodes[1:]:
            if node.parent is not None:
                label = node.label.partition("[")[0]
                self._inner[node.parent.index].setdefault(label, []).append(node)

    def columns(self, relation: Node) -> _Columns:
        """The columns that a relation has. What is too large is noted once, and then taken for small."""
        [node] = [each for label, [each] in self._inner[relation.index].items() if label != "common"]
        # References first: what the root says may stand on them.
        for reference in self._under(node, "references"):
            message: Any = reference.message
            self._subqueries[message.common.plan_id] = self.columns(reference).largest
        before = _merged(self.columns(each) for each in self._under(node, *_INPUTS))
        if before.copies > MOST_COLUMNS_OF_ONE:
            self._note(node, f"every column is there more than {MOST_COLUMNS_OF_ONE} times")
            before = replace(before, copies=1)
        return self._after(node, before)

    def _under(self, node: Node, *labels: str) -> list[Node]:
        return [inner for label in labels for inner in self._inner[node.index].get(label, ())]

    def _note(self, node: Node, problem: str) -> None:
        self.found.append(Refusal(node.path, problem, "put it together once, and in fewer steps"))

    def _after(self, node: Node, before: _Columns) -> _Columns:
        message: Any = node.message
        if node.kind in ("Project", "Aggregate"):
            return self._selected(node, before)
        if node.kind in ("ToDF", "Unpivot"):
            return _Columns(other=before.largest, copies=before.copies)
        new: dict[str, float] = {}
        for alias in self._under(node, "aliases"):
            new |= dict.fromkeys(_names(alias), self._sized(alias, before))
        for rename in getattr(message, "renames", ()):
            new[rename.new_col_name.lower()] = before.size_of(rename.col_name)
        for expression in self._under(node, *_OTHERS):
            self._sized(expression, before)
        return replace(before, named={**before.named, **new})

    def _selected(self, node: Node, before: _Columns) -> _Columns:
        named: dict[str, float] = {}
        other, stars = 1.0, 0
        for expression in self._under(node, *_SELECTED):
            if self._under(expression, "unresolved_star", "unresolved_regex"):
                stars += 1
                named, other = {**before.named, **named}, max(other, before.other)
                continue
            size = self._sized(expression, before)
            names = self._result_names(expression)
            named |= {name: max(size, named.get(name, 0)) for name in names}
            other = other if names else max(other, size)
        return _Columns(named, other, before.copies * max(stars, 1) if stars else 1.0)

    def _result_names(self, expression: Node) -> list[str]:
        if aliases := self._under(expression, "alias"):
            return _names(aliases[0])
        attributes: list[Any] = [each.message for each in self._under(expression, "unresolved_attribute")]
        return [name for each in attributes for name in name_parts(each.unparsed_identifier)[-1:]]

    def _sized(self, node: Node, columns: _Columns) -> float:
        size = self._size(node, columns, {})
        if size <= MOST_GROWTH:
            return size
        self._note(node, f"it is made of itself so often that it is more than {MOST_GROWTH} times as large")
        return 1.0

    def _size(self, node: Node, columns: _Columns, variables: Mapping[str, float]) -> float:
        """How large the value of an expression is, or of any message that holds expressions."""
        message: Any = node.message
        match node.kind:
            case "Expression.UnresolvedAttribute":
                size = columns.size_of(message.unparsed_identifier)
            case "Expression.UnresolvedStar" | "Expression.UnresolvedRegex":
                size = columns.all_together
            case "Expression.UnresolvedNamedLambdaVariable":
                size = _variable_size(list(message.name_parts), variables)
            case "SubqueryExpression":
                size = self._subqueries.get(message.plan_id, 1.0)
            case "Expression.UnresolvedFunction" | "CallFunction":
                size = self._call_size(node, columns, variables)
            case "Expression.Literal":
                size = literal_size(message)
            case _:
                size = self._size_of_parts(node, columns, variables)
        return size

    def _size_of_parts(self, node: Node, columns: _Columns, variables: Mapping[str, float]) -> float:
        message: Any = node.message
        if node.kind == "Expression.UnresolvedExtractValue":
            variable = list(message.child.unresolved_named_lambda_variable.name_parts)
            if variable:
                return _variable_size([variable[0], "field"], variables)
        labels = [label for label in self._inner[node.index] if label not in ("common", "type")]
        parts = [self._size(each, columns, variables) for each in self._under(node, *labels)]
        if node.kind == "Expression.UpdateFields":
            return sum(parts)
        is_collected = (
            node.kind == "Expression.Window" and _function_name(message.window_function) in COLLECTED
        )
        return max(parts, default=SMALL) * (LENGTH if is_collected else 1)

    def _call_size(self, node: Node, columns: _Columns, variables: Mapping[str, float]) -> float:
        message: Any = node.message
        name = message.function_name.lower()
        arguments = self._under(node, "arguments")
        lambdas = [each for each in arguments if self._under(each, "lambda_function")]
        plain: list[Any] = [each for each in arguments if each not in lambdas]
        sizes = [self._size(each, columns, variables) for each in plain]
        if not lambdas:
            messages = [each.message for each in plain]
            return call_size(name, messages, sizes, fields_apart=columns.fields_apart)
        if name in _FOLDS and not self._is_steady(lambdas[0]):
            return math.inf
        each_element = max(self._lambda_size(each, columns, variables) for each in lambdas)
        return SMALL if name in SMALL_RESULTS else sum(sizes) * max(each_element, 1)

    def _lambda_size(self, node: Node, columns: _Columns, variables: Mapping[str, float]) -> float:
        """What is made of each element. A column from outside is there again for every one of them."""
        [inner] = self._under(node, "lambda_function")
        [body] = self._under(inner, "function")
        outside = _Columns(
            {name: size * LENGTH for name, size in columns.named.items()}, columns.other * LENGTH
        )
        around = {name: size * LENGTH for name, size in variables.items()}
        return self._size(body, outside, around | dict.fromkeys(_variables(inner), 1.0))

    def _is_steady(self, node: Node) -> bool:
        """Whether a state that goes round once for each element never comes back as two of itself.

        A new state may hold the old one once, and each of its fields one of the old fields.
        """
        [inner] = self._under(node, "lambda_function")
        [body] = self._under(inner, "function")
        [state, *_] = _variables(inner) or [""]

        def share(part: Node, *, whole: float, fields: float) -> float:
            sizes = {state: whole, state + _FIELD: fields}
            none = dict.fromkeys(sizes, 0.0)
            return self._size(part, _NOTHING, sizes) - self._size(part, _NOTHING, none)

        calls = self._under(body, *_CALLS)
        is_struct = _function_name(body.message) in ("struct", "named_struct")
        parts = self._under(calls[0], "arguments") if is_struct else [body]
        return share(body, whole=1, fields=0) <= _ONCE and all(
            share(part, whole=1, fields=1) <= _ONCE for part in parts
        )


def _merged(inputs: Iterable[_Columns]) -> _Columns:
    merged = _Columns()
    for each in inputs:
        names = merged.named.keys() | each.named.keys()
        merged = _Columns(
            {name: max(merged.named.get(name, 1.0), each.named.get(name, 1.0)) for name in names},
            max(merged.other, each.other),
            max(merged.copies, each.copies),
        )
    return merged


def _variables(lambda_function: Node) -> list[str]:
    message: Any = lambda_function.message
    return [each.name_parts[0] for each in message.arguments if each.name_parts]


def _variable_size(parts: Sequence[str], variables: Mapping[str, float]) -> float:
    name = parts[0] if parts else ""
    whole = variables.get(name, 1.0)
    return variables.get(name + _FIELD, whole) if len(parts) > 1 else whole


def _function_name(expression: Any) -> str:
    kind = expression.WhichOneof("expr_type")
    return getattr(expression, kind).function_name.lower() if kind in _CALLS else ""


def _names(alias: Node) -> list[str]:
    message: Any = alias.message
    return [name.lower() for name in message.name]
