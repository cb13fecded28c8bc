"""What multiplies, multiplied: a list of a thousand lists of a thousand texts, repeated a thousand times.

Each number alone may be small enough. On any one way through the plan, from the table to the result, their
product must be too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hakiri.transforms.verify.errors import Refusal
from hakiri.transforms.verify.limits import MOST_GROWTH
from hakiri.transforms.verify.literals import bounds, is_short_literal
from hakiri.transforms.verify.sequences import sequence_length
from hakiri.transforms.verify.windows import overlaps

if TYPE_CHECKING:
    from hakiri.transforms.verify.scope import Node

_SEQUENCE_ARGUMENTS = (2, 3)


def growth_refusals(nodes: Sequence[Node]) -> Iterator[Refusal]:
    """Where the product grows too large. Every node stands behind its parent, at its own index."""
    # Values beside each other do not multiply. Relations do, as each row of the one may meet each of the
    # other, and so does what is done for each element of a list.
    largest = [1.0] * len(nodes)
    product = [1.0] * len(nodes)
    for node in reversed(nodes):
        growth = _own_growth(node) * largest[node.index] * product[node.index]
        if growth > MOST_GROWTH:
            yield Refusal(
                node.path,
                f"with all that it is made of it makes more than {MOST_GROWTH} of every row or value",
                "repeat less, or in fewer steps",
            )
            growth = 1  # said once, and not again of everything around it
        if node.parent is None:
            continue
        above = node.parent.index
        if node.kind == "Relation" or _is_lambda(node):
            product[above] *= growth
        else:
            largest[above] = max(largest[above], growth)


def _is_lambda(node: Node) -> bool:
    message: Any = node.message
    return node.kind == "Expression" and message.WhichOneof("expr_type") == "lambda_function"


def _own_growth(node: Node) -> float:
    if node.kind not in ("Expression.UnresolvedFunction", "CallFunction"):
        return 1
    message: Any = node.message
    growth = _function_growth(message.function_name.lower(), message.arguments)
    # What has no end in the plan is refused by the function's own rule.
    return growth if 1 <= growth < math.inf else 1


def _function_growth(name: str, arguments: Sequence[Any]) -> float:
    if name in ("repeat", "array_repeat") and len(arguments) > 1 and not is_short_literal(arguments[0]):
        return bounds(arguments[1])[1]
    if name == "sequence" and len(arguments) in _SEQUENCE_ARGUMENTS:
        return sequence_length(arguments)
    return overlaps(arguments) if name == "window" else 1
