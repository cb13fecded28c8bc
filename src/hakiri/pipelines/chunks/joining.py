"""How many small neighbours share one Spark job, so that starting jobs does not cost more than the work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

_Chunk = TypeVar("_Chunk")

FIRST_GROUP = 4
MOST_JOINED = 32
SHORT_SECONDS = 1.5
LONG_SECONDS = 8.0


def group_cap(parallelism: int | None) -> int:
    """The most chunks in one job: no more at once than the operator allows."""
    return MOST_JOINED if parallelism is None else min(MOST_JOINED, max(1, parallelism))


def first_group(cap: int) -> int:
    """How many chunks the first job takes, when nobody knows yet how long one is."""
    return max(1, min(FIRST_GROUP, cap))


def next_group(previous: int, seconds: float, cap: int) -> int:
    """How many chunks the next job takes, after one of `previous` chunks took so many seconds."""
    if seconds < SHORT_SECONDS:
        previous *= 2
    elif seconds > LONG_SECONDS:
        previous //= 2
    return max(1, min(previous, cap))


def in_turns(chunks: Sequence[_Chunk], lane: Callable[[_Chunk], str | None]) -> list[list[_Chunk]]:
    """The chunks in their order, as few groups as may be, none with two chunks of one lane."""
    turns: list[list[_Chunk]] = []
    last: dict[str, int] = {}
    for chunk in chunks:
        own = lane(chunk)
        turn = 0 if own is None else last.get(own, -1) + 1
        if own is not None:
            last[own] = turn
        if turn == len(turns):
            turns.append([])
        turns[turn].append(chunk)
    return turns
