"""What a plan warns of before any row moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Duration
from hakiri.pipelines.chunks.cutting import mean_us, round_duration
from hakiri.pipelines.chunks.knobs import Knobs, Origin, lanes_at_once
from hakiri.pipelines.chunks.planning import MOST_CHUNKS, Cuts, TableFacts, cuts_of
from hakiri.sources.contract import Hint

MANY_CHUNKS = 10_000
FEW_ROWS = 1_000
# So few chunks cost nothing worth a word, however small they are.
UNNOTICED_CHUNKS = 10
# What a better window aims at, well above what is called few.
PROPOSED_ROWS = 100 * FEW_ROWS


class CautionCode(StrEnum):
    """Kinds of warnings, for programs."""

    PARALLELISM = "parallelism_above_safety"
    RATE = "rate_above_safety"
    WORKER = "parallelism_above_worker"
    MANY = "many_chunks"
    SMALL = "small_chunks"
    NO_WINDOW = "window_without_effect"
    NO_START = "start_from_without_effect"


@dataclass(frozen=True, slots=True)
class Caution:
    """One warning, and what to do about it as an order."""

    code: CautionCode
    message: str
    hint: str


def warnings(knobs: Knobs, hint: Hint, facts: TableFacts, now: datetime) -> tuple[Caution, ...]:
    """What of the knobs in force for a table is likely not what the operator means."""
    cuts = cuts_of(facts, knobs, now)
    return (
        *_too_much_at_once(knobs, hint, facts),
        *_odd_sizes(facts, cuts),
        *_without_effect(knobs, facts, cuts),
    )


def _too_much_at_once(knobs: Knobs, hint: Hint, facts: TableFacts) -> Iterator[Caution]:
    asked, safe = knobs.parallelism.value, lanes_at_once(hint.cursor_kind, len(facts.partitions))
    if asked is not None and safe is not None and asked > safe:
        yield Caution(
            CautionCode.PARALLELISM,
            f"`parallelism` is {asked}, but table `{facts.table}` has {_lanes(hint.cursor_kind, safe)}",
            f"set `parallelism` to {safe}",
        )
    cap = knobs.max_parallel_chunks.value
    if asked is not None and cap is not None and asked > cap:
        yield Caution(
            CautionCode.WORKER,
            f"`parallelism` is {asked}, but `max_parallel_chunks` lets a worker run {cap}",
            f"raise `max_parallel_chunks`, or set `parallelism` to {cap}",
        )
    rate, tolerated = knobs.rate_budget.value, hint.rate_budget
    if rate is not None and tolerated is not None and rate.per_second > tolerated.per_second:
        yield Caution(
            CautionCode.RATE,
            f"`rate_budget` is {rate}, but the source stands {tolerated}, as its connector says",
            f"set `rate_budget` to `{tolerated}`, or take it out",
        )


def _lanes(kind: CursorKind, number: int) -> str:
    """What the source can stand to have read at once, and what more than that would do."""
    if kind is CursorKind.SNAPSHOT_ID:
        return f"{_counted(number, 'stream')}, each read chunk after chunk: more has no effect"
    return f"{_counted(number, 'partition')}: chunks of the same one will be read at the same time"


def _odd_sizes(facts: TableFacts, cuts: Cuts) -> Iterator[Caution]:
    partitions = len(facts.partitions)
    chunks = (len(cuts.edges) + 1) * partitions
    planned = f"table `{facts.table}` is cut into {_counted(chunks, 'chunk')}"
    if cuts.stretch != 1:
        message = f"{planned}, because windows of {cuts.length} would be more than {MOST_CHUNKS:,}"
        yield Caution(CautionCode.MANY, message, _longer_window(cuts, chunks * cuts.stretch / MANY_CHUNKS))
    elif chunks > MANY_CHUNKS:
        yield Caution(CautionCode.MANY, planned, _longer_window(cuts, chunks / MANY_CHUNKS))
    elif facts.rows is not None and chunks > UNNOTICED_CHUNKS and facts.rows < chunks * FEW_ROWS:
        times = min(chunks * PROPOSED_ROWS / max(facts.rows, 1), chunks / partitions)
        message = f"{planned} for about {_counted(facts.rows, 'row')}"
        yield Caution(CautionCode.SMALL, message, _longer_window(cuts, times))


def _longer_window(cuts: Cuts, times: float) -> str:
    if not isinstance(cuts.length, Duration) or not cuts.edges:
        return "pull fewer partitions in one pipeline"
    return f"set `window` to `{round_duration(int(mean_us(cuts.length) * times))}`"


def _without_effect(knobs: Knobs, facts: TableFacts, cuts: Cuts) -> Iterator[Caution]:
    is_told = facts.extent.lowest is not None or facts.extent.highest is not None
    why, order = "", "follow a column of times with `incremental`, or take it out"
    if not facts.is_cut:
        why = "it is not read by the values of a column"
    elif cuts.axis is not None and not cuts.axis.is_time:
        why = f"`{facts.field}` holds numbers"
    elif cuts.axis is None and is_told:
        why = f"the values of `{facts.field}` are not all times of one form"
    elif cuts.axis is None:
        why, order = f"the source does not tell where `{facts.field}` begins", "set `start_from`"
    if not why:
        return
    message = f"`{{}}` has no effect on table `{facts.table}`: {why}"
    if knobs.window.origin is Origin.MANIFEST:
        yield Caution(CautionCode.NO_WINDOW, message.format("window"), order)
    if knobs.start_from.origin is Origin.MANIFEST:
        yield Caution(CautionCode.NO_START, message.format("start_from"), order)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
