"""Keeping pandas out of processes that only use Arrow (ADR-0004).

The first list of values that Arrow is given has it load pandas, to see whether that is one of its series:
half a second, in every command that reads a source and in every Python process of Spark. Arrow that has
looked for pandas in vain takes values for what they are, and looks once more when it is asked for a frame.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_PANDAS = "pandas"


def arrow_without_pandas() -> None:
    """Have Arrow leave pandas alone in this process, until somebody else loads it."""
    if _PANDAS in sys.modules or any(isinstance(finder, _Watch) for finder in sys.meta_path):
        return
    import pyarrow as pa

    watch = _Watch(hidden_from=threading.get_ident())
    sys.meta_path.insert(0, watch)
    try:
        pa.array([])
    finally:
        watch.hidden_from = None


class _Watch(MetaPathFinder):
    """Hides pandas from one thread at first. Then tells Arrow of it: values may be series from then on."""

    def __init__(self, hidden_from: int | None) -> None:
        self.hidden_from = hidden_from
        self.has_told = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _PANDAS or self.has_told:
            return None
        if threading.get_ident() == self.hidden_from:
            raise ModuleNotFoundError(f"no {_PANDAS} for now", name=_PANDAS)
        self.has_told = True  # it stays in the list: other threads may be going through that
        spec = find_spec(_PANDAS)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            load = loader.exec_module

            def load_and_tell(module: ModuleType) -> None:
                from pyarrow.lib import _pandas_api

                load(module)
                _pandas_api.pd  # noqa: B018 - has it look once more

            loader.exec_module = load_and_tell
        return spec
