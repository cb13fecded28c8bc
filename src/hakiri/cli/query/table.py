"""An answer as a table: as wide as the screen, or as wide as it is where nobody looks at a screen."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size

from hakiri.cli.console import BOLD
from hakiri.cli.values import shown_cell

if TYPE_CHECKING:
    from hakiri.cli.console import Console
    from hakiri.store.query.values import Column

GAP = "  "
DIM = "2"
FEWEST_CELLS = 12
USUAL_WIDTH = 80
_SHORT_TYPES = {
    '"null"': "null",
    "time with time zone": "timetz",
    "timestamp with time zone": "timestamptz",
}


@dataclass(slots=True, kw_only=True)
class Table:
    """The lines of a table whose rows come in blocks. The first block decides how wide its columns are.

    `width` is that of the screen, None for any. On a screen the types stand below the names, cells that are
    too long are cut, and columns in the middle give way if there is no room for all. A number or a date is
    never cut.
    """

    columns: Sequence[Column]
    width: int | None
    has_colors: bool = False
    dots: str = "…"
    null: str = "∅"
    _widths: list[int] = field(default_factory=list)
    _kept: list[int] = field(default_factory=list)
    _is_right: list[bool] = field(default_factory=list)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The names of the columns that there was no room for."""
        return tuple(column.name for at, column in enumerate(self.columns) if at not in self._kept)

    def begin(self, rows: Sequence[Sequence[Any]]) -> Iterator[str]:
        """The lines above the rows, made to fit these."""
        cells = [[self._text(value) for value in row] for row in rows]
        wanted = [max(map(cells_of, column), default=0) for column in zip(*cells, strict=True)]
        self._fit(wanted or [0] * len(self.columns))
        yield self._line((shown_cell(column.name) for column in self.columns), BOLD)
        if self.width is not None:
            yield self._line((short_type(column.type) for column in self.columns), DIM)

    def lines(self, rows: Iterable[Sequence[Any]]) -> Iterator[str]:
        """One line for each row."""
        for row in rows:
            yield self._line([self._text(value) for value in row], "", [value is None for value in row])

    def _text(self, value: Any) -> str:
        if value is None:
            return self.null
        if type(value) is str:
            return value if value.isprintable() else shown_cell(value)
        return str(value) if type(value) in {int, float} else shown_cell(value)

    def _fit(self, wanted: Sequence[int]) -> None:
        self._is_right = [column.is_number for column in self.columns]
        full, fewest = [], []
        for column, cells in zip(self.columns, wanted, strict=True):
            title = cells_of(shown_cell(column.name))
            kind = min(len(short_type(column.type)), FEWEST_CELLS) if self.width is not None else 0
            full.append(max(cells, title, kind, 1))
            floor = (
                max(cells, min(title, FEWEST_CELLS))
                if column.is_misread_when_cut
                else min(full[-1], FEWEST_CELLS)
            )
            fewest.append(max(floor, 1))
        self._kept = list(range(len(full)))
        self._widths = full
        if self.width is None or _sum(full) <= self.width:
            return
        self._kept = _fitting(fewest, self.width, len(self.dots))
        room = self.width - (len(GAP) + len(self.dots)) * (len(self._kept) < len(full))
        narrowed = _narrowed([full[at] for at in self._kept], [fewest[at] for at in self._kept], room)
        self._widths = list(full)
        for at, cells in zip(self._kept, narrowed, strict=True):
            self._widths[at] = cells

    def _line(self, texts: Iterable[str], style: str, nulls: Sequence[bool] = ()) -> str:
        cells = list(texts)
        parts = []
        for place, at in enumerate(self._kept):
            if place and at != self._kept[place - 1] + 1:
                parts.append(self._painted(self.dots, DIM))
            text = self._cut(cells[at], self._widths[at])
            blanks = " " * (self._widths[at] - cells_of(text))
            painted = self._painted(text, DIM if nulls and nulls[at] else style)
            parts.append(blanks + painted if self._is_right[at] else painted + blanks)
        return GAP.join(parts).rstrip()

    def _cut(self, text: str, cells: int) -> str:
        if self.width is None or cells_of(text) <= cells:
            return text
        kept = cells - len(self.dots)
        return set_cell_size(text, kept) + self.dots if kept > 0 else set_cell_size(text, cells)

    def _painted(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if style and text and self.has_colors else text


def cells_of(text: str) -> int:
    """How many cells a text takes; that of ASCII, which is most, is known without a look at its letters."""
    return len(text) if text.isascii() else cell_len(text)


def short_type(name: str) -> str:
    """DuckDB's word for a type, in lower case and short."""
    return _SHORT_TYPES.get(name.lower(), name.lower())


def screen_width(console: Console) -> int | None:
    """The cells of a line on the screen that stdout is, or None if it is none."""
    if not console.out.isatty():
        return None
    if (said := console.env.get("COLUMNS", "")).isdigit() and int(said):
        return int(said)
    with suppress(OSError, ValueError):  # a terminal need not know its size
        return os.get_terminal_size(console.out.fileno()).columns or USUAL_WIDTH
    return USUAL_WIDTH


def _sum(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * max(len(widths) - 1, 0)


def _fitting(fewest: Sequence[int], width: int, dots: int) -> list[int]:
    """The columns that there is room for: all, or from both ends, the first one in any case."""
    kept = list(range(len(fewest)))
    while len(kept) > 1:
        missing = (len(GAP) + dots) * (len(kept) < len(fewest))
        if _sum([fewest[at] for at in kept]) + missing <= width:
            break
        del kept[len(kept) // 2]
    return kept


def _narrowed(full: Sequence[int], fewest: Sequence[int], width: int) -> list[int]:
    """The widths with the widest columns cut until all fit, but none below what it needs."""
    for most in range(max(full), 0, -1):
        cut = [max(min(wide, most), least) for wide, least in zip(full, fewest, strict=True)]
        if _sum(cut) <= width:
            return cut
    return list(fewest)
