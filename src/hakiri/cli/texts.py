"""Texts and flags of the command line are what they are: no library need be loaded to convert them.

Typer converts every value with pydantic, which takes longer to load than most commands take to answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_AS_TYPED = (str, list[str], bool)
_CONVERTER = "_runtime_param"


class _AsTheyAre:
    """Stands in the place of typer's converter."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        is_list = param.multiple or param.nargs == -1
        return value if not is_list else () if value is None else list(value)


def spared(params: Sequence[Any]) -> list[Any]:
    """The same parameters; those that hold texts or flags do without a conversion.

    The environment has only texts, also for flags: a parameter that is read from there is converted.
    """
    for param in params:
        kind = getattr(param, "type_descriptor", None)
        if (
            kind is not None
            and kind.annotation in _AS_TYPED
            and kind.parameter_info.parser is None
            and not param.envvar
        ):
            vars(param)[_CONVERTER] = _AsTheyAre()
    return list(params)
