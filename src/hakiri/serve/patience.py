"""Leaving alone for a while what could not be done: longer each time."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import datetime, timedelta

from hakiri.serve.looks import seconds_before_next_try


class Patience:
    """Who may be tried again, and when. For any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._not_before: dict[str, datetime] = {}
        self._in_vain: Counter[str] = Counter()

    def may_try(self, name: str, now: datetime) -> bool:
        with self._lock:
            return self._not_before.get(name, now) <= now

    def remember(self, name: str, now: datetime, *, was_in_vain: bool) -> None:
        """Note how a try ended; one that was not in vain makes good for all before it."""
        with self._lock:
            if not was_in_vain:
                self._in_vain.pop(name, None)
                self._not_before.pop(name, None)
                return
            self._in_vain[name] += 1
            seconds = seconds_before_next_try(self._in_vain[name])
            self._not_before[name] = now + timedelta(seconds=seconds)
