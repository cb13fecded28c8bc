"""Trying again: how long to wait before it, and how often."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TypeVar

from hakiri.core.backoff import Backoff
from hakiri.core.errors import HakiriError
from hakiri.core.ids import PipelineId
from hakiri.pipelines.events import Waiting
from hakiri.pipelines.runtime.ground import Ground
from hakiri.sources.errors import RateLimited

# What a transient failure costs before the next try: up to a second, doubled each time, up to a minute.
BACKOFF = Backoff(first_seconds=1.0, longest_seconds=60.0, budget_seconds=3600.0)
_Got = TypeVar("_Got")


def seconds_before_retry(error: HakiriError, tries: int) -> float:
    """How long to wait after so many tries: as long as the source says, else longer each time."""
    if isinstance(error, RateLimited):
        return error.seconds
    waits = BACKOFF.waits()
    return [next(waits, BACKOFF.longest_seconds) for _ in range(tries)][-1]


def patiently(ground: Ground, pipeline: PipelineId, retries: int, work: Callable[[], _Got]) -> _Got:
    """What `work` gives, tried again as often as allowed if it fails by something that may pass."""
    for tries in count(1):
        try:
            return work()
        except HakiriError as error:
            if not error.retryable or tries > retries or ground.stop.is_asked:
                raise
            seconds = seconds_before_retry(error, tries)
            ground.listen(Waiting(pipeline=pipeline, seconds=seconds, why="the next try"))
            ground.stop.wait(seconds)
    raise AssertionError  # a count has no end
