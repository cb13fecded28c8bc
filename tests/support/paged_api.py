"""An API with some tables, which gives each of them in pages of every kind there is."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import urlencode

from tests.support.http_api import Call, HttpApi, Reply, not_found

KINDS = ("link", "page", "offset", "cursor", "next_url", "none")
# How each kind is told to the connector `rest`.
PAGINATION: dict[str, dict[str, Any]] = {
    "link": {"type": "link"},
    "page": {"type": "page", "size": 3, "size_param": "size"},
    "offset": {"type": "offset", "size": 3, "size_param": "size"},
    "cursor": {"type": "cursor", "param": "token", "path": "next"},
    "next_url": {"type": "next_url", "path": "links.next"},
    "none": {"type": "none"},
}
RECORDS = {"link": "", "none": "", "page": "items", "offset": "items", "cursor": "items", "next_url": "items"}


def config_for(api: HttpApi, kind: str, *tables: str | dict[str, Any], **more: Any) -> dict[str, Any]:
    """The config of `rest` for these tables, in pages of this kind."""
    resources = [{"name": table} if isinstance(table, str) else table for table in tables]
    return {
        "base_url": f"{api.url}/{kind}",
        "pagination": PAGINATION[kind],
        "resources": [{"records": RECORDS[kind], **resource} for resource in resources],
        **more,
    }


class PagedApi(HttpApi):
    """Serves `tables` below `/<kind>/<table>`; takes `since`, `until` and `sort` for the field `updated_at`.

    `page_records` is how many a page has, whatever is asked for, and `etag` that of every answer.
    """

    def __init__(self, page_records: int = 3) -> None:
        super().__init__(self._answered)
        self.tables: dict[str, list[dict[str, Any]]] = {}
        self.page_records = page_records
        self.etag = ""

    def _answered(self, call: Call) -> Reply:
        kind, _, table = call.path.removeprefix("/").partition("/")
        if kind not in KINDS or table not in self.tables:
            return not_found(call)
        if self.etag and call.headers.get("if-none-match") == self.etag:
            return Reply(status=304)
        reply = self._page(call, kind, self._wanted(table, call.params))
        return Reply(body=reply.body, headers={**reply.headers, **({"etag": self.etag} if self.etag else {})})

    def _wanted(self, table: str, asked: dict[str, str]) -> list[dict[str, Any]]:
        found = self.tables[table]
        if "since" in asked:
            found = [record for record in found if str(record["updated_at"]) >= asked["since"]]
        if "until" in asked:
            found = [record for record in found if str(record["updated_at"]) < asked["until"]]
        if "sort" in asked:
            found = sorted(found, key=lambda record: record["updated_at"], reverse=asked["sort"] == "desc")
        return found

    def _page(self, call: Call, kind: str, found: list[dict[str, Any]]) -> Reply:
        size, asked = self.page_records, call.params
        if kind == "none":
            return Reply(body=found)
        start = self._start(kind, asked)
        page, is_last = found[start : start + size], start + size >= len(found)
        if kind == "page":
            return Reply(body={"items": page, "pages": -(-len(found) // size)})
        if kind == "offset":
            return Reply(body={"items": page, "total": len(found)})
        if kind == "cursor":
            token = base64.b64encode(f"{start + size}".encode()).decode()
            return Reply(body={"items": page, "next": None if is_last else token})
        following = f"{call.path}?{urlencode({**asked, 'from': start + size})}"
        if kind == "next_url":
            return Reply(body={"items": page, "links": {"next": None if is_last else following}})
        headers = {} if is_last else {"link": f'<{self.url}{following}>; rel="next"'}
        return Reply(body=page, headers=headers)

    def _start(self, kind: str, asked: dict[str, str]) -> int:
        match kind:
            case "page":
                return (int(asked.get("page", 1)) - 1) * self.page_records
            case "offset":
                return int(asked.get("offset", 0))
            case "cursor":
                return int(base64.b64decode(asked.get("token", "")) or 0)
        return int(asked.get("from", 0))
