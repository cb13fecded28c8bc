"""How the process of a command ends."""

from __future__ import annotations

import atexit
import os
import sys


class Ending:
    """Ends the process as the last thing that is done at exit, before Python takes itself apart.

    Threads of libraries may still be at work then: Arrow's read ahead of what was asked for, and nobody waits
    for a source that never answers. They cannot be ended from outside, and one that wants Python while that
    is taken apart aborts the process («terminate called without an active exception», exit code 134), after
    the answer was given. Nothing is lost: blocks have closed what was open, all other threads were waited
    for, and what else is called at exit was called before this, which is registered first.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        atexit.register(self._end)

    def _end(self) -> None:
        if self.code is None:
            return  # something has escaped, which Python tells
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                continue  # closed by whoever started us, or nobody reads it any more
        os._exit(self.code)
