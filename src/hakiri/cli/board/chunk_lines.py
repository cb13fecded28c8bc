"""The chunks in flight, a line each under the bars."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len

from hakiri.cli.board.parts import (
    ALERT,
    GAP,
    INDENT,
    QUIET,
    WIDEST_NAME,
    Line,
    Part,
    clipped,
    more_line,
    padded,
    shortened,
)
from hakiri.cli.board.state import BoardState, ChunkView, Hold
from hakiri.cli.board.words import (
    Signs,
    counted,
    elapsed_words,
    predicate_words,
    remaining_words,
    sentence,
)

MOST_CHUNK_LINES = 6
FEWEST_PREDICATE_CELLS = 12
NARROW = 60
# Room that is always left for how far a chunk is, so that its predicate does not move when that changes.
STATE_CELLS, NARROW_STATE_CELLS = 22, 12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    label: str
    predicate: str
    words: str
    style: str


def chunk_lines(state: BoardState, now: float, *, width: int, most: int, signs: Signs) -> list[Line]:
    """At most six chunks, each in the line where it was before; below them the pipelines that wait."""
    holds = [(view.pipeline, view.hold) for view in state.running.values() if view.hold][: max(most, 0)]
    waits = [_wait_row(pipeline, hold, now, width, signs) for pipeline, hold in holds]
    room = most - len(waits)
    chunks, hidden = state.chunks_in_slots(min(room, MOST_CHUNK_LINES), now) if room > 0 else ([], 0)
    if hidden and len(chunks) == room:
        chunks, hidden = state.chunks_in_slots(room - 1, now)
    has_several = len(state.running) > 1
    tables = {chunk.table for view in state.running.values() for chunk in view.chunks.values()}
    rows = [
        _row(chunk, now, width, signs, name=_name(chunk, has_several=has_several, tables=len(tables)))
        if chunk
        else None
        for chunk in chunks
    ]
    lines = _aligned([*rows, *waits], width, signs)
    return [*lines, more_line(hidden, "", signs)] if hidden else lines


def wait_words(hold: Hold, now: float) -> str:
    """`waiting 3 s for the source's 60/min`."""
    return f"waiting {remaining_words(hold.until - now)} for {hold.why}"


def _name(chunk: ChunkView, *, has_several: bool, tables: int) -> str:
    """What tells the chunk apart from the others that are shown, besides its number."""
    if has_several:
        return f"{chunk.pipeline} "
    return f"{chunk.table} " if tables > 1 else ""


def _row(chunk: ChunkView, now: float, width: int, signs: Signs, *, name: str) -> _Row:
    return _Row(
        label=f"{shortened(name, min(width // 4, WIDEST_NAME), signs)}#{chunk.chunk}",
        predicate=predicate_words(chunk.predicate),
        words=wait_words(chunk.hold, now) if chunk.hold else _progress_words(chunk, now, width),
        style=ALERT if chunk.hold else QUIET,
    )


def _wait_row(pipeline: str, hold: Hold, now: float, width: int, signs: Signs) -> _Row:
    name = shortened(pipeline, min(width // 4, WIDEST_NAME), signs)
    return _Row(label=name, predicate="", words=wait_words(hold, now), style=ALERT)


def _progress_words(chunk: ChunkView, now: float, width: int) -> str:
    rows = counted(chunk.rows, "row") if chunk.rows else ""
    seconds = elapsed_words(now - chunk.began)
    if width < NARROW:
        return rows or seconds
    return sentence([rows, seconds, f"attempt {chunk.attempt}" if chunk.attempt > 1 else ""])


def _aligned(rows: list[_Row | None], width: int, signs: Signs) -> list[Line]:
    """The rows as columns. A row whose words need more room than there is goes without its predicate."""
    taken = [row for row in rows if row]
    label_cells = max((cell_len(row.label) for row in taken), default=0)
    room = width - len(INDENT) - label_cells - len(GAP)
    predicate_cells = min(
        max((cell_len(row.predicate) for row in taken), default=0),
        room - len(GAP) - (NARROW_STATE_CELLS if width < NARROW else STATE_CELLS),
    )
    lines: list[Line] = []
    for row in rows:
        if row is None:
            lines.append((Part(""),))
            continue
        label = Part(f"{INDENT}{padded(row.label, label_cells, is_left=True)}{GAP}", QUIET)
        is_tight = predicate_cells + len(GAP) + cell_len(row.words) > room
        if is_tight or not row.predicate or predicate_cells < FEWEST_PREDICATE_CELLS:
            lines.append((label, Part(clipped(row.words, room, signs), row.style)))
        else:
            predicate = padded(
                shortened(row.predicate, predicate_cells, signs), predicate_cells, is_left=True
            )
            lines.append((label, Part(f"{predicate}{GAP}", QUIET), Part(row.words, row.style)))
    return lines
