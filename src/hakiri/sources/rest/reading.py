"""Records of a resource with the cursor after them: in full, or what changed; of one partition, or of all.

The cursors, in plain JSON:

| what is read | in the middle | at the end |
|---|---|---|
| everything | `{"next": place}` | `{}`, or `{"etag": …, "modified": …, "of": address}` |
| by a field, in its order | `{field: highest}` | `{field: highest}` |
| by a field, in any order | `{field: before, "_reading": {"next": place, …}}` | `{field: highest}` |
| all partitions | `{"at": partition, "each": {partition: cursor}}` | `{"each": {partition: cursor}}` |
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hakiri.sources.contract import Cursor, Window
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.json_rows import json_text
from hakiri.sources.rest.config import Incremental, Resource
from hakiri.sources.rest.errors import AskRefused
from hakiri.sources.rest.listing import Listing, Page, Query, partition_query, wanted
from hakiri.sources.rest.moments import as_asked, as_bound, as_text, of_moment
from hakiri.sources.rest.places import Place, value_at
from hakiri.sources.rest.spans import Span, bounds_of, earlier, params_of, span_of

# An API that no longer knows the place where a read was interrupted says so with one of these.
_STALE = frozenset({400, 404, 410, 422})
_READING = "_reading"


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """Some records, and the cursor after them; None while there is nothing new to say."""

    records: list[dict[str, Any]]
    cursor: Cursor | None
    size_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads one resource. The last portion is empty, and has the cursor for the next read."""

    listing: Listing
    resource: Resource
    keep_digits: bool = False

    def portions(
        self, cursor: Cursor | None, window: Window | None, partition: Mapping[str, str]
    ) -> Generator[Portion, None, None]:
        key = self.resource.partition_key
        if key is None or key in partition:
            own = _of_partition(cursor or {}, partition.get(key or ""))
            return self._of_one(own, window, partition)
        return self._of_all(key, cursor or {}, window)

    def _of_all(self, key: str, cursor: Cursor, window: Window | None) -> Generator[Portion, None, None]:
        names = self.resource.partitions[key]
        each = {name: _of_partition(cursor, name) for name in names}
        first = names.index(cursor["at"]) if cursor.get("at") in names else 0
        for name in names[first:]:
            for portion in self._of_one(each[name], window, {key: name}):
                if portion.cursor is not None:
                    each[name] = portion.cursor
                yield replace(portion, cursor={**self._joint(each), "at": name})
        yield Portion(records=[], cursor=self._joint(each))

    def _joint(self, each: Mapping[str, Cursor]) -> dict[str, Any]:
        """The cursors of all partitions, with the lowest value on top where all have one."""
        read = {name: cursor for name, cursor in each.items() if cursor}
        joint: dict[str, Any] = {"each": read} if read else {}
        incremental = self.resource.incremental
        if incremental is not None and read:
            values = [cursor.get(incremental.field) for cursor in each.values()]
            bounds = {as_bound(value, incremental.format): value for value in values}
            if None not in bounds:
                joint[incremental.field] = bounds[min(bound for bound in bounds if bound is not None)]
        return joint

    def _of_one(
        self, cursor: Cursor, window: Window | None, partition: Mapping[str, str]
    ) -> Generator[Portion, None, None]:
        query = partition_query(partition, keep_digits=self.keep_digits)
        incremental = self.resource.incremental
        if incremental is None:
            return self._in_full(cursor, query)
        span = span_of(incremental, cursor, window)
        if incremental.order == "asc" and self.resource.parent is None:
            return self._upwards(incremental, cursor, span, query)
        return self._in_any_order(incremental, cursor, span, query)

    def _in_full(self, cursor: Cursor, query: Query) -> Generator[Portion, None, None]:
        place = cursor.get("next")
        after: dict[str, Any] = {}
        if place is None and self.resource.parent is None:
            query = replace(
                query, if_changed=_conditions(cursor, self.listing.first_address(self.resource, query))
            )
            after = dict(cursor)  # which still holds if there is no page, since nothing changed
        for number, page in enumerate(self._pages(query, place)):
            yield self._portion(page, page.records, None if page.after is None else {"next": page.after})
            # What the API says of one page says nothing of the others, so that it serves for one page only.
            is_whole = number == 0 and place is None and page.after is None and self.resource.parent is None
            after = _validators(page) if is_whole else {}
        yield Portion(records=[], cursor=after)

    def _upwards(
        self, incremental: Incremental, cursor: Cursor, span: Span, query: Query
    ) -> Generator[Portion, None, None]:
        """In the order of the field: whatever is below the highest value was read, so that is the cursor."""
        highest = _Highest(incremental, cursor.get(incremental.field))
        edge = _Edge(incremental)
        since, is_over = span.since, False
        while not is_over:
            is_over = True
            params = params_of(incremental, earlier(incremental, since), span.until)
            order = _OrderCheck(self.resource, incremental)
            for page in self._pages(replace(query, params=params), None):
                bounds = bounds_of(self.resource, incremental, page.records)
                order.check(bounds)
                kept = [
                    record
                    for record, bound in zip(page.records, bounds, strict=True)
                    if span.holds(bound) and not edge.has(record, bound)
                ]
                highest.see(page.records, bounds, span)
                edge.remember(page.records, bounds, highest.bound)
                yield self._portion(page, kept, highest.cursor())
                if span.until is not None and any(
                    not _is_above(span.until, bound) for bound in bounds if bound is not None
                ):
                    break
                if incremental.keyset and page.after is not None and _is_above(highest.bound, since):
                    # Pages that are counted lose a record when one before it moves to the end meanwhile.
                    since, is_over = highest.bound, False
                    break
        yield Portion(records=[], cursor=highest.cursor())

    def _in_any_order(
        self, incremental: Incremental, cursor: Cursor, span: Span, query: Query
    ) -> Generator[Portion, None, None]:
        """The highest value is the cursor only when all is read; until then the place in the listing is."""
        before = {name: value for name, value in cursor.items() if name != _READING}
        kept = cursor.get(_READING) or {}
        highest = _Highest(incremental, kept.get("highest", cursor.get(incremental.field)))
        started = kept.get("started")
        query = replace(query, params=params_of(incremental, span.asked_since, span.until))
        order = _OrderCheck(self.resource, incremental)
        is_sorted = incremental.order == "desc" and self.resource.parent is None
        for page in self._pages(query, kept.get("next")):
            bounds = bounds_of(self.resource, incremental, page.records)
            if is_sorted:
                order.check(bounds)
            highest.see(page.records, bounds, span)
            if started is None and page.served_at is not None:
                started = as_text(of_moment(page.served_at))
            state = {"next": page.after, "highest": highest.value, "started": started}
            held = [record for record, bound in zip(page.records, bounds, strict=True) if span.holds(bound)]
            yield self._portion(page, held, None if page.after is None else {**before, _READING: state})
            if is_sorted and any(_is_above(span.asked_since, bound) for bound in bounds if bound is not None):
                break
        yield Portion(records=[], cursor=before | highest.cursor(not_after=None if is_sorted else started))

    def _portion(self, page: Page, records: list[dict[str, Any]], cursor: Cursor | None) -> Portion:
        return Portion(records=wanted(self.resource, records), cursor=cursor, size_bytes=page.size_bytes)

    def _pages(self, query: Query, place: Place | None) -> Iterator[Page]:
        """From this place on, or from the start if the API does not know the place any more."""
        pages = self.listing.pages(self.resource, query, place)
        if place is not None:
            try:
                first = next(pages, None)
            except AskRefused as refused:
                if refused.status not in _STALE:
                    raise
                pages = self.listing.pages(self.resource, query)
            else:
                if first is None:
                    return
                yield first
        yield from pages


class _Highest:
    """The highest value so far, as the API wrote it; never lower than the one it began with."""

    def __init__(self, incremental: Incremental, value: Any) -> None:
        self.incremental = incremental
        self.value = value
        self.bound = self._began = None if value is None else as_bound(value, incremental.format)

    def see(self, records: Sequence[Mapping[str, Any]], bounds: Sequence[int | None], span: Span) -> None:
        for record, bound in zip(records, bounds, strict=True):
            if bound is None or not _is_above(bound, self.bound):
                continue
            if span.until is None or bound < span.until:
                self.bound, self.value = bound, value_at(record, self.incremental.field)

    def cursor(self, *, not_after: str | None = None) -> dict[str, Any]:
        """With `not_after`, no later than that: records that changed since then may have been passed by."""
        if self.value is None:
            return {}
        form = self.incremental.format
        if not_after is not None and form != "number":
            latest = max(bound for bound in (as_bound(not_after, "iso"), self._began) if bound is not None)
            if _is_above(self.bound, latest):
                return {self.incremental.field: as_asked(latest, form, is_end=False)}
        return {self.incremental.field: self.value}


class _Edge:
    """The records that asking again from the highest value gives once more."""

    def __init__(self, incremental: Incremental) -> None:
        self._incremental = incremental
        self._seen: dict[str, int] = {}
        self._latest: int | None = None

    def has(self, record: dict[str, Any], bound: int | None) -> bool:
        is_near = bound is not None and self._latest is not None and bound <= self._latest
        return is_near and json_text(record) in self._seen

    def remember(
        self, records: Sequence[dict[str, Any]], bounds: Sequence[int | None], highest: int | None
    ) -> None:
        since = earlier(self._incremental, highest)
        if not self._incremental.keyset or since is None:
            return
        self._seen = {text: bound for text, bound in self._seen.items() if bound >= since}
        for record, bound in zip(records, bounds, strict=True):
            if bound is not None and bound >= since:
                self._seen[json_text(record)] = bound
        self._latest = highest


class _OrderCheck:
    """Refuses records that do not come in the order that the config says, by more than its lookback."""

    def __init__(self, resource: Resource, incremental: Incremental) -> None:
        self._resource = resource
        self._incremental = incremental
        self._last: int | None = None

    def check(self, bounds: Sequence[int | None]) -> None:
        is_up = self._incremental.order == "asc"
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


def _of_partition(cursor: Cursor, name: str | None) -> Cursor:
    """The part of a cursor that is about one partition. One without parts is about each of them."""
    each = cursor.get("each")
    if each is None:
        return {key: value for key, value in cursor.items() if key != "at"}
    found: Cursor = each.get(name) or {}
    return found


def _conditions(cursor: Cursor, asked: str) -> dict[str, str]:
    if cursor.get("of") != asked:
        return {}
    headers = {"If-None-Match": cursor.get("etag"), "If-Modified-Since": cursor.get("modified")}
    return {name: str(value) for name, value in headers.items() if value}


def _validators(page: Page) -> dict[str, Any]:
    found = {"etag": page.headers.get("etag"), "modified": page.headers.get("last-modified")}
    told = {name: value for name, value in found.items() if value}
    return {**told, "of": page.asked} if told else {}


def _is_above(bound: int | None, other: int | None) -> bool:
    return bound is not None and (other is None or bound > other)
