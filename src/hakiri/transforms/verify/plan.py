"""Verifying a whole plan: nothing outside the allow list may run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hakiri.transforms.verify.doubling import doubling_refusals
from hakiri.transforms.verify.errors import PlanRefused, Refusal
from hakiri.transforms.verify.expressions import EXPRESSION_CHECKS
from hakiri.transforms.verify.growth import growth_refusals
from hakiri.transforms.verify.limits import LARGEST_PLAN_BYTES, MOST_RELATIONS
from hakiri.transforms.verify.relations import RELATION_CHECKS
from hakiri.transforms.verify.scope import Node, Scope
from hakiri.transforms.verify.walk import walked

if TYPE_CHECKING:
    from pyspark.sql.connect.proto import Relation

_MOST_GUESSES = 20
_POINTERS = ("Expression.UnresolvedAttribute", "Expression.UnresolvedStar", "Expression.UnresolvedRegex")
_CHECKS = {**RELATION_CHECKS, **EXPRESSION_CHECKS}


def verify_plan(relation: Relation, *, inputs: Collection[str]) -> None:
    """Return only if every node, field, function, type and number of the plan is allowed.

    The plan may read the inputs, by exactly these names, and nothing else. Raises PlanRefused with all that
    is wrong; what stands inside a refused node is not looked at.
    """
    if relation.ByteSize() > LARGEST_PLAN_BYTES:
        problem = f"the plan is larger than {LARGEST_PLAN_BYTES} bytes"
        raise PlanRefused([Refusal("root", problem, "keep large literals in a reference table")])
    refusals: list[Refusal] = []
    nodes = walked(relation, refusals)
    for node in nodes:
        refusals.extend(_checked(node, inputs, may_guess=len(refusals) < _MOST_GUESSES))
    refusals.extend(_lost_columns(nodes))
    refusals.extend(_unlike_twins(nodes))
    refusals.extend(growth_refusals(nodes))
    if sum(node.kind == "Relation" for node in nodes) > MOST_RELATIONS:
        problem = f"the plan has more than {MOST_RELATIONS} relations"
        refusals.append(Refusal("root", problem, "read a table once and join fewer"))
    if not refusals:  # only of a plan that is whole, and not too deep
        refusals.extend(doubling_refusals(nodes))
    if refusals:
        raise PlanRefused(refusals)


def _checked(node: Node, inputs: Collection[str], *, may_guess: bool) -> Iterator[Refusal]:
    check = _CHECKS.get(node.kind)
    if check is None:
        return
    for trouble in check(node.message, Scope(node, inputs, may_guess)):
        path = f"{node.path}.{trouble.field}" if trouble.field else node.path
        yield Refusal(path, trouble.problem, trouble.hint)


def _lost_columns(nodes: Sequence[Node]) -> Iterator[Refusal]:
    """Columns of a frame that the plan does not have."""
    relations: list[Any] = [node.message for node in nodes if node.kind == "Relation"]
    known = {each.common.plan_id for each in relations if each.common.HasField("plan_id")}
    for node in nodes:
        message: Any = node.message
        if node.kind in _POINTERS and message.HasField("plan_id") and message.plan_id not in known:
            yield Refusal(
                node.path,
                "it is a column of a frame that is not in the plan",
                "use columns of the frames that the step reads or joins",
            )


def _unlike_twins(nodes: Sequence[Node]) -> Iterator[Refusal]:
    """Subqueries of one id that are not the same.

    Which of them Spark takes is its own affair, and with the wrong one a subquery could come to hold itself.
    """
    first: dict[int, bytes] = {}
    for node in nodes:
        if not node.label.startswith("references[") or node.kind != "Relation":
            continue
        message: Any = node.message
        said = message.SerializeToString(deterministic=True)
        if first.setdefault(message.common.plan_id, said) != said:
            yield Refusal(
                node.path,
                f"there is another subquery {message.common.plan_id} that says something else",
                "run `hakiri compile` again",
            )
