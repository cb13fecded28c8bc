"""Keeping pandas out of a command that does not use it (ADR-0004).

Spark's Connect client imports pandas at its top, though only `toPandas` and `createDataFrame` of a pandas
frame need it, and that import is half of the client's own start. Stand-ins answer for it while the client
is imported; whoever imports pandas later gets the real one, and so does Spark when it first uses it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import Any


class _LazyModule(ModuleType):
    """Answers every name that it was not given from the real module, loading it for that."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by the import system, which can do without
            raise AttributeError(name)
        return getattr(import_module(self.__name__), name)


class _IsRealFrame(type):
    def __instancecheck__(cls, value: object) -> bool:
        pandas = sys.modules.get("pandas")  # while nobody has loaded it, nobody can have made a frame
        return pandas is not None and isinstance(value, pandas.DataFrame)


class _Frame(metaclass=_IsRealFrame):
    """Stands for `pandas.DataFrame` in annotations and in `isinstance`."""


@contextmanager
def pandas_deferred() -> Iterator[None]:
    """Import Spark's client inside: it will hold stand-ins in place of pandas, unless that is loaded."""
    if "pandas" in sys.modules:
        yield
        return
    stand_ins = {
        name: _LazyModule(name)
        for name in ("pandas", "pandas.api", "pandas.api.types", "pandas.core", "pandas.core.frame")
    }
    stand_ins["pandas"].__dict__.update(__version__=version("pandas"), DataFrame=_Frame)
    stand_ins["pandas.core.frame"].__dict__.update(DataFrame=_Frame)
    for name in ("is_datetime64_dtype", "is_timedelta64_dtype"):
        stand_ins["pandas.api.types"].__dict__[name] = _forwarding("pandas.api.types", name)
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name in stand_ins:
            del sys.modules[name]


def _forwarding(module: str, name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(import_module(module), name)(*args, **kwargs)

    return call
