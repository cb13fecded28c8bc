"""A terminal that a test can look at."""

from __future__ import annotations

import os
import pty
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass
class Terminal:
    """The end that programs write to, and all that reached the screen."""

    stream: TextIO
    screen: int
    shown: str = field(default="")

    def wait_for(self, text: str) -> str:
        """Read on until the text was shown; everything that was, without control signs."""
        while text not in CONTROL.sub("", self.shown):
            self.shown += os.read(self.screen, 4096).decode(errors="replace")
        return CONTROL.sub("", self.shown)


@contextmanager
def terminal() -> Iterator[Terminal]:
    """A terminal whose stream is closed afterwards; read it before it is full."""
    ours, theirs = pty.openpty()
    try:
        with os.fdopen(theirs, "w", encoding="utf-8") as stream:
            yield Terminal(stream=stream, screen=ours)
    finally:
        os.close(ours)
