"""«Did you mean …?»: the known word that a mistyped one stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_WORD = 64
SHORTEST_PREFIX = 3
MOST_EDITS = 3
LETTERS_PER_EDIT = 3


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was most likely meant, or None if none is near enough to be worth saying.

    Sees through case, `-` for `_`, plurals, swapped parts (`default_x`, `x_default`), a forgotten section
    (`master` for `engine.master`), unfinished words, and one slip for every three letters.
    The answer does not depend on the order of `known`.
    """
    if not word or len(word) > LONGEST_WORD:
        return None
    ranked = [(rank, len(name), name) for name in known if (rank := _rank(word, name)) is not None]
    return min(ranked)[2] if ranked else None


def _rank(word: str, name: str) -> int | None:
    """How far the name is from the word: less is nearer, None is too far."""
    written, wanted = _folded(word), _folded(name)
    if written == wanted:
        return 0
    if _singular(written) == _singular(wanted) or sorted(written.split("_")) == sorted(wanted.split("_")):
        return 1
    if wanted.endswith(f".{written}"):
        return 2
    most = min(MOST_EDITS, max(len(written), len(wanted)) // LETTERS_PER_EDIT)
    edits = _edits(written, wanted, most)
    if edits <= most:
        return 2 + edits
    is_unfinished = len(written) >= SHORTEST_PREFIX and wanted.startswith(written)
    is_overlong = len(wanted) >= SHORTEST_PREFIX and written.startswith(f"{wanted}_")
    return 3 + MOST_EDITS if is_unfinished or is_overlong else None


def _folded(word: str) -> str:
    return word.casefold().replace("-", "_").replace(" ", "_")


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("xes", "ses", "ches", "shes")):
        return word[:-2]
    return word.removesuffix("s")


def _edits(left: str, right: str, most: int) -> int:
    """Letters added, dropped, changed or swapped with their neighbour; above `most` any larger number."""
    if abs(len(left) - len(right)) > most:
        return most + 1
    before_last: list[int] = []
    last = list(range(len(right) + 1))
    for row, a in enumerate(left, start=1):
        current = [row]
        for column, b in enumerate(right, start=1):
            cost = min(last[column] + 1, current[-1] + 1, last[column - 1] + (a != b))
            is_swap = row > 1 and column > 1 and a == right[column - 2] and b == left[row - 2]
            current.append(min(cost, before_last[column - 2] + 1) if is_swap else cost)
        if min(current) > most:
            return most + 1
        before_last, last = last, current
    return last[-1]
