"""A small Shopify: the endpoints, parameters and pages that its REST Admin documentation describes."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from tests.support.http_api import Call, HttpApi, Reply

T0 = datetime(2026, 1, 1, tzinfo=UTC)
VERSION = "2026-01"
MOST, USUAL = 250, 50
TABLES = ("orders", "customers", "products")


def at(seconds: float) -> str:
    """A time as Shopify writes it, in the shop's own zone."""
    return (T0 + timedelta(seconds=seconds, hours=-4)).strftime("%Y-%m-%dT%H:%M:%S-04:00")


def order(number: int, *, seconds: float, status: str = "open") -> dict[str, Any]:
    return {
        "id": 450_789_000 + number,
        "admin_graphql_api_id": f"gid://shopify/Order/{number}",
        "name": f"#{1000 + number}",
        "order_number": 1000 + number,
        "email": "bob@example.com",
        "created_at": at(0),
        "updated_at": at(seconds),
        "closed_at": at(seconds) if status == "closed" else None,
        "currency": "USD",
        "financial_status": "paid",
        "total_price": "199.65",
        "total_tax": "11.94",
        "test": False,
        "tags": "imported, vip",
        "discount_codes": [{"code": "TENOFF", "amount": "10.00", "type": "fixed_amount"}],
        "line_items": [
            {
                "id": 466_157_049,
                "sku": "IPOD2008GREEN",
                "name": "IPod Nano - 8gb",
                "quantity": 1,
                "price": "199.00",
                "tax_lines": [{"title": "State Tax", "price": "3.98", "rate": 0.06}],
            }
        ],
        "customer": {"id": 207_119_551, "email": "bob@example.com", "first_name": "Bob"},
    }


def customer(number: int, *, seconds: float) -> dict[str, Any]:
    return {
        "id": number,
        "email": f"customer{number}@example.com",
        "first_name": "Bob",
        "orders_count": 1,
        "total_spent": "199.65",
        "created_at": at(0),
        "updated_at": at(seconds),
        "default_address": {"id": 1, "customer_id": number, "city": "Ottawa", "country_code": "CA"},
    }


def product(number: int, *, seconds: float) -> dict[str, Any]:
    return {
        "id": number,
        "title": "IPod Nano - 8GB",
        "vendor": "Apple",
        "status": "active",
        "created_at": at(0),
        "updated_at": at(seconds),
        "variants": [{"id": 1, "product_id": number, "price": "199.00", "inventory_quantity": 10}],
        "options": [{"id": 1, "product_id": number, "name": "Color", "position": 1, "values": ["Pink"]}],
    }


class ShopifyApi(HttpApi):
    """One shop with three tables, each by id, and one token."""

    def __init__(self, *, token: str) -> None:
        super().__init__(self._answered)
        self.token = token
        self.tables: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in TABLES}

    def add(self, table: str, *records: dict[str, Any]) -> None:
        self.tables[table].update({record["id"]: record for record in records})

    def _answered(self, call: Call) -> Reply:
        if call.headers.get("x-shopify-access-token") != self.token:
            return Reply(status=401, body={"errors": "[API] Invalid API key or access token"})
        name = call.path.removeprefix(f"/admin/api/{VERSION}/").removesuffix(".json")
        if name == "shop":
            return Reply(body={"shop": {"id": 1, "name": "Open Hackers"}})
        if name not in self.tables:
            return Reply(status=404, body={"errors": "Not Found"})
        if "page_info" in call.params and call.params.keys() - {"page_info", "limit", "fields"}:
            return Reply(status=400, body={"errors": {"page_info": "no other parameter goes with it"}})
        return self._page(call, name)

    def _page(self, call: Call, name: str) -> Reply:
        asked = call.params
        limit = min(int(asked.get("limit", USUAL)), MOST)
        state = _unpacked(asked["page_info"]) if "page_info" in asked else {"asked": asked, "after": None}
        if state is None:
            return Reply(status=400, body={"errors": {"page_info": "Invalid value."}})
        found = sorted(
            (record for record in self.tables[name].values() if _is_wanted(record, name, state["asked"])),
            key=_place,
        )
        rest = [
            record for record in found if state["after"] is None or _place(record) > tuple(state["after"])
        ]
        page, headers = rest[:limit], {"x-shopify-shop-api-call-limit": "1/40"}
        if len(rest) > limit:
            info = _packed({"asked": state["asked"], "after": _place(page[-1])})
            query = urlencode({"limit": limit, "page_info": info})
            headers["link"] = f'<{self.url}{call.path}?{query}>; rel="next"'
        return Reply(body={name: page}, headers=headers)


def _place(record: dict[str, Any]) -> tuple[str, int]:
    return record["updated_at"], record["id"]


def _is_wanted(record: dict[str, Any], name: str, asked: dict[str, str]) -> bool:
    moment = datetime.fromisoformat(record["updated_at"])
    low, high = asked.get("updated_at_min"), asked.get("updated_at_max")
    if low is not None and moment < datetime.fromisoformat(low):
        return False
    if high is not None and moment > datetime.fromisoformat(high):
        return False
    return name != "orders" or asked.get("status") == "any" or record["closed_at"] is None


def _packed(state: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(state).encode()).decode()


def _unpacked(text: str) -> dict[str, Any] | None:
    try:
        return dict(json.loads(base64.urlsafe_b64decode(text)))
    except ValueError:
        return None
