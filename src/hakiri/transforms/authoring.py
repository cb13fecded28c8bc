"""What an author writes: `@hk.pipeline("orders")` on a function from DataFrame to DataFrame."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Transform = Callable[..., DataFrame]
else:
    Transform = Callable

PIPELINE_MARK = "__hakiri_pipelines__"
_Function = TypeVar("_Function", bound=Callable[..., object])


class Target(NamedTuple):
    """What a step is for: a pipeline, and one of its tables or all of them."""

    pipeline: str
    table: str | None = None


def pipeline(pipeline_id: str, *, table: str | None = None) -> Callable[[_Function], _Function]:
    """Declare that a function transforms the rows of this pipeline. The function itself stays as it is.

    With `table`, only the rows of that table, by its name at the source. The function's first parameter is
    the rows; every further one is a reference table of the pipeline, by its name. One function may serve
    several pipelines: decorate it once for each.
    """
    # Without this, a decorator that lost its parentheses would pass for «no transform».
    if not isinstance(pipeline_id, str) or not isinstance(table, str | None):
        raise TypeError('@hk.pipeline takes the id of a pipeline, as in @hk.pipeline("orders")')

    def mark(function: _Function) -> _Function:
        if not isinstance(function, FunctionType):
            raise TypeError(f"@hk.pipeline stands on a function, not on a {type(function).__name__}")
        target = Target(pipeline_id, table)
        setattr(function, PIPELINE_MARK, (target, *getattr(function, PIPELINE_MARK, ())))
        return function

    return mark
