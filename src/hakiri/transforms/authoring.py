"""What an author writes: `@hk.pipeline("orders")` on a function from DataFrame to DataFrame."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Transform = Callable[[DataFrame], DataFrame]
else:
    Transform = Callable

PIPELINE_MARK = "__hakiri_pipeline__"
_Function = TypeVar("_Function", bound=Callable[..., object])


def pipeline(pipeline_id: str) -> Callable[[_Function], _Function]:
    """Declare that a function transforms the rows of this pipeline. The function itself stays as it is."""

    def mark(function: _Function) -> _Function:
        setattr(function, PIPELINE_MARK, pipeline_id)
        return function

    return mark
