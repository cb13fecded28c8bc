"""The board as lines of text for one width and height. The same state gives the same lines."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len

from hakiri.cli.board.chunk_lines import chunk_lines
from hakiri.cli.board.parts import (
    ALERT,
    GAP,
    MOVING,
    QUIET,
    WIDEST_NAME,
    Line,
    Part,
    more_line,
    padded,
    shortened,
)
from hakiri.cli.board.state import BoardState, PipelineView
from hakiri.cli.board.words import (
    Signs,
    bytes_rate,
    counted,
    elapsed_words,
    left_words,
    rows_rate,
    sentence,
    trouble_words,
)

FEWEST_BAR_CELLS, MOST_BAR_CELLS = 8, 30
BAR_WORTH = 70
SHORTEST_NAME = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A fact of every pipeline. A narrow screen goes without those that are worth least."""

    cells: tuple[str, ...]
    worth: int
    style: str = ""
    fewest_cells: int = 0
    is_left: bool = False

    @property
    def width(self) -> int:
        """Not below `fewest_cells`, so that a growing number does not push the others about."""
        longest = max((cell_len(cell) for cell in self.cells), default=0)
        return max(longest, self.fewest_cells) if longest else 0

    def part(self, row: int) -> Part:
        return Part(padded(self.cells[row], self.width, is_left=self.is_left), self.style)


def frame(
    state: BoardState, now: float, *, width: int, height: int, pipelines_total: int, signs: Signs
) -> list[Line]:
    """Bars, the chunks in flight, and the pace of all of it; lower than the screen, also a tiny one."""
    state.settle(now)
    views = list(state.running.values())
    if not views:
        return []
    room = max(height - 2, 2)
    shown = views if len(views) <= room else views[: room - 1]
    pipelines = max(pipelines_total, len(state.ended) + len(views))
    lines = _pipeline_lines(shown, now, width=width, signs=signs, has_several=pipelines > 1)
    if len(shown) < len(views):
        lines.append(more_line(len(views) - len(shown), "pipeline", signs))
    lines += chunk_lines(state, now, width=width, most=room - len(lines), signs=signs)
    return [*lines, _foot(state, now, pipelines, width)]


def _pipeline_lines(
    views: list[PipelineView], now: float, *, width: int, signs: Signs, has_several: bool
) -> list[Line]:
    name, *facts = _columns(views, now, width=width, signs=signs, has_several=has_several)
    columns, bar_cells = _fitting(name, facts, width)
    lines = []
    for row, view in enumerate(views):
        groups: list[Line] = [(column.part(row),) for column in columns]
        if bar_cells:
            groups.insert(1, _bar(view, bar_cells, signs))
        lines.append(_joined(groups))
    return lines


def _columns(
    views: list[PipelineView], now: float, *, width: int, signs: Signs, has_several: bool
) -> list[Column]:
    """The name, and what is known of it; the pace of a single pipeline is that of all, in the foot."""
    widest_name = min(max(width // 4, SHORTEST_NAME), WIDEST_NAME)
    names = tuple(shortened(view.pipeline, widest_name, signs) for view in views)
    rates = [view.meter.rates(now) for view in views] if has_several else []
    left = tuple(left_words(view.seconds_left(now)) for view in views)
    trouble = tuple(trouble_words(failed=view.failed, retries=view.retries) for view in views)
    return [
        Column(cells=names, worth=100, is_left=True),
        Column(cells=tuple(f"{view.chunks_done:,}/{view.chunks_total:,}" for view in views), worth=90),
        Column(cells=tuple(counted(view.rows_so_far, "row") for view in views), worth=60, fewest_cells=12),
        Column(cells=tuple(rows_rate(rows) for rows, _ in rates), worth=30, style=QUIET, fewest_cells=12),
        Column(cells=tuple(bytes_rate(size) for _, size in rates), worth=20, style=QUIET, fewest_cells=8),
        Column(cells=left, worth=80, fewest_cells=9),
        Column(cells=trouble, worth=50, style=ALERT, is_left=True),
    ]


def _fitting(name: Column, facts: list[Column], width: int) -> tuple[list[Column], int]:
    """The columns that find room beside the name, those worth most first, and the cells for the bar."""
    room = width - name.width
    chosen, bar_cells = [], 0
    for worth in sorted({BAR_WORTH, *(column.worth for column in facts)}, reverse=True):
        if worth == BAR_WORTH:
            bar_cells = FEWEST_BAR_CELLS if room >= FEWEST_BAR_CELLS + len(GAP) else 0
            room -= bar_cells + len(GAP) if bar_cells else 0
        for column in facts:
            if column.worth == worth and column.width and room >= column.width + len(GAP):
                chosen.append(column)
                room -= column.width + len(GAP)
    columns = [name, *(column for column in facts if column in chosen)]
    return columns, min(bar_cells + room, MOST_BAR_CELLS) if bar_cells else 0


def _bar(view: PipelineView, cells: int, signs: Signs) -> Line:
    fraction = min(view.chunks_done / view.chunks_total, 1.0) if view.chunks_total else 0.0
    full, half = divmod(int(fraction * cells * 2), 2)
    bar = signs.bar * full + signs.half_bar * half
    return Part(bar, MOVING), Part(signs.rest * (cells - len(bar)), QUIET)


def _foot(state: BoardState, now: float, pipelines: int, width: int) -> Line:
    rates = [view.meter.rates(now) for view in state.running.values()]
    facts = [
        elapsed_words(now - state.began),
        rows_rate(sum(rows for rows, _ in rates)),
        bytes_rate(sum(size for _, size in rates)),
    ]
    if pipelines > 1:
        facts[:0] = [f"{len(state.ended)} of {pipelines} pipelines done", counted(state.rows_so_far, "row")]
    while len(facts) > 1 and len(sentence(facts)) > width:
        facts.pop()
    return (Part(sentence(facts)[:width], QUIET),)


def _joined(groups: list[Line]) -> Line:
    """One line of these, with gaps between them."""
    parts: list[Part] = []
    for number, group in enumerate(groups):
        parts += [Part(GAP), *group] if number else group
    return tuple(parts)
