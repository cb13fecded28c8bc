"""The command line: parse, call one function of a room, render. No logic of its own."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; every error is told, none escapes."""
    return _loaded_entry()(argv)


@cache
def _loaded_entry() -> Callable[[Sequence[str] | None], int]:
    import gc

    # Starting makes many objects and no garbage; looking for some would cost a tenth of the time.
    gc.disable()
    try:
        from hakiri.cli.entry import run
    finally:
        gc.freeze()
        gc.enable()
    return run
