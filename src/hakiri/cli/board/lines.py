"""What is said for good: how a pipeline began, how far all are, how it ended."""

from __future__ import annotations

from textwrap import wrap

from hakiri.catalog.contract.runs import RunStatus
from hakiri.cli.board.chunk_lines import wait_words
from hakiri.cli.board.parts import ALERT, GAP, GOOD, INDENT, QUIET, WRONG, Line, Part, padded
from hakiri.cli.board.state import BoardState, PipelineView
from hakiri.cli.board.words import (
    Signs,
    bytes_rate,
    counted,
    left_words,
    rows_rate,
    seconds_words,
    sentence,
    trouble_words,
)
from hakiri.pipelines.events import RunEnded, RunStarted, SchemaChanged

FEWEST_FOLDED_CELLS = 20


def started_line(event: RunStarted) -> Line:
    """`orders: backfilling, 312 chunks, 47 done before`; where all are done, the counts say nothing."""
    is_left = event.chunks_done < event.chunks_total
    before = f"{event.chunks_done:,} done before" if is_left and event.chunks_done else ""
    chunks = counted(event.chunks_total, "chunk") if is_left else ""
    return (Part(f"{event.pipeline}: {sentence([str(event.phase), chunks, before])}"),)


def progress_line(state: BoardState, now: float) -> Line:
    """How far all that runs is, in one line."""
    views = list(state.running.values())
    rates = [view.meter.rates(now) for view in views]
    done, total = sum(view.chunks_done for view in views), sum(view.chunks_total for view in views)
    left = [view.seconds_left(now) for view in views]
    holds = [hold for view in views for hold in (view.hold, *(c.hold for c in view.chunks.values())) if hold]
    facts = [
        f"{done:,} of {counted(total, 'chunk')}",
        counted(sum(view.rows_so_far for view in views), "row"),
        rows_rate(sum(rows for rows, _ in rates)),
        bytes_rate(sum(size for _, size in rates)),
        f"about {left_words(max(filter(None, left), default=0))}" if any(left) and None not in left else "",
        wait_words(max(holds, key=lambda hold: hold.until), now) if holds else "",
        trouble_words(failed=sum(view.failed for view in views), retries=sum(view.retries for view in views)),
    ]
    who = views[0].pipeline if len(views) == 1 else f"{len(views)} pipelines"
    return (Part(f"{who}: {sentence(facts)}"),)


def ended_lines(
    event: RunEnded, view: PipelineView | None, *, name_cells: int, width: int | None, signs: Signs
) -> list[Line]:
    """`✓ orders  1,204 rows in 3 chunks, 4.2 s`; what went wrong stands below it, folded to the width."""
    sign, style = _sign_of(event.status, signs)
    trouble = trouble_words(failed=view.failed, retries=view.retries) if view else ""
    line = (
        Part(sign, style),
        Part(f" {padded(event.pipeline, name_cells, is_left=True)}{GAP}{_outcome_words(event, view)}"),
        Part(f", {trouble}" if trouble else "", ALERT),
        Part(f", now {view.phase}" if view and view.has_moved else "", GOOD),
    )
    return [line, *((Part(f"{INDENT}{text}", style),) for text in _folded(event.error or "", width))]


def _outcome_words(event: RunEnded, view: PipelineView | None) -> str:
    committed = view.committed if view else 0
    work = f"{counted(event.rows, 'row')} in {counted(committed, 'chunk')}" if committed else ""
    match event.status:
        case RunStatus.SKIPPED:
            return "skipped"
        case RunStatus.FAILED:
            return sentence([f"failed after {work}" if work else "failed", seconds_words(event.seconds)])
        case RunStatus.PARTIAL:
            return sentence([work or "nothing committed", seconds_words(event.seconds)])
        case _:
            return sentence([work or "nothing new", seconds_words(event.seconds)])


def _folded(text: str, width: int | None) -> list[str]:
    """The lines of the text, cut between words where a screen would cut them anywhere."""
    lines = text.splitlines()
    if width is None:
        return lines
    cells = max(width - len(INDENT), FEWEST_FOLDED_CELLS)
    return [part for line in lines for part in wrap(line, cells, break_long_words=False) or [""]]


def stopped_line(view: PipelineView, *, name_cells: int, signs: Signs) -> Line:
    """What stays of a run that was interrupted: all that was committed."""
    kept = (
        f"{counted(view.rows, 'row')} in {counted(view.committed, 'chunk')}" if view.committed else "nothing"
    )
    name = padded(view.pipeline, name_cells, is_left=True)
    return Part(signs.partial, ALERT), Part(f" {name}{GAP}stopped; {kept} committed")


def schema_lines(event: SchemaChanged, signs: Signs) -> list[Line]:
    """A line for every change."""
    return [
        (Part(signs.changed, ALERT), Part(f" {event.pipeline}{GAP}{event.table}: "), Part(change))
        for change in event.changes
    ]


def _sign_of(status: RunStatus, signs: Signs) -> tuple[str, str]:
    match status:
        case RunStatus.FAILED:
            return signs.failed, WRONG
        case RunStatus.PARTIAL:
            return signs.partial, ALERT
        case RunStatus.SKIPPED:
            return signs.skipped, QUIET
        case _:
            return signs.done, GOOD
