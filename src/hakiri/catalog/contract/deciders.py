"""Who decides: the names under which decisions are recorded."""

from __future__ import annotations

import re

_DECIDERS = re.compile(r"auto|(?:operator|agent):\S+")


def check_decider(by: str) -> None:
    """Raise ValueError unless it is `auto`, `operator:<id>` or `agent:<id>`."""
    if not _DECIDERS.fullmatch(by):
        raise ValueError(f"`{by}` decides nothing: auto, operator:<id> or agent:<id> does")
