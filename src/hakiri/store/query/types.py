"""DuckDB's words for types, taken apart. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hakiri.store.query.lexing import Piece, PieceKind, pieces

_ENDS_IN_BRACKETS = re.compile(r"\[\d*\]$")


@dataclass(frozen=True, slots=True)
class Member:
    """A part of a type. Those of maps are called `key` and `value`, those of lists and tuples nothing."""

    name: str
    type: str


def base_of(kind: str) -> str:
    """The type without what it is made of: `DECIMAL`, `STRUCT`; `LIST` for all that ends in brackets."""
    return "LIST" if kind.endswith("]") else kind.partition("(")[0].strip()


def members_of(kind: str) -> tuple[Member, ...]:
    """What a list, a map, a struct or a tuple is made of; none for what is not one of these."""
    base = base_of(kind)
    if base == "LIST":
        return (Member("", _ENDS_IN_BRACKETS.sub("", kind)),)
    if base not in {"MAP", "STRUCT", "TUPLE"}:
        return ()
    parts = _parts(kind)
    types = [_text(kind, part) for part in parts]
    if base == "MAP":
        return tuple(map(Member, ("key", "value"), types))
    # Before DuckDB 2, a tuple was a struct without names.
    if base == "TUPLE" or any(map(_is_type_alone, parts)):
        return tuple(Member("", each) for each in types)
    return tuple(Member(part[0].said, _text(kind, part[1:])) for part in parts)


def _is_type_alone(part: Sequence[Piece]) -> bool:
    """Whether it is `INTEGER`, `DECIMAL(4,1)`, `DATE[]` or `TIME WITH TIME ZONE`, and not a name with one."""
    return len(part) == 1 or part[1].kind is PieceKind.SIGN or part[1].is_word("WITH")


def _parts(kind: str) -> list[list[Piece]]:
    """What stands between the outer brackets, by its commas."""
    depth = 0
    parts: list[list[Piece]] = [[]]
    for piece in pieces(kind):
        depth -= piece.is_sign(")")
        if depth == 1 and piece.is_sign(","):
            parts.append([])
        elif depth:
            parts[-1].append(piece)
        depth += piece.is_sign("(")
    return [part for part in parts if part]


def _text(kind: str, part: Sequence[Piece]) -> str:
    return kind[part[0].start : part[-1].end]
