from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.pipelines.chunks.joining import first_group, group_cap, in_turns, next_group


@pytest.mark.parametrize(("cap", "size"), [(1, 1), (3, 3), (4, 4), (32, 4)])
def test_the_first_job_takes_a_few_chunks(cap: int, size: int) -> None:
    assert first_group(cap) == size


@pytest.mark.parametrize(
    ("previous", "seconds", "cap", "size"),
    [
        (4, 0.2, 32, 8),
        (4, 1.49, 32, 8),
        (4, 1.5, 32, 4),
        (4, 8.0, 32, 4),
        (4, 8.1, 32, 2),
        (5, 20.0, 32, 2),
        (1, 60.0, 32, 1),
        (32, 0.2, 32, 32),
        (16, 0.2, 20, 20),
        (16, 3.0, 6, 6),
    ],
)
def test_jobs_that_are_over_at_once_grow_and_long_ones_shrink(
    previous: int, seconds: float, cap: int, size: int
) -> None:
    assert next_group(previous, seconds, cap) == size


@pytest.mark.parametrize(("parallelism", "cap"), [(None, 32), (1, 1), (7, 7)])
def test_no_job_takes_more_chunks_than_the_operator_allows_at_once(parallelism: int | None, cap: int) -> None:
    assert group_cap(parallelism) == cap


@given(st.integers(1, 64), st.lists(st.floats(0, 60), max_size=50))
def test_a_job_always_takes_at_least_one_chunk_and_at_most_the_cap(cap: int, took: list[float]) -> None:
    size = first_group(cap)
    for seconds in took:
        size = next_group(size, seconds, cap)
        assert 1 <= size <= cap


@pytest.mark.parametrize(
    ("chunks", "turns"),
    [
        ("", []),
        ("a", ["a"]),
        ("abc", ["abc"]),
        ("aab", ["ab", "a"]),
        ("abab", ["ab", "ab"]),
        ("a..a.", ["a...", "a"]),
        ("...", ["..."]),
    ],
)
@pytest.mark.spec("HP-109")
def test_no_two_chunks_of_one_lane_are_in_one_job(chunks: str, turns: list[str]) -> None:
    def lane(chunk: str) -> str | None:
        return None if chunk == "." else chunk

    assert ["".join(turn) for turn in in_turns(chunks, lane)] == turns
