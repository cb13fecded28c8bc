"""Records of a resource with the cursor after them: in full, or what changed; of one partition, or of all.

The cursors, in plain JSON:

| what is read | in the middle | at the end |
|---|---|---|
| everything | `{"next": place}` | `{}`, or `{"etag": …, "modified": …, "of": address}` |
| by a field, in its order | as at the end | `{field: highest, "_seen": [sign of a record that has it]}` |
| by a field, in any order | `{field: before, "_reading": {"next": place, …}}` | the same |
| all partitions | `{"_at": partition, "_each": {partition: cursor}}` | `{"_each": {…}, field: lowest}` |
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from hakiri.sources.contract import Cursor, Window
from hakiri.sources.rest.config import Incremental, Resource
from hakiri.sources.rest.edges import Edge, OrderCheck
from hakiri.sources.rest.errors import AskRefused
from hakiri.sources.rest.listing import Listing, Page, Query, partition_query, wanted
from hakiri.sources.rest.moments import as_bound, of_moment
from hakiri.sources.rest.places import Place
from hakiri.sources.rest.spans import Span, bounds_of, earlier, params_of, span_of

# An API that no longer knows the place where a read was interrupted says so with one of these.
_STALE = frozenset({400, 404, 410, 422})
# Names that no field of an API is likely to have.
_READING, _EACH, _AT = "_reading", "_each", "_at"


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
        first = names.index(cursor[_AT]) if cursor.get(_AT) in names else 0
        for name, following in zip_longest(names[first:], names[first + 1 :]):
            for portion in self._of_one(each[name], window, {key: name}):
                if portion.cursor is not None:
                    each[name] = portion.cursor
                yield replace(portion, cursor={**self._joint(each), _AT: name})
            at = {} if following is None else {_AT: following}
            yield Portion(records=[], cursor={**self._joint(each), **at})

    def _joint(self, each: Mapping[str, Cursor]) -> dict[str, Any]:
        """The cursors of all partitions, with the lowest value on top where all have one."""
        read = {name: cursor for name, cursor in each.items() if cursor}
        joint: dict[str, Any] = {_EACH: read} if read else {}
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
        edge = Edge(incremental, cursor)
        since, is_over = span.since, False
        while not is_over:
            is_over = True
            params = params_of(incremental, earlier(incremental, since), span.until)
            order = OrderCheck(self.resource, incremental)
            for page in self._pages(replace(query, params=params), None):
                bounds = bounds_of(self.resource, incremental, page.records)
                order.check(bounds)
                yield self._portion(page, edge.take(page.records, bounds, span), edge.cursor())
                if span.is_passed_upwards(bounds):
                    break
                if incremental.keyset and page.after is not None and _is_above(edge.bound, since):
                    # Pages that are counted lose a record when one before it moves to the end meanwhile.
                    since, is_over = edge.bound, False
                    edge.ask_again()
                    break
        yield Portion(records=[], cursor=edge.cursor())

    def _in_any_order(
        self, incremental: Incremental, cursor: Cursor, span: Span, query: Query
    ) -> Generator[Portion, None, None]:
        """The highest value is the cursor only when all is read; until then the place in the listing is."""
        before = {name: value for name, value in cursor.items() if name != _READING}
        reading = cursor.get(_READING) or {}
        edge = Edge(incremental, before, reading.get("edge"))
        is_sorted = incremental.order == "desc" and self.resource.parent is None
        started = reading.get("started")
        query = replace(query, params=params_of(incremental, span.asked_since, span.until))
        order = OrderCheck(self.resource, incremental)
        for page in self._pages(query, reading.get("next")):
            bounds = bounds_of(self.resource, incremental, page.records)
            if is_sorted:
                order.check(bounds)
            elif started is None and page.served_at is not None and incremental.format != "number":
                started = of_moment(page.served_at)
            new = edge.take(page.records, bounds, span, not_after=started)
            state = {"edge": edge.cursor(), "next": page.after, "started": started}
            yield self._portion(page, new, None if page.after is None else {**before, _READING: state})
            if is_sorted and span.is_passed_downwards(bounds):
                break
        yield Portion(records=[], cursor=edge.cursor(not_after=started))

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


def _of_partition(cursor: Cursor, name: str | None) -> Cursor:
    """The part of a cursor that is about one partition. One without parts is about each of them."""
    each = cursor.get(_EACH)
    if each is None:
        return {key: value for key, value in cursor.items() if key != _AT}
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
