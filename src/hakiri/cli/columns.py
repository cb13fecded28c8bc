"""Rows under their titles, as wide as the screen: what matters least gives way where it is narrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rich.cells import cell_len

from hakiri.cli.board.parts import GAP, clipped, padded, shortened
from hakiri.cli.board.words import Signs, signs_for
from hakiri.cli.console import BOLD
from hakiri.cli.values import shown_cell

if TYPE_CHECKING:
    from hakiri.cli.console import Console

ALWAYS = 100
FEWEST_CELLS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One fact of every row; it is left out if no row has it.

    Where there is no room, cells are cut down to the `comfort` of their column, then columns that are not
    worth `ALWAYS` are left out, those that are worth least first; if that is not enough, the others are cut
    further. A column without comfort is never cut. `styles` has the colours of some texts.
    """

    title: str
    cells: Sequence[str]
    worth: int = ALWAYS
    is_number: bool = False
    comfort: int | None = None
    styles: Mapping[str, str] = field(default_factory=dict)

    @property
    def width(self) -> int:
        return max(map(cell_len, (self.title, *self.cells)))

    @property
    def is_empty(self) -> bool:
        return not any(self.cells)


def print_columns(console: Console, columns: Sequence[Column]) -> None:
    """Print all rows."""
    for line in column_lines(console, columns):
        console.print(line)


def column_lines(console: Console, columns: Sequence[Column]) -> list[str]:
    """The line of titles, then one for each row; with colours where stdout has them."""
    signs = signs_for(console.out.encoding)
    shown = [
        replace(column, cells=[shown_cell(cell) for cell in column.cells])
        for column in columns
        if not column.is_empty
    ]
    fitted = _fitted(shown, width_of(console), signs)
    titles = GAP.join(padded(each.title, each.width, is_left=not each.is_number) for each in fitted)
    return [
        console.highlighted(titles.rstrip(), BOLD),
        *(
            GAP.join(_cell(console, column, row) for column in fitted).rstrip()
            for row in range(len(fitted[0].cells) if fitted else 0)
        ),
    ]


def width_of(console: Console) -> int:
    """The cells that a line may take: those of the screen, and any number in a file or a pipe."""
    return console.rich_out().width


def clip(console: Console, text: str) -> str:
    """The text on one line of the screen."""
    return clipped(shown_cell(text), width_of(console), signs_for(console.out.encoding))


def _fitted(columns: list[Column], width: int, signs: Signs) -> list[Column]:
    """The columns in so many cells: cut a little where that is enough, else without some of them."""
    while True:
        narrowed = [_narrowed(each, _width(columns) - width, each.comfort, signs) for each in columns]
        if _width(narrowed) <= width:
            return narrowed
        least = min(columns, key=lambda each: each.worth)
        if least.worth == ALWAYS:
            return [_narrowed(each, _width(narrowed) - width, FEWEST_CELLS, signs) for each in narrowed]
        columns = [each for each in columns if each is not least]


def _narrowed(column: Column, cells_too_many: int, fewest: int | None, signs: Signs) -> Column:
    """The column with so many cells less, but not below those that it needs."""
    if column.comfort is None or fewest is None or cells_too_many <= 0:
        return column
    cells = max(column.width - cells_too_many, fewest)
    return replace(column, cells=[shortened(cell, cells, signs) for cell in column.cells])


def _width(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + len(GAP) * max(len(columns) - 1, 0)


def _cell(console: Console, column: Column, row: int) -> str:
    text = column.cells[row]
    style = column.styles.get(text)
    cell = padded(text, column.width, is_left=not column.is_number)
    return cell.replace(text, console.highlighted(text, style), 1) if style else cell
