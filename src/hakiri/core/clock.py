"""The one place that reads the clock, and a clock that stands still."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """What time it is. Doors make one and pass it, or its answer, to everything below."""

    def now(self) -> datetime:
        """The present moment in UTC, with its zone."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back, for measuring how long things take."""


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class FixedClock:
    """A clock that moves only when it is told to, for tests and for runs that must be repeatable."""

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise ValueError(f"a clock needs a moment with a time zone, not {start!r}")
        self._start = start.astimezone(UTC)
        self._elapsed = timedelta()

    def now(self) -> datetime:
        return self._start + self._elapsed

    def monotonic(self) -> float:
        return self._elapsed.total_seconds()

    def advance(self, by: timedelta) -> None:
        """Move on; time does not go back."""
        if by < timedelta():
            raise ValueError(f"a clock does not go back, not even by {by!r}")
        self._elapsed += by
