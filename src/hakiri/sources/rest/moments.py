"""Values of a field that grows, as numbers that can be compared, and as an API wants to be asked for them.

A moment is its microseconds since 1970 in UTC; a number is itself.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias

Format: TypeAlias = Literal["iso", "date", "unix", "unix_ms", "number"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SECOND, _MILLISECOND, _DAY = 10**6, 10**3, 24 * 3600 * 10**6


def as_bound(value: Any, form: Format) -> int | None:
    """Where the value stands among others of its field; None if it is no value of this format.

    Texts in ISO 8601 are moments in every format but `number`; without an offset they are in UTC.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        if form in {"number", "unix", "unix_ms"} and value.lstrip("-").isdecimal():
            return _of_number(int(value), form)
        return None if form == "number" else _of_text(value)
    if isinstance(value, int | float):
        return _of_number(value, form)
    return None


def as_asked(bound: int, form: Format, *, is_end: bool) -> str | int:
    """The bound as a parameter. A beginning is rounded down and an end up, so that nothing is lost."""
    match form:
        case "number":
            return bound
        case "unix":
            return _divided(bound, _SECOND, up=is_end)
        case "unix_ms":
            return _divided(bound, _MILLISECOND, up=is_end)
        case "date":
            return as_moment(_divided(bound, _DAY, up=is_end) * _DAY).date().isoformat()
        case "iso":
            return as_text(bound)


def as_text(bound: int) -> str:
    """A moment in ISO 8601, in UTC."""
    return as_moment(bound).isoformat().removesuffix("+00:00") + "Z"


def as_moment(bound: int) -> datetime:
    return _EPOCH + bound * _MICROSECOND


def microseconds(length: timedelta) -> int:
    return length // _MICROSECOND


def of_moment(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _of_text(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return of_moment(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _of_number(number: float, form: Format) -> int | None:
    match form:
        case "number":
            return int(number) if number == int(number) else None
        case "unix":
            return int(number * _SECOND)
        case "unix_ms":
            return int(number * _MILLISECOND)
        case "iso" | "date":
            return None


def _divided(number: int, by: int, *, up: bool) -> int:
    return -(-number // by) if up else number // by
