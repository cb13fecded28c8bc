"""What threads and pipelines of one process share: lanes, and the number of chunks at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hakiri.manifest import PipelineSpec
from hakiri.pipelines.runtime.apply import chunks_at_once
from hakiri.pipelines.runtime.lanes import Lanes

LONG_ENOUGH_SECONDS = 20


def in_threads(*work: Callable[[], Any]) -> None:
    with ThreadPoolExecutor(len(work)) as pool:
        for result in [pool.submit(each) for each in work]:
            result.result(timeout=LONG_ENOUGH_SECONDS)


@pytest.mark.spec("HP-109")
def test_only_one_at_a_time_is_in_a_lane() -> None:
    lanes, inside, most = Lanes(), [0], [0]

    def work(number: int) -> None:
        for _ in range(200):
            with lanes.held({"a", f"b{number % 2}"}):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    in_threads(*(lambda number=number: work(number) for number in range(4)))  # type: ignore[misc]

    assert most == [1]


@pytest.mark.spec("HP-109")
def test_different_lanes_are_used_at_the_same_time() -> None:
    lanes, both_are_in = Lanes(), threading.Barrier(3)

    def work(*mine: str) -> None:
        with lanes.held(mine):
            both_are_in.wait(LONG_ENOUGH_SECONDS)

    in_threads(lambda: work("a"), lambda: work("b"), work)

    assert not both_are_in.broken


def test_a_lane_is_free_again_after_a_failure() -> None:
    lanes = Lanes()

    with pytest.raises(ZeroDivisionError), lanes.held({"a"}):
        _ = 1 / 0

    with lanes.held({"a"}):
        pass


@pytest.mark.spec("HP-137")
def test_a_process_works_on_no_more_chunks_than_the_lowest_number_of_any_pipeline() -> None:
    def spec(most: int | None) -> PipelineSpec:
        source = {"connector": "sql", "config": {"url": "sqlite:///a.db"}}
        backfill = {} if most is None else {"max_parallel_chunks": most}
        return PipelineSpec.model_validate(
            {"id": "p", "source": source, "tables": ["t"], "backfill": backfill}, strict=False
        )

    assert chunks_at_once([spec(16), spec(5), spec(9), spec(None)], 32) == 5
    assert chunks_at_once([spec(None)], 32) == chunks_at_once([], 32) == 32
    assert chunks_at_once([spec(64)], 32) == 32
