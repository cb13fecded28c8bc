"""The way to a value inside a record, as one text: `user.login`, `items[3].price`.

Names are joined by dots. In a name, a dot, an opening bracket and a backslash are written with a backslash
before them, so that every way has one text and every text one way: the field `a.b` is `a\\.b`.
"""

from __future__ import annotations

import re

_SIGNS = re.compile(r"[.\[\\]")
_CHARACTER = re.compile(r"\\?.", re.DOTALL)


def field_path(parent: str | None, name: str) -> str:
    """The path of a field; `parent` is None for a field of the record itself."""
    return joined(parent, escaped(name))


def escaped(name: str) -> str:
    return _SIGNS.sub(r"\\\g<0>", name)


def joined(parent: str | None, escaped_name: str) -> str:
    return escaped_name if parent is None else f"{parent}.{escaped_name}"


def item_path(parent: str, index: int) -> str:
    return f"{parent}[{index}]"


def names_in(path: str) -> tuple[str, ...]:
    """The names that a path without indexes joins; the empty path has none."""
    if not path:
        return ()
    names = [""]
    for character in _CHARACTER.findall(path):
        if character == ".":
            names.append("")
        else:
            names[-1] += character[-1]
    return tuple(names)
