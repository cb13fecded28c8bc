"""Where every value of a manifest stands in its text: the common words of the TOML and the JSON scanner."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

KeyPath = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_$-]+")


class SpotKind(Enum):
    """How a value is written, which decides how it is changed or taken out."""

    ROOT = auto()
    ENTRY = auto()  # `key = value` on a line of its own (TOML)
    MEMBER = auto()  # a key and its value between braces
    ITEM = auto()  # a value between brackets
    HEADER = auto()  # `[table]` or `[[table]]` (TOML)
    IMPLIED = auto()  # the `a` of `a.b = 1`, or of `[a.b]` (TOML)


@dataclass(frozen=True, slots=True)
class Spot:
    """One value in the text: `start` is where its key begins, or the value itself when it has no key."""

    kind: SpotKind
    start: int
    value_start: int
    value_end: int


Spots = Mapping[KeyPath, Spot]


def line_of(text: str, offset: int) -> int:
    """The line, counted from one, on which this offset lies."""
    return text.count("\n", 0, offset) + 1


def nearest_spot(spots: Spots, path: KeyPath) -> Spot | None:
    """The spot of this path, or of its closest ancestor that is written down."""
    for length in range(len(path), -1, -1):
        spot = spots.get(path[:length])
        if spot is not None:
            return spot
    return None


def dotted(path: Iterable[str | int]) -> str:
    """A path as people write it: `pipeline[0].source.config."a key"`."""
    out = ""
    for part in path:
        if isinstance(part, int):
            out += f"[{part}]"
            continue
        word = part if _PLAIN_KEY.fullmatch(part) else '"' + part.replace('"', '\\"') + '"'
        out += f".{word}" if out else word
    return out
