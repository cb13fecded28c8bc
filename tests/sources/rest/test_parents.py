"""Resources whose path is made of the records of another."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.http_api import Call, HttpApi, Reply
from tests.support.rest import connected, read_all, rows_of

from hakiri.sources.contract import Read
from hakiri.sources.errors import PermanentFailure

ORDERS = {"name": "orders", "primary_key": ["id"]}
ITEMS = {
    "name": "items",
    "path": "orders/{order}/items",
    "parent": {"resource": "orders", "values": {"order": "id"}},
}
TAXES = {
    "name": "taxes",
    "path": "orders/{order}/items/{item}/taxes",
    "parent": {"resource": "items", "values": {"order": "order", "item": "sku"}},
}


class Orders(HttpApi):
    """Orders with items, and items with taxes, each listing in pages of its own size."""

    def __init__(self, sizes: list[int], *, page_records: int = 2) -> None:
        super().__init__(self._answered)
        self.sizes = sizes
        self.page_records = page_records

    def _answered(self, call: Call) -> Reply:
        _, *names = call.path.strip("/").split("/")
        match names:
            case []:
                found: list[Any] = [{"id": n, "name": f"#{n}"} for n in range(len(self.sizes))]
            case [order, "items"]:
                found = [{"sku": f"s{n}"} for n in range(self.sizes[int(order)])]
            case [order, "items", item, "taxes"]:
                found = [{"rate": f"{order}-{item}"}]
        start = int(call.params.get("from", 0))
        end = start + self.page_records
        link = {"link": f'<{call.path}?from={end}>; rel="next"'} if end < len(found) else {}
        return Reply(body=found[start:end], headers=link)


def config(api: HttpApi, *resources: dict[str, Any]) -> dict[str, Any]:
    return {"base_url": api.url, "resources": [*resources]}


def test_children_carry_what_led_to_them() -> None:
    with Orders([2, 0, 3]) as api:
        rows = read_all(config(api, ORDERS, ITEMS), "items")

    assert [(row["order"], row["sku"]) for row in rows] == [
        (0, "s0"),
        (0, "s1"),
        (2, "s0"),
        (2, "s1"),
        (2, "s2"),
    ]


def test_other_fields_of_the_parent_may_be_kept_and_none_need_be() -> None:
    kept = {**ITEMS, "parent": {**ITEMS["parent"], "keep": {"order_name": "name"}}}  # type: ignore[dict-item]
    bare = {**ITEMS, "parent": {**ITEMS["parent"], "keep": {}}}  # type: ignore[dict-item]
    with Orders([1]) as api:
        with_name = read_all(config(api, ORDERS, kept), "items")
        without = read_all(config(api, ORDERS, bare), "items")

    assert with_name == [{"order_name": "#0", "sku": "s0", "_extra": None}]
    assert without == [{"sku": "s0", "_extra": None}]


def test_children_have_children() -> None:
    with Orders([1, 2]) as api:
        rows = read_all(config(api, ORDERS, ITEMS, TAXES), "taxes")

    assert [row["rate"] for row in rows] == ["0-s0", "1-s0", "1-s1"]


@pytest.mark.spec("HP-027")
@pytest.mark.parametrize("table", ["items", "taxes"])
@given(
    sizes=st.lists(st.integers(0, 3), min_size=1, max_size=4),
    page_records=st.integers(1, 3),
    taken=st.integers(0, 12),
)
@settings(max_examples=15, deadline=None)
def test_a_read_of_children_goes_on_after_any_batch(
    table: str, sizes: list[int], page_records: int, taken: int
) -> None:
    with (
        Orders(sizes, page_records=page_records) as api,
        connected(config(api, ORDERS, ITEMS, TAXES)) as connector,
    ):
        connector.batch_records = 1
        batches = list(connector.open(Read(table=table)))
        whole, begun = rows_of(batches), batches[:taken]
        cursor = begun[-1].cursor if begun else None
        rest = rows_of(connector.open(Read(table=table, cursor=cursor)))

    assert rest == whole if not cursor else rows_of(begun) + rest == whole


def test_a_parent_that_is_gone_meanwhile_has_its_page_read_again() -> None:
    with Orders([1, 1, 1, 1]) as api, connected(config(api, ORDERS, ITEMS)) as connector:
        place = {"next": {"parents": None, "at": {"order": 77}, "within": {"url": "/gone"}}}
        rows = rows_of(connector.open(Read(table="items", cursor=place)))

    assert [row["order"] for row in rows] == [0, 1, 2, 3]


def test_a_value_from_a_parent_is_quoted_for_its_place_in_the_path() -> None:
    def answered(call: Call) -> Reply:
        return Reply(body=[{"id": "a/../b?c"}] if call.path == "/orders" else [{"sku": call.path}])

    with HttpApi(answered) as api:
        rows = read_all(config(api, ORDERS, ITEMS), "items")

    assert rows[0]["sku"] == "/orders/a%2F..%2Fb%3Fc/items"


@pytest.mark.parametrize("parent", [{"number": 1}, {"id": None}, {"id": ""}, {"id": {"a": 1}}])
def test_a_parent_without_the_value_is_refused(parent: dict[str, Any]) -> None:
    with HttpApi(lambda call: Reply(body=[parent])) as api, pytest.raises(PermanentFailure) as refused:
        read_all(config(api, {"name": "orders"}, ITEMS), "items")

    assert str(refused.value) == "a record of `orders` has no `id` that could stand in a path"


def test_children_are_read_by_what_changed_in_each_of_them() -> None:
    def answered(call: Call) -> Reply:
        if call.path == "/orders":
            return Reply(body=[{"id": 1}, {"id": 2}])
        order = int(call.path.split("/")[2])
        items = [{"sku": f"{order}{n}", "at": f"2026-05-1{(order + n) % 3}T00:00:00Z"} for n in range(3)]
        return Reply(body=[item for item in items if item["at"] >= call.params.get("since", "")])

    incremental = {"field": "at", "param": "since", "order": "asc"}
    with (
        HttpApi(answered) as api,
        connected(config(api, ORDERS, {**ITEMS, "incremental": incremental})) as connector,
    ):
        whole = list(connector.open(Read(table="items")))
        later = rows_of(connector.open(Read(table="items", cursor={"at": "2026-05-12T00:00:00Z"})))

    assert len(rows_of(whole)) == 6
    assert whole[-1].cursor is not None
    assert whole[-1].cursor["at"] == "2026-05-12T00:00:00Z"
    assert sorted(row["sku"] for row in later) == ["11", "20"]
