"""The command line: parse, call one function of a room, render. No logic of its own."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; every error is told, none escapes.

    Without arguments it is the command line of this process, which then also ends as it should.
    """
    if argv is not None:
        return _loaded_entry()(argv)
    from hakiri.cli.ending import Ending

    ending = Ending()
    ending.code = _loaded_entry()(None)
    return ending.code


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
