"""What an author writes: `@hk.pipeline("orders")` on a function from DataFrame to DataFrame."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Transform = Callable[[DataFrame], DataFrame]
else:
    Transform = Callable

PIPELINE_MARK = "__hakiri_pipelines__"
_Function = TypeVar("_Function", bound=Callable[..., object])


def pipeline(pipeline_id: str) -> Callable[[_Function], _Function]:
    """Declare that a function transforms the rows of this pipeline. The function itself stays as it is.

    One function may serve several pipelines: decorate it once for each.
    """
    # Without this, a decorator that lost its parentheses would pass for «no transform».
    if not isinstance(pipeline_id, str):
        raise TypeError('@hk.pipeline takes the id of a pipeline, as in @hk.pipeline("orders")')

    def mark(function: _Function) -> _Function:
        if not isinstance(function, FunctionType):
            raise TypeError(f"@hk.pipeline stands on a function, not on a {type(function).__name__}")
        setattr(function, PIPELINE_MARK, (pipeline_id, *getattr(function, PIPELINE_MARK, ())))
        return function

    return mark
