"""The statements in the `.sql` files, by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_HEAD = re.compile(r"^-- (\w+) --$", re.MULTILINE)


def statements_in(text: str) -> dict[str, str]:
    """The statements of one file: each begins with a line `-- name --` and ends before the next such line."""
    _, *parts = _HEAD.split(text)
    names, bodies = parts[::2], parts[1::2]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise ValueError(f"statements with the same name: {', '.join(sorted(repeated))}")
    return dict(zip(names, (body.strip() for body in bodies), strict=True))


@cache
def statements_for(backend: str) -> Mapping[str, str]:
    """All statements of a backend: those that all share, and its own, which stand in for a shared one.

    Shared statements name tables as `main.<table>`, which SQLite takes as it is.
    """
    shared: dict[str, str] = {}
    for file in sorted(files("hakiri.catalog.sql").joinpath("queries").iterdir(), key=lambda file: file.name):
        shared |= statements_in(file.read_text("utf-8"))
    own = statements_in(files(f"hakiri.catalog.{backend}").joinpath("queries.sql").read_text("utf-8"))
    return shared | own
