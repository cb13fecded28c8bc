"""What lines are made of: text in a style, aligned by the cells it takes on a screen."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, chop_cells, set_cell_size

from hakiri.cli.board.words import Signs

QUIET, ALERT, WRONG, GOOD, MOVING = "dim", "yellow", "red", "green", "cyan"
GAP = "  "
INDENT = "  "
WIDEST_NAME = 32
FEWEST_CELLS_AROUND_DOTS = 2


class Part(NamedTuple):
    """Some text in one style of rich's."""

    text: str
    style: str = ""


Line: TypeAlias = tuple[Part, ...]


def text_of(line: Line) -> str:
    """The line without its styles."""
    return "".join(part.text for part in line).rstrip()


def padded(text: str, cells: int, *, is_left: bool = False) -> str:
    """`text` with blanks up to so many cells, in front of it or behind."""
    blanks = " " * (cells - cell_len(text))
    return text + blanks if is_left else blanks + text


def shortened(text: str, cells: int, signs: Signs) -> str:
    """`text` in at most so many cells, cut in the middle: the end tells chunks apart as much as the start."""
    if cell_len(text) <= cells:
        return text
    kept = cells - len(signs.dots)
    if kept < FEWEST_CELLS_AROUND_DOTS:
        return set_cell_size(text, max(cells, 0))
    tail = chop_cells(text[::-1], kept // 2)[0][::-1]
    return f"{set_cell_size(text, kept - cell_len(tail))}{signs.dots}{tail}"


def clipped(text: str, cells: int, signs: Signs) -> str:
    """`text` in at most so many cells, cut at the end: a sentence is read from its start."""
    if cell_len(text) <= cells:
        return text
    kept = cells - len(signs.dots)
    return set_cell_size(text, kept).rstrip() + signs.dots if kept > 0 else set_cell_size(text, max(cells, 0))


def more_line(number: int, noun: str, signs: Signs) -> Line:
    """`… and 10 more`."""
    words = f"{INDENT}{signs.dots} and {number:,} more"
    return (Part(f"{words} {noun}{'s' * (number > 1)}" if noun else words, QUIET),)
