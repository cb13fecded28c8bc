"""The pages of a resource, one after the other, from any place on; those of a child by way of its parents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from hakiri.sources.errors import PermanentFailure
from hakiri.sources.json_rows import records_at
from hakiri.sources.rest.addresses import address, quoted
from hakiri.sources.rest.answers import moment_of
from hakiri.sources.rest.client import Client
from hakiri.sources.rest.config import Pagination, Parent, Resource, RestConfig
from hakiri.sources.rest.places import Facts, Place, is_place_of, params_for, place_after, value_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Records as they came, where the page was, and where the listing goes on after it (None at its end)."""

    records: list[dict[str, Any]]
    asked: str
    place: Place | None
    after: Place | None
    headers: Mapping[str, str]
    size_bytes: int

    @property
    def served_at(self) -> datetime | None:
        """The time at the server when it answered."""
        return moment_of(self.headers.get("date", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is wanted of a resource besides its place: the names in the path, parameters, and what to keep.

    `if_changed` are headers that let the API say that nothing changed; there is no page then.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    keep: Mapping[str, Any] = field(default_factory=dict)
    if_changed: Mapping[str, str] = field(default_factory=dict)
    keep_digits: bool = False


class Listing:
    """Turns the pages of the resources of one API."""

    def __init__(self, config: RestConfig, client: Client) -> None:
        self._config = config
        self._client = client
        self._fullest: dict[str, int] = {}

    def pages(self, resource: Resource, query: Query, place: Place | None = None) -> Iterator[Page]:
        """All pages from this place on. Raises PermanentFailure if they go round in a circle."""
        if resource.parent is None:
            return self._turned(resource, query, place)
        return self._of_children(resource, resource.parent, query, place)

    def first_address(self, resource: Resource, query: Query) -> str:
        """Where the first page is, of a resource without a parent."""
        return self._address(resource, query, self._config.pagination_of(resource), None)

    def _turned(self, resource: Resource, query: Query, place: Place | None) -> Iterator[Page]:
        pagination = self._config.pagination_of(resource)
        if place is not None and not is_place_of(pagination, place):
            place = None
        seen: set[str] = set()
        before: list[dict[str, Any]] = []
        if_changed = query.if_changed
        while True:
            asked = self._address(resource, query, pagination, place)
            if asked in seen:
                raise _circle(resource, f"`{asked}` leads back to itself")
            seen.add(asked)
            answer = self._client.get(
                asked, about=f"`{resource.name}`", keep_digits=query.keep_digits, headers=if_changed
            )
            if answer.is_unchanged:
                return
            records = records_at(answer.document, resource.records)
            if records and pagination.type in {"page", "offset"} and records == before:
                raise _circle(resource, f"`{asked}` is the same as the page before it")
            before, if_changed = records, {}
            fullest = self._fullest[resource.name] = max(self._fullest.get(resource.name, 0), len(records))
            facts = Facts(
                document=answer.document,
                next_link=answer.next_link,
                count=len(records),
                last=records[-1] if records else None,
                fullest=fullest,
                here=lambda url, asked=asked: self._client.here(asked, url),  # type: ignore[misc]
            )
            after = place_after(pagination, place, facts)
            if query.keep:
                records = [{**query.keep, **record} for record in records]
            yield Page(
                records=records,
                asked=asked,
                place=place,
                after=after,
                headers=answer.headers,
                size_bytes=answer.size_bytes,
            )
            if after is None:
                return
            place = after

    def _of_children(
        self, resource: Resource, parent: Parent, query: Query, place: Place | None
    ) -> Iterator[Page]:
        """A place is that of the parents' page, the parent on it, and the place in its listing."""
        above = self._config.resource(parent.resource)
        assert above is not None  # noqa: S101 - the config was checked
        at, within = (place or {}).get("at"), (place or {}).get("within")
        for page in self.pages(above, Query(), (place or {}).get("parents")):
            families = [_family(parent, record) for record in wanted(above, page.records)]
            # A parent that has left its page meanwhile: the page is read from its beginning.
            first = next((number for number, family in enumerate(families) if family.values == at), None)
            if first is None:
                first, within = 0, None
            for number in range(first, len(families)):
                family = families[number]
                following = _following(page, families, number)
                inner = replace(query, values=_quoted(family.values), keep=family.keep)
                here = {"parents": page.place, "at": family.values}
                for child in self._turned(resource, inner, within):
                    after = following if child.after is None else {**here, "within": child.after}
                    yield replace(child, after=after, place={**here, "within": child.place})
                within = None
            at = None

    def _address(self, resource: Resource, query: Query, pagination: Pagination, place: Place | None) -> str:
        if place is not None and "url" in place:
            return str(place["url"])
        params = {**resource.params, **query.params, **params_for(pagination, place)}
        return address(self._config.base_url, resource.below, query.values, params)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """What a child needs of its parent: the names in its path, and the columns it keeps."""

    values: Mapping[str, Any]
    keep: Mapping[str, Any]


def partition_query(
    partition: Mapping[str, str], *, params: Mapping[str, Any] | None = None, keep_digits: bool = False
) -> Query:
    """What is wanted of one partition; its value becomes a column."""
    return Query(
        values={name: quoted(value, keep="/") for name, value in partition.items()},
        params=params or {},
        keep=partition,
        keep_digits=keep_digits,
    )


def wanted(resource: Resource, records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records without those that the config leaves out."""
    if resource.without is None:
        return list(records)
    return [record for record in records if value_at(record, resource.without) is None]


def _family(parent: Parent, record: Mapping[str, Any]) -> _Family:
    values = {name: value_at(record, path) for name, path in parent.values.items()}
    for name, value in values.items():
        if isinstance(value, dict | list) or value is None or value == "":
            raise PermanentFailure(
                f"a record of `{parent.resource}` has no `{parent.values[name]}` that could stand in a path",
                hint="check `parent` in the config of the resource",
            )
    return _Family(values=values, keep={name: value_at(record, path) for name, path in parent.kept.items()})


def _following(page: Page, families: Sequence[_Family], number: int) -> Place | None:
    if number + 1 < len(families):
        return {"parents": page.place, "at": families[number + 1].values}
    return None if page.after is None else {"parents": page.after}


def _quoted(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: quoted(value) for name, value in values.items()}


def _circle(resource: Resource, problem: str) -> PermanentFailure:
    return PermanentFailure(
        f"the pages of `{resource.name}` go round in a circle: {problem}",
        hint="check `pagination` in the source's config; the API may have another one",
    )
