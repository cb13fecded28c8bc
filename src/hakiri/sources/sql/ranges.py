"""A column's values cut into windows that can be read at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hakiri.sources.contract import Bound, Extent, Window


def key_ranges(extent: Extent, parts: int, *, field: str) -> tuple[Window, ...]:
    """At most `parts` windows that hold every row exactly once, whatever the extent says.

    The first begins and the last ends with nothing, so that rows outside of an extent that was estimated, or
    that came later, are in them. Rows without a value are in the first. The cuts are at equal distances
    between the extent's ends, not at equal numbers of rows: where values are crowded, one window has more
    rows than another, so ask for several times as many windows as are read at once.
    """
    cuts = list(_cuts(extent, parts))
    ends: list[Bound | None] = [None, *cuts, None]
    return tuple(
        Window(field=field, since=since, until=until, has_nulls=since is None)
        for since, until in pairwise(ends)
    )


def _cuts(extent: Extent, parts: int) -> Iterator[Bound]:
    """Growing values between the windows; none where the column cannot be cut."""
    if parts < 1:
        raise ValueError(f"a table is read in at least one part, not in {parts}")
    match extent.lowest, extent.highest:
        case int(lowest), int(highest):
            yield from _evenly(lowest, highest, parts)
        case str(lowest), str(highest):
            yield from _time_cuts(lowest, highest, parts)


def _evenly(lowest: int, highest: int, parts: int) -> Iterator[int]:
    """Cuts above the lowest and not above the highest, each once."""
    span = highest + 1 - lowest
    for number in range(1, min(parts, span)):
        yield lowest + span * number // min(parts, span)


def _time_cuts(lowest: str, highest: str, parts: int) -> Iterator[str]:
    try:
        first, last = datetime.fromisoformat(lowest), datetime.fromisoformat(highest)
    except ValueError:
        return  # texts that are no times: nobody knows what lies between them
    if (first.tzinfo is None) != (last.tzinfo is None):
        return
    is_day = len(lowest) == len(highest) == len("2026-05-11")
    unit = timedelta(days=1) if is_day else timedelta(microseconds=1)
    shown = _shown_by(is_day=is_day, has_zone=first.tzinfo is not None)
    start = datetime(1, 1, 1, tzinfo=UTC if first.tzinfo else None)
    for cut in _evenly((first - start) // unit, (last - start) // unit, parts):
        yield shown(start + cut * unit)


def _shown_by(*, is_day: bool, has_zone: bool) -> Callable[[datetime], str]:
    if is_day:
        return lambda moment: moment.date().isoformat()
    if has_zone:
        return lambda moment: moment.isoformat().replace("+00:00", "Z")
    return lambda moment: moment.isoformat()
