from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from hakiri.core.clock import Clock, FixedClock, SystemClock

T0 = datetime(2025, 1, 1, 12, 0, tzinfo=UTC)


def test_the_clock_of_the_machine_tells_utc_and_does_not_go_back() -> None:
    clock: Clock = SystemClock()

    assert clock.now().tzinfo is UTC
    assert clock.monotonic() <= clock.monotonic()


def test_a_fixed_clock_stands_still_until_it_is_moved() -> None:
    clock = FixedClock(T0)
    as_clock: Clock = clock

    assert (as_clock.now(), as_clock.now(), as_clock.monotonic()) == (T0, T0, 0.0)
    clock.advance(timedelta(seconds=90))

    assert (as_clock.now(), as_clock.monotonic()) == (T0 + timedelta(seconds=90), 90.0)


def test_a_fixed_clock_tells_utc_whatever_zone_it_was_set_in() -> None:
    clock = FixedClock(datetime(2025, 1, 1, 14, 0, tzinfo=timezone(timedelta(hours=2))))

    assert clock.now().isoformat() == "2025-01-01T12:00:00+00:00"


def test_a_fixed_clock_needs_a_zone() -> None:
    with pytest.raises(ValueError, match="time zone"):
        FixedClock(datetime.fromisoformat("2025-01-01"))


def test_a_fixed_clock_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="does not go back"):
        FixedClock(T0).advance(timedelta(seconds=-1))
