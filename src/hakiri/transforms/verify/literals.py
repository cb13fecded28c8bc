"""What can be known about a value before any row is seen: literals, and numbers between two bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hakiri.transforms.verify.limits import MOST_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql.connect.proto import Expression

Bounds = tuple[float, float]
ANY: Bounds = (-math.inf, math.inf)

_INTEGERS = ("byte", "short", "integer", "long")
# As large as what is already in memory. -1 is Spark's size of a list that is not there.
_MEASURES = frozenset(
    "size cardinality array_size length len char_length character_length octet_length".split()
)
_DEEPEST_BOUNDS = 20


def function_of(expression: Expression) -> str | None:
    """The name of the function that an expression calls, in lower case; None for anything else."""
    kind = expression.WhichOneof("expr_type")
    if kind not in ("unresolved_function", "call_function"):
        return None
    return str(getattr(expression, kind).function_name).lower()


def arguments_of(expression: Expression) -> Sequence[Expression]:
    kind = expression.WhichOneof("expr_type")
    return getattr(expression, kind).arguments if function_of(expression) is not None else ()


def literal_of(expression: Expression) -> Any:
    """The literal's own message, or None."""
    return expression.literal if expression.WhichOneof("expr_type") == "literal" else None


def literal_text(expression: Expression) -> str | None:
    literal = literal_of(expression)
    is_text = literal is not None and literal.WhichOneof("literal_type") == "string"
    return str(literal.string) if is_text else None


def literal_number(expression: Expression) -> float | None:
    """The number that a literal is, also a decimal; None for everything else and for what is no number."""
    literal = literal_of(expression)
    kind = literal.WhichOneof("literal_type") if literal is not None else None
    if kind in (*_INTEGERS, "float", "double"):
        number = getattr(literal, kind)
        return number if math.isfinite(number) else None
    if kind == "decimal":
        try:
            number = float(literal.decimal.value)
        except ValueError:
            return None
        return number if math.isfinite(number) else None
    return None


def literal_integer(expression: Expression) -> int | None:
    low, high = bounds(expression)
    return int(low) if low == high and math.isfinite(low) else None


def bounds(expression: Expression, *, by_data: bool = False, depth: int = 0) -> Bounds:
    """The least and the greatest integer that an expression can be; infinite where a row decides.

    `by_data` takes the size of a list or a text for a number within limits: what is measured is in memory.
    """

    def of(inner: Expression) -> Bounds:
        return bounds(inner, by_data=by_data, depth=depth + 1)

    if depth > _DEEPEST_BOUNDS:
        return ANY
    kind = expression.WhichOneof("expr_type")
    if kind == "literal":
        literal_kind = expression.literal.WhichOneof("literal_type")
        if literal_kind not in _INTEGERS:
            return ANY
        number = getattr(expression.literal, literal_kind)
        return number, number
    name = function_of(expression)
    arguments = list(arguments_of(expression))
    if name in _MEASURES:
        return (-1, MOST_ELEMENTS) if by_data else ANY
    if name in ("least", "greatest") and arguments:
        return _extreme(name, arguments, [of(argument) for argument in arguments])
    if name in ("negative", "-") and len(arguments) == 1:
        low, high = of(arguments[0])
        return -high, -low
    if name in ("+", "-", "*") and len(arguments) == 2:  # noqa: PLR2004 - an operator between two
        return _combined(name, of(arguments[0]), of(arguments[1]))
    if name in ("%", "mod", "pmod") and len(arguments) == 2:  # noqa: PLR2004
        low, high = of(arguments[1])
        most = max(abs(low), abs(high))
        return -most, most
    return ANY


def _extreme(name: str, arguments: Sequence[Expression], each: Sequence[Bounds]) -> Bounds:
    # Spark passes over NULLs, so only an argument that cannot be NULL limits what the others say.
    sure = [both for argument, both in zip(arguments, each, strict=True) if literal_of(argument) is not None]
    lows, highs = [low for low, _ in each], [high for _, high in each]
    if name == "least":
        return min(lows), min([max(highs), *(high for _, high in sure)])
    return max([min(lows), *(low for low, _ in sure)]), max(highs)


def _combined(name: str, left: Bounds, right: Bounds) -> Bounds:
    if not all(math.isfinite(bound) for bound in (*left, *right)):
        return ANY
    if name == "*":
        corners = [a * b for a in left for b in right]
        return min(corners), max(corners)
    if name == "-":
        return left[0] - right[1], left[1] - right[0]
    return left[0] + right[0], left[1] + right[1]
