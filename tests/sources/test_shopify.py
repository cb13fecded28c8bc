"""The connector `shopify`, against a small Shopify on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.shopify_api import ShopifyApi, customer, order, product

from hakiri.sources.shopify import ShopifyConnector
from hakiri.sources.testing import ConnectorContract, Subject, maker

TOKEN = "shpat_loopback"


class SmallBatches(ShopifyConnector):
    batch_records = 100


class TestShopify(ConnectorContract):
    @pytest.fixture
    def source(self) -> Iterator[Subject]:
        with ShopifyApi(token=TOKEN) as api:
            api.add("orders", *(order(number, seconds=number // 3) for number in range(600)))
            api.add("customers", *(customer(number, seconds=number) for number in range(1, 5)))

            def grow(table: str) -> int:
                number = len(api.tables[table]) + 5000
                made = {"orders": order, "customers": customer, "products": product}[table]
                api.add(table, made(number, seconds=number))
                return 1

            yield Subject(
                make=maker(
                    SmallBatches, {"shop": "openhackers", "base_url": api.url}, secrets=("SHOPIFY_TOKEN",)
                ),
                rows={"orders": 600, "customers": 4, "products": 0},
                secrets={"SHOPIFY_TOKEN": TOKEN},
                incremental=dict.fromkeys(("orders", "customers", "products"), "updated_at"),
                grow=grow,
                calls=lambda: len(api.calls),
            )
