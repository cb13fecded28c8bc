"""Which values of a growing field are wanted, and which records have them. Decides, and asks for nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hakiri.sources.contract import Cursor, Window
from hakiri.sources.errors import PermanentFailure, SchemaIncompatible
from hakiri.sources.rest.config import Incremental, Resource
from hakiri.sources.rest.moments import as_asked, as_bound, microseconds
from hakiri.sources.rest.places import value_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The values from `since` until before `until`; an end that is None is open.

    The API is asked for more, from `asked_since` on. Of that, what lies below `lowest` is not wanted.
    """

    since: int | None
    until: int | None
    asked_since: int | None
    lowest: int | None
    has_nulls: bool

    def holds(self, bound: int | None) -> bool:
        if bound is None:
            return self.has_nulls
        return (self.lowest is None or self.lowest <= bound) and (self.until is None or bound < self.until)

    def is_passed_upwards(self, bounds: Sequence[int | None]) -> bool:
        """Whether a page has reached the end, so that, in the order of the field, no later one has more."""
        return self.until is not None and any(bound is not None and bound >= self.until for bound in bounds)

    def is_passed_downwards(self, bounds: Sequence[int | None]) -> bool:
        """The same for a listing that goes down to the beginning."""
        since = self.asked_since
        return since is not None and any(bound is not None and bound < since for bound in bounds)


def span_of(incremental: Incremental, cursor: Cursor, window: Window | None) -> Span:
    """What is wanted after the cursor, inside of the window, and not before where the config begins.

    Records that have the very value of the cursor are wanted again: others may have got it meanwhile.
    """
    begin = _bound(incremental.initial, incremental, "`initial`")
    if window is not None:
        begin = _later(begin, _bound(window.since, incremental, "the window's `since`"))
    since = _later(begin, _bound(cursor.get(incremental.field), incremental, "the cursor"))
    return Span(
        since=since,
        until=None if window is None else _bound(window.until, incremental, "the window's `until`"),
        asked_since=earlier(incremental, since),
        lowest=since if incremental.lookback is None else begin,
        has_nulls=window is None or window.has_nulls,
    )


def earlier(incremental: Incremental, bound: int | None) -> int | None:
    """The bound, moved back by what the config says."""
    if bound is None or incremental.lookback is None:
        return bound
    return bound - microseconds(incremental.lookback.delta)


def params_of(incremental: Incremental, asked_since: int | None, until: int | None) -> dict[str, Any]:
    """The parameters that ask for it; what the API cannot be asked for is cut here afterwards."""
    params: dict[str, Any] = {}
    if incremental.param is not None and asked_since is not None:
        params[incremental.param] = as_asked(asked_since, incremental.format, is_end=False)
    if incremental.until_param is not None and until is not None:
        params[incremental.until_param] = as_asked(until, incremental.format, is_end=True)
    return params


def bounds_of(
    resource: Resource, incremental: Incremental, records: Sequence[Mapping[str, Any]]
) -> list[int | None]:
    """Where each record stands; None for those without a value. Raises SchemaIncompatible for odd values."""
    values = [value_at(record, incremental.field) for record in records]
    bounds = [None if value is None else as_bound(value, incremental.format) for value in values]
    for value, bound in zip(values, bounds, strict=True):
        if bound is None and value is not None:
            raise SchemaIncompatible(
                f"a record of `{resource.name}` has a `{incremental.field}` that does not fit the format "
                f"`{incremental.format}`",
                hint="check `incremental` in the config of the resource",
            )
    return bounds


def _bound(value: Any, incremental: Incremental, what: str) -> int | None:
    if value is None:
        return None
    bound = as_bound(value, incremental.format)
    if bound is None:
        raise PermanentFailure(
            f"{what} of `{incremental.field}` does not fit the format `{incremental.format}`",
            hint="check `incremental` in the config of the resource",
        )
    return bound


def _later(one: int | None, other: int | None) -> int | None:
    return max((bound for bound in (one, other) if bound is not None), default=None)
