"""What the head of an answer says: to wait, how often to call, and where the next page is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from hakiri.core.grammar import Rate

_RESETS = ("x-ratelimit-reset", "ratelimit-reset", "x-rate-limit-reset")
_REMAINING = ("x-ratelimit-remaining", "ratelimit-remaining", "x-rate-limit-remaining")
_POLICIES = ("ratelimit-policy", "x-ratelimit-policy", "ratelimit-limit", "x-ratelimit-limit")
_POLICY = re.compile(r"(?:^|[,;\s])(?:q=)?(?P<count>[0-9]{1,9})\s*;\s*w=(?P<seconds>[0-9]{1,9})")
# A number of seconds below this is a length of time, above it a moment; above the next, in milliseconds.
_FIRST_MOMENT, _FIRST_MILLISECOND = 10**9, 10**12


def seconds_to_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """How long the API asks to be left alone; None if it does not say.

    By `Retry-After`, or else by when its window for counting calls ends.
    """
    text = headers.get("retry-after", "").strip()
    if text:
        if re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]+)?", text):
            return float(text)
        until = moment_of(text)
        return max(0.0, (until - now).total_seconds()) if until is not None else None
    return _seconds_to_reset(headers, now)


def is_used_up(headers: Mapping[str, str]) -> bool:
    """Whether the API says that no call is left in its window, or asks for a pause."""
    return "retry-after" in headers or any(headers.get(name, "").strip() == "0" for name in _REMAINING)


def rate_told(headers: Mapping[str, str]) -> Rate | None:
    """How often the API may be called, where it tells both the count and the window: `100;w=60`."""
    for name in _POLICIES:
        found = _POLICY.search(headers.get(name, ""))
        if found and int(found["count"]) and int(found["seconds"]):
            return Rate.parse(f"{int(found['count'])}/{int(found['seconds'])}s")
    return None


def moment_of(text: str) -> datetime | None:
    """A date of HTTP, as in `Sun, 06 Nov 1994 08:49:37 GMT`."""
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _seconds_to_reset(headers: Mapping[str, str], now: datetime) -> float | None:
    for name in _RESETS:
        text = headers.get(name, "").strip()
        if not re.fullmatch(r"[0-9]{1,14}(?:\.[0-9]+)?", text):
            continue
        number = float(text)
        if number < _FIRST_MOMENT:
            return number
        moment = number / 1000 if number >= _FIRST_MILLISECOND else number
        return max(0.0, moment - now.timestamp())
    return None
