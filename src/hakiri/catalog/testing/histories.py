"""Random calls by many threads at once, recorded, and held against the model pipeline by pipeline."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, groupby
from random import Random
from typing import Any

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkAttempt
from hakiri.catalog.contract.cursors import Cursor
from hakiri.catalog.contract.leases import Lease
from hakiri.catalog.testing.base import Opener
from hakiri.catalog.testing.linearizability import Event, find_deviation
from hakiri.catalog.testing.pipeline_model import new_pipeline, predict
from hakiri.catalog.testing.players import Player, Stage, last_look, opening
from hakiri.catalog.testing.seeds import SeededContract, telling
from hakiri.core.ids import PipelineId

HISTORIES = 150
HANDLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What a few threads called at once and were told."""

    seed: int
    events: tuple[Event, ...]


def record_history(
    handles: Sequence[Catalog], name: str, seed: int, *, workers: int = 4, calls: int = 7
) -> History:
    """Let workers make random calls on up to three new pipelines whose names begin with `name`.

    The seed decides what each worker is inclined to do; what it can do depends on what it was told, so
    another history with the same seed is alike, not the same.
    """
    random = Random(seed)  # noqa: S311  (chance, not secrecy)
    stage = Stage(handles)
    pipelines = [PipelineId(f"{name}-{number}") for number in range(random.randint(1, 3))]
    stage.play(0, chain.from_iterable(opening(pipeline, random) for pipeline in pipelines))
    start = threading.Barrier(workers)

    def work(worker: int) -> None:
        player = Player(stage, worker, pipelines, Random(f"{seed}/{worker}"))  # noqa: S311
        start.wait()
        stage.play(worker, (player.next_call() for _ in range(calls)))

    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(work, range(1, workers + 1)))
    stage.play(0, chain.from_iterable(map(last_look, pipelines)))
    return History(seed=seed, events=tuple(stage.events))


class HistoryContract(SeededContract):
    """All writes to one pipeline happen in one order, which every reader sees."""

    @pytest.mark.spec("AD-001")
    def test_every_history_of_a_pipeline_has_an_order(self, opener: Opener, seed: int) -> None:
        with ExitStack() as stack:
            handles = [stack.enter_context(opener.open()) for _ in range(HANDLES)]
            check_histories(handles, seed)
            assert handles[0].check() == ()


def check_histories(handles: Sequence[Catalog], seed: int, count: int = HISTORIES) -> None:
    """Record so many histories; fail at the first that has no order, with the seed that plays it first."""
    for number in range(count):
        with telling(seed + number):
            faults = find_faults(record_history(handles, f"history-{number}", seed + number))
            assert not faults, "\n\n".join(faults)


def find_faults(history: History) -> tuple[str, ...]:
    """Everything in a history that the contract does not allow, in words."""
    by_pipeline = sorted(history.events, key=lambda event: event.call.pipeline)
    deviations = (
        find_deviation(tuple(events), new_pipeline(pipeline), predict)
        for pipeline, events in groupby(by_pipeline, key=lambda event: event.call.pipeline)
    )
    faults = [str(deviation) for deviation in deviations if deviation is not None]
    return (*faults, *_number_faults(history.events), *_nonce_faults(history.events))


def _number_faults(events: Sequence[Event]) -> Iterator[str]:
    """Numbers grow over all pipelines: a later draw has a higher one."""
    draws = [(event, new.seq) for event in events for new in _given(event, ChunkAttempt, Cursor)]
    for first, (early, low) in enumerate(draws):
        for second, (late, high) in enumerate(draws):
            is_later = early.deadline < late.invoked or (early is late and first < second)
            if (is_later and low >= high) or (first != second and low == high):
                yield f"the number of the second is not higher than that of the first:\n  {early}\n  {late}"


def _nonce_faults(events: Sequence[Event]) -> Iterator[str]:
    seen: dict[str, tuple[Event, object]] = {}
    for event in events:
        for new in _given(event, ChunkAttempt, Lease):
            other, holder = seen.setdefault(new.nonce, (event, new))
            if holder is not new:
                yield f"two holders have one nonce:\n  {other}\n  {event}"


def _given(event: Event, *kinds: type) -> list[Any]:
    """What a call that gives something new has given, of these kinds."""
    if event.call.method not in {"claim", "claim_some", "put", "acquire"}:
        return []
    answers = event.answer if isinstance(event.answer, tuple) else (event.answer,)
    return [answer for answer in answers if isinstance(answer, kinds)]
