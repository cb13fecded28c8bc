"""What can be known about a value before any row is seen: literals, and numbers between two bounds."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hakiri.transforms.verify.limits import MOST_ELEMENTS
from hakiri.transforms.verify.words import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql.connect.proto import Expression

Bounds = tuple[float, float]
ANY: Bounds = (-math.inf, math.inf)

_CALLS = ("unresolved_function", "call_function")
_INTEGERS = ("byte", "short", "integer", "long")
# As large as what is already in memory. -1 is Spark's size of a list that is not there.
_MOST_MEASURED = MOST_ELEMENTS // 2  # so that a little more than it is within the limit too
_MEASURES = words("size cardinality array_size length len char_length character_length octet_length")
_EXTREMES = ("least", "greatest")
_REMAINDERS = ("%", "mod", "pmod")
_BETWEEN_TWO: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
_ARITHMETIC = (*_REMAINDERS, *_BETWEEN_TWO, "negative")
_TWO = 2
_DEEPEST_BOUNDS = 20
_SHORT = 16


def function_of(expression: Expression) -> str | None:
    """The name of the function that an expression calls, in lower case; None for anything else."""
    kind = expression.WhichOneof("expr_type")
    if kind not in _CALLS:
        return None
    return str(getattr(expression, kind).function_name).lower()


def arguments_of(expression: Expression) -> Sequence[Expression]:
    kind = expression.WhichOneof("expr_type")
    return getattr(expression, kind).arguments if kind in _CALLS else ()


def literal_of(expression: Expression) -> Any:
    """The literal's own message, or None."""
    return expression.literal if expression.WhichOneof("expr_type") == "literal" else None


def literal_text(expression: Expression) -> str | None:
    literal = literal_of(expression)
    is_text = literal is not None and literal.WhichOneof("literal_type") == "string"
    return str(literal.string) if is_text else None


def is_short_literal(expression: Expression) -> bool:
    """Whether a value is so small that a list of it is as small as a list of numbers."""
    text = literal_text(expression)
    return literal_number(expression) is not None if text is None else len(text) <= _SHORT


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
    if depth > _DEEPEST_BOUNDS:
        return ANY
    literal = literal_of(expression)
    if literal is not None:
        kind = literal.WhichOneof("literal_type")
        return (getattr(literal, kind),) * 2 if kind in _INTEGERS else ANY
    name = function_of(expression)
    if name in _MEASURES:
        return (-1, _MOST_MEASURED) if by_data else ANY
    if name in _EXTREMES or name in _ARITHMETIC:
        arguments = list(arguments_of(expression))
        each = [bounds(argument, by_data=by_data, depth=depth + 1) for argument in arguments]
        return _extreme(name, arguments, each) if name in _EXTREMES else _calculated(name, each)
    return ANY


def _extreme(name: str, arguments: Sequence[Expression], each: Sequence[Bounds]) -> Bounds:
    if not each:
        return ANY
    # Spark passes over NULLs, so only an argument that cannot be NULL limits what the others say.
    sure = [both for argument, both in zip(arguments, each, strict=True) if literal_of(argument) is not None]
    lows, highs = [low for low, _ in each], [high for _, high in each]
    if name == "least":
        return min(lows), min([max(highs), *(high for _, high in sure)])
    return max([min(lows), *(low for low, _ in sure)]), max(highs)


def _calculated(name: str, each: Sequence[Bounds]) -> Bounds:
    if name in _REMAINDERS and len(each) == _TWO:
        most = max(abs(bound) for bound in each[1])
        return -most, most
    if not all(math.isfinite(bound) for both in each for bound in both):
        return ANY
    if name in ("negative", "-") and len(each) == 1:
        return -each[0][1], -each[0][0]
    if name not in _BETWEEN_TWO or len(each) != _TWO:
        return ANY
    corners = [_BETWEEN_TWO[name](a, b) for a in each[0] for b in each[1]]
    return min(corners), max(corners)
