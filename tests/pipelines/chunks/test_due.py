from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.catalog.contract.pipelines import Phase
from hakiri.core.grammar import Duration, parse_schedule
from hakiri.pipelines.chunks.due import is_due, may_dispatch, next_due, sla_in_force
from hakiri.pipelines.runtime.slots import Slots

T0 = datetime(2026, 5, 12, 8, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("schedule", "last", "now", "due"),
    [
        ("every 15m", None, T0, True),
        ("every 15m", T0, T0 + 14 * MINUTE, False),
        ("every 15m", T0, T0 + 15 * MINUTE, True),
        ("every 15m", T0, T0 + timedelta(days=9), True),
        ("0 */2 * * *", None, T0, True),
        ("0 */2 * * *", T0 + MINUTE, T0 + 119 * MINUTE, False),
        ("0 */2 * * *", T0 + MINUTE, T0 + 120 * MINUTE, True),
        ("0 */2 * * *", T0, T0, False),
        ("every 9999w", T0, T0 + timedelta(days=9), False),
        ("every 450000w", T0, T0 + timedelta(days=9), False),
    ],
)
def test_a_pipeline_is_due_when_its_schedule_has_fired_since_the_last_run_began(
    schedule: str, last: datetime | None, now: datetime, due: bool
) -> None:
    assert is_due(parse_schedule(schedule), last, now, UTC) is due


def test_a_cron_line_is_read_in_the_zone_of_the_project() -> None:
    at_two = parse_schedule("0 2 * * *")
    last = datetime(2026, 5, 12, 12, 0, tzinfo=UTC)
    just_before, just_after = (
        datetime(2026, 5, 12, 23, 59, tzinfo=UTC),
        datetime(2026, 5, 13, 0, 0, tzinfo=UTC),
    )

    assert not is_due(at_two, last, just_before, BERLIN)
    assert is_due(at_two, last, just_after, BERLIN)
    assert not is_due(at_two, last, just_after, UTC)


def test_without_a_schedule_nothing_is_ever_due() -> None:
    assert not is_due(None, None, T0, UTC)


def test_who_waits_for_a_schedule_knows_when_it_fires() -> None:
    assert next_due(parse_schedule("every 15m"), T0, UTC) == T0 + 15 * MINUTE
    assert next_due(parse_schedule("0 2 * * *"), T0, BERLIN) == datetime(2026, 5, 13, 0, 0, tzinfo=UTC)
    assert next_due(parse_schedule("every 450000w"), T0, UTC) is None
    assert next_due(None, T0, UTC) is None


@pytest.mark.spec("HP-105")
@pytest.mark.parametrize(
    ("phase", "facts", "count"),
    [
        (Phase.BACKFILLING, {"pending": 100}, 100),
        (Phase.BACKFILLING, {"pending": 100, "max_chunks_per_tick": 8}, 8),
        (Phase.BACKFILLING, {"pending": 2, "max_chunks_per_tick": 8}, 2),
        (Phase.BACKFILLING, {"pending": 100, "max_chunks_per_tick": 8, "running": 3, "capacity": 4}, 1),
        (Phase.BACKFILLING, {"pending": 100, "running": 5, "capacity": 4}, 0),
        (Phase.STREAMING, {"pending": 3, "max_chunks_per_tick": 1}, 3),
        (Phase.STREAMING, {"pending": 3, "capacity": 1}, 1),
        (Phase.PLANNING, {"pending": 3}, 0),
    ],
)
def test_a_tick_dispatches_into_free_capacity_and_no_more_than_its_limit(
    phase: Phase, facts: dict[str, int], count: int
) -> None:
    known = {"running": 0, "pending": 0, "max_chunks_per_tick": None, "capacity": None}

    assert may_dispatch(phase, **{**known, **facts}) == count  # type: ignore[arg-type]


@pytest.mark.spec("HP-137")
@given(st.integers(1, 20), st.lists(st.integers(0, 30), min_size=10, max_size=10))
def test_ten_pipelines_together_never_run_more_chunks_than_the_worker_may(
    cap: int, waiting: list[int]
) -> None:
    slots = Slots(cap)
    running = 0
    for pending in waiting:
        dispatched = may_dispatch(
            Phase.BACKFILLING, running=0, pending=pending, max_chunks_per_tick=None, capacity=slots.free
        )
        running += slots.take(dispatched)

    assert running == min(cap, sum(waiting))


@pytest.mark.parametrize(
    ("sla", "schedule", "length"),
    [
        ("5m", "every 1h", timedelta(minutes=5)),
        (None, "every 1h", timedelta(hours=1)),
        (None, "0 */2 * * *", timedelta(hours=2)),
        (None, None, timedelta(minutes=15)),
        (None, "every 450000w", timedelta(minutes=15)),
    ],
)
def test_caught_up_means_within_the_sla_or_one_period_of_the_schedule(
    sla: str | None, schedule: str | None, length: timedelta
) -> None:
    said = None if sla is None else Duration.parse(sla)
    planned = None if schedule is None else parse_schedule(schedule)

    assert sla_in_force(said, planned, T0) == length
