"""Where a listing goes on: which page to ask for, and which after it. Decides, and asks for nothing.

A place is plain JSON, so that it can be kept in a cursor: `{"url": …}`, `{"page": 3}`, `{"offset": 200}` or
`{"token": …}`; None is the start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from hakiri.core.nearest import nearest
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.json_rows.paths import names_in
from hakiri.sources.rest.config import Pagination

Place: TypeAlias = Mapping[str, Any]

_KEYS = {"link": "url", "next_url": "url", "page": "page", "offset": "offset", "cursor": "token"}
_KINDS: dict[str, type] = {"url": str, "page": int, "offset": int, "token": str}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a page: enough to tell where the next one is.

    `fullest` is the most records that any page had so far; `here` makes an address of a URL.
    """

    document: Any
    next_link: str | None
    count: int
    last: Mapping[str, Any] | None
    fullest: int
    here: Callable[[str], str]


def is_place_of(pagination: Pagination, place: Any) -> bool:
    """Whether a place that was kept is one of this pagination; it is not after the config has changed."""
    key = _KEYS.get(pagination.type)
    return isinstance(place, Mapping) and key is not None and isinstance(place.get(key), _KINDS[key])


def params_for(pagination: Pagination, place: Place | None) -> dict[str, Any]:
    """The parameters that ask for a page, where its place is not a whole address."""
    params: dict[str, Any] = {}
    match pagination.type:
        case "page":
            params[pagination.param or "page"] = place["page"] if place else _first_page(pagination)
        case "offset":
            params[pagination.param or "offset"] = place["offset"] if place else pagination.start or 0
        case "cursor" if place is not None:
            params[pagination.param or ""] = place["token"]
    size_param = pagination.size_param or ("limit" if pagination.type == "offset" else None)
    if pagination.size is not None and size_param is not None:
        params[size_param] = pagination.size
    return params


def place_after(pagination: Pagination, place: Place | None, facts: Facts) -> Place | None:
    """Where the listing goes on after this page; None at its end. Raises PermanentFailure."""
    match pagination.type:
        case "link":
            return {"url": facts.here(facts.next_link)} if facts.next_link else None
        case "next_url":
            url = value_at(facts.document, pagination.path or "")
            if url is not None and not isinstance(url, str):
                raise _odd(pagination.path, "no URL")
            return {"url": facts.here(url)} if url else None
        case "page":
            return _page_after(pagination, place, facts)
        case "offset":
            return _offset_after(pagination, place, facts)
        case "cursor":
            return _token_after(pagination, facts)
        case "none":
            return None


def value_at(document: Any, path: str) -> Any:
    """The value at a path, None where it leads to nothing."""
    for name in names_in(path):
        if not isinstance(document, dict):
            return None
        document = document.get(name)
    return document


def _first_page(pagination: Pagination) -> int:
    return 1 if pagination.start is None else pagination.start


def _page_after(pagination: Pagination, place: Place | None, facts: Facts) -> Place | None:
    page = place["page"] if place else _first_page(pagination)
    if pagination.total_pages is not None:
        pages = _count_at(facts.document, pagination.total_pages)
        return {"page": page + 1} if page + 1 < _first_page(pagination) + pages else None
    return None if _is_last(pagination, facts) else {"page": page + 1}


def _offset_after(pagination: Pagination, place: Place | None, facts: Facts) -> Place | None:
    # By what came, not by what was asked for: an API that gives fewer records than asked must lose none.
    offset = (place["offset"] if place else pagination.start or 0) + facts.count
    if pagination.total is not None:
        total = _count_at(facts.document, pagination.total)
        return {"offset": offset} if facts.count and offset < (pagination.start or 0) + total else None
    return None if _is_last(pagination, facts) else {"offset": offset}


def _token_after(pagination: Pagination, facts: Facts) -> Place | None:
    if pagination.more is not None and not value_at(facts.document, pagination.more):
        return None
    if pagination.path is not None:
        token = value_at(facts.document, pagination.path)
    else:
        token = value_at(facts.last, pagination.field or "") if facts.last else None
        if token is None and facts.last is not None:
            meant = nearest(pagination.field or "", facts.last)
            raise PermanentFailure(
                f"the last record of a page has no `{pagination.field}`, which is the token of the next",
                hint=f"did you mean `{meant}`?" if meant else "check `field` in `pagination`",
            )
    if token is None or token == "":
        return None
    if isinstance(token, bool) or not isinstance(token, str | int):
        raise _odd(pagination.path or pagination.field, "no token")
    return {"token": str(token)}


def _is_last(pagination: Pagination, facts: Facts) -> bool:
    """Whether the page is empty, or shorter than pages are known to be.

    A page that is shorter than asked for says nothing by itself: the API may give fewer than it is asked for.
    """
    return not facts.count or (
        pagination.size is not None and facts.count < min(pagination.size, facts.fullest)
    )


def _count_at(document: Any, path: str) -> int:
    count = value_at(document, path)
    if isinstance(count, bool) or not isinstance(count, int):
        raise _odd(path, "no whole number")
    return count


def _odd(path: str | None, problem: str) -> PermanentFailure:
    return PermanentFailure(
        f"there is {problem} at `{path}` of a page", hint="check `pagination` in the source's config"
    )
