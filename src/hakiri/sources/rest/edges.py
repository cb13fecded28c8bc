"""How far a read by a growing field has come, and what of it the next one will see once more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from hakiri.sources.contract import Cursor
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.json_rows import json_text
from hakiri.sources.rest.config import Incremental, Resource
from hakiri.sources.rest.moments import as_asked, as_bound
from hakiri.sources.rest.places import value_at
from hakiri.sources.rest.spans import Span, earlier

# More signs than this do not belong into a cursor; the records are given again then.
MOST_SIGNS = 1_000
SEEN = "_seen"
_SIGN_BYTES = 12


class Edge:
    """The highest value so far, and the records near it.

    A later read asks from the highest value on, or a lookback before it, and so gets those records again. It
    knows them by their signs, and gives only what is new: also a record that has changed and kept its value.
    `before` is the cursor of the read, and `reading` what was kept of it when it was interrupted.
    """

    def __init__(self, incremental: Incremental, before: Cursor, reading: Cursor | None = None) -> None:
        self._incremental = incremental
        self._began = self._bound_in(before)
        kept = before if reading is None else reading
        self.value = kept.get(incremental.field)
        self.bound = self._bound_in(kept)
        # What reads before this one gave, up to a value: it may come again, and is left out then.
        self._old: Counter[str] = Counter(before.get(SEEN, ()))
        self._old_until = self._began
        # How often each record near the highest value has come, and its own value.
        near: Counter[str] = Counter(kept.get(SEEN, ()))
        self._near = {sign: (count, self.bound or 0) for sign, count in near.items()}
        self._met: Counter[str] = Counter()

    def ask_again(self) -> None:
        """The API is asked anew from the highest value on: what was given near it comes again."""
        self._old, self._old_until = (
            Counter({sign: count for sign, (count, _) in self._near.items()}),
            self.bound,
        )
        self._met.clear()

    def take(
        self,
        records: Sequence[dict[str, Any]],
        bounds: Sequence[int | None],
        span: Span,
        *,
        not_after: int | None = None,
    ) -> list[dict[str, Any]]:
        """Those of a page that are wanted and new; see `cursor` for `not_after`."""
        self._rise(records, bounds, span)
        floor = earlier(self._incremental, _lower(self.bound, not_after))
        new = []
        for record, bound in zip(records, bounds, strict=True):
            if not span.holds(bound):
                continue
            is_old = bound is not None and self._old_until is not None and bound <= self._old_until
            is_near = bound is not None and floor is not None and bound >= floor
            if is_old or is_near:
                sign = _sign(record)
                self._met[sign] += 1
                if is_near:
                    count, _ = self._near.get(sign, (0, 0))
                    self._near[sign] = (max(count, self._met[sign]), bound or 0)
                if is_old and self._met[sign] <= self._old[sign]:
                    continue
            new.append(record)
        if floor is not None:
            self._near = {sign: kept for sign, kept in self._near.items() if kept[1] >= floor}
        return new

    def cursor(self, *, not_after: int | None = None) -> dict[str, Any]:
        """The highest value and the signs of the records near it.

        With `not_after` no later value, unless it began with one: what changed since then may have been
        passed by.
        """
        if self.value is None or self.bound is None:
            return {}
        value, form = self.value, self._incremental.format
        if not_after is not None:
            latest = not_after if self._began is None else max(not_after, self._began)
            if self.bound > latest:
                value = as_asked(latest, form, is_end=False)
        signs = sorted(sign for sign, (count, _) in self._near.items() for _ in range(count))
        told = {SEEN: signs} if 0 < len(signs) <= MOST_SIGNS else {}
        return {self._incremental.field: value, **told}

    def _rise(self, records: Sequence[Mapping[str, Any]], bounds: Sequence[int | None], span: Span) -> None:
        for record, bound in zip(records, bounds, strict=True):
            if bound is None or (span.until is not None and bound >= span.until):
                continue
            if self.bound is None or bound > self.bound:
                self.bound, self.value = bound, value_at(record, self._incremental.field)

    def _bound_in(self, cursor: Cursor) -> int | None:
        value = cursor.get(self._incremental.field)
        return None if value is None else as_bound(value, self._incremental.format)


class OrderCheck:
    """Refuses pages whose records do not come in the order that the config says, by more than its lookback.

    Upwards the pages are in that order too. Downwards a record that changes meanwhile moves to the front, and
    pushes others onto the next page once more.
    """

    def __init__(self, resource: Resource, incremental: Incremental) -> None:
        self._resource = resource
        self._incremental = incremental
        self._last: int | None = None

    def check(self, bounds: Sequence[int | None]) -> None:
        is_up = self._incremental.order == "asc"
        if not is_up:
            self._last = None
        for bound in bounds:
            if bound is None:
                continue
            low, high = (bound, self._last) if is_up else (self._last, bound)
            limit = earlier(self._incremental, high)
            if low is not None and limit is not None and low < limit:
                raise PermanentFailure(
                    f"the records of `{self._resource.name}` do not come in the order of "
                    f"`{self._incremental.field}`",
                    hint="ask the API for that order in `params`, or remove `order`, and read the table anew",
                )
            self._last = bound if self._last is None else (max if is_up else min)(self._last, bound)


def _lower(one: int | None, other: int | None) -> int | None:
    return one if other is None or one is None else min(one, other)


def _sign(record: Mapping[str, Any]) -> str:
    return blake2b(json_text(record).encode(), digest_size=_SIGN_BYTES).hexdigest()
