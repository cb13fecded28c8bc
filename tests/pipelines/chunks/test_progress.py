from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.pipelines.chunks.progress import RECENT_CHUNKS, DoneWork, Throughput, eta_seconds, throughput

T0 = datetime(2026, 5, 12, tzinfo=UTC)


def work(start: float, end: float, rows: int = 100, size: int = 1000) -> DoneWork:
    return DoneWork(
        rows=rows,
        bytes=size,
        started_at=T0 + timedelta(seconds=start),
        completed_at=T0 + timedelta(seconds=end),
    )


works = st.lists(
    st.builds(
        lambda start, length, rows: work(start, start + length, rows),
        st.floats(0, 1000),
        st.floats(0.1, 100),
        st.integers(0, 10**6),
    ),
    min_size=1,
    max_size=40,
)


def test_chunks_one_after_the_other_add_up() -> None:
    assert throughput([work(0, 10), work(10, 20)]) == Throughput(
        rows_per_sec=10.0, bytes_per_sec=100.0, chunks_per_sec=0.1
    )


def test_chunks_at_once_share_their_time() -> None:
    assert throughput([work(0, 10), work(0, 10), work(5, 10), work(2, 3)]).rows_per_sec == 40.0


def test_time_in_which_nobody_worked_does_not_count() -> None:
    assert throughput([work(0, 10), work(5000, 5010)]).rows_per_sec == 10.0


def test_only_the_latest_chunks_count() -> None:
    slow = [work(number * 100, number * 100 + 100) for number in range(50)]
    fast = [work(5000 + number, 5001 + number) for number in range(RECENT_CHUNKS)]

    assert throughput([*fast, *slow]).chunks_per_sec == 1.0


@pytest.mark.parametrize("recent", [[], [work(5, 5)]])
def test_without_any_work_nobody_can_tell(recent: list[DoneWork]) -> None:
    assert throughput(recent) == Throughput()
    assert eta_seconds(7, recent) is None


def test_when_nothing_is_left_it_takes_no_time() -> None:
    assert eta_seconds(0, []) == 0


@pytest.mark.spec("HP-140")
def test_the_rest_is_told_anew_after_every_chunk_by_what_is_left_and_the_pace() -> None:
    done: list[DoneWork] = []
    told = []
    for number, seconds in enumerate([10, 10, 40, 40]):
        begin = (done[-1].completed_at - T0).total_seconds() if done else 0
        done.append(work(begin, begin + seconds))
        told.append(eta_seconds(9 - number, done))

    assert told == [90, 80, 140, 150]


@given(works, st.integers(0, 10_000), st.integers(0, 10_000))
def test_more_that_is_left_never_takes_less_time(recent: list[DoneWork], one: int, other: int) -> None:
    fewer, more = sorted([one, other])

    assert (eta_seconds(fewer, recent) or 0) <= (eta_seconds(more, recent) or 0)


@given(works, st.integers(1, 1000), st.floats(1, 10))
def test_a_slower_source_never_promises_an_earlier_end(
    recent: list[DoneWork], left: int, factor: float
) -> None:
    slower = [
        DoneWork(
            rows=each.rows,
            bytes=each.bytes,
            started_at=T0 + (each.started_at - T0) * factor,
            completed_at=T0 + (each.completed_at - T0) * factor,
        )
        for each in recent
    ]

    # Times are whole microseconds, so that a second may come out as one more.
    assert (eta_seconds(left, slower) or 0) >= (eta_seconds(left, recent) or 0) - 1
