"""The connector `shopify`, against a small Shopify on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from tests.support.http_api import Reply, http_breakages
from tests.support.rest import PLACE, Surroundings, connected, rows_of
from tests.support.shopify_api import ShopifyApi, at, customer, order, product

from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Duration, Rate
from hakiri.sources.config import read_config
from hakiri.sources.contract import Batch, Hint, Read, Window
from hakiri.sources.errors import AuthExpired, BadSourceConfig
from hakiri.sources.shopify import ShopifyConfig, ShopifyConnector
from hakiri.sources.testing import ConnectorContract, Subject, maker

TOKEN = "shpat_loopback"
SECRETS = {"SHOPIFY_TOKEN": TOKEN}
TABLES = ("orders", "customers", "products")


class SmallBatches(ShopifyConnector):
    batch_records = 100


def connect(
    api: ShopifyApi, around: Surroundings | None = None, kind: type[ShopifyConnector] = ShopifyConnector
) -> Any:
    return connected({"shop": "openhackers", "base_url": api.url}, around or Surroundings(SECRETS), kind)


def read(connector: Any, table: str = "orders", cursor: Any = None, **more: Any) -> list[Batch]:
    return list(connector.open(Read(table=table, cursor=cursor, incremental="updated_at", **more)))


def names(batches: list[Batch]) -> list[str]:
    return [row["name"] for row in rows_of(batches)]


def config_of(config: dict[str, Any], *secrets: str) -> ShopifyConfig:
    return read_config(ShopifyConfig, config, connector="shopify", place=PLACE, secrets=secrets)


def test_the_config_that_the_manifest_prints_is_enough() -> None:
    around = Surroundings(SECRETS)
    with connected({"shop": "openhackers"}, around, ShopifyConnector) as connector:
        assert connector.config.base_url == "https://openhackers.myshopify.com/admin/api/2026-01"
        assert [table.name for table in connector.discover()] == [*TABLES]


@pytest.mark.parametrize(
    ("config", "problem", "hint"),
    [
        (
            {},
            "`shop` is missing",
            "write the shop's name, as in `openhackers`: what stands before .myshopify.com",
        ),
        (
            {"shop": "openhackers.myshopify.com"},
            "`shop` is no name of a shop",
            "write what stands before `.myshopify.com`",
        ),
        (
            {"shop": "a", "api_version": "latest"},
            "`api_version` is no version of the API",
            "write it as in `2026-01`",
        ),
        (
            {"shop": "a", "token": "shpat_x"},
            "`token` holds a secret that is written out",
            "write `${NAME}` in its place, and NAME in the pipeline's `secrets`",
        ),
        (
            {"shop": "a"},
            "`${SHOPIFY_TOKEN}` is not among the pipeline's secrets",
            'write `secrets = ["SHOPIFY_TOKEN"]` in the pipeline, and export SHOPIFY_TOKEN',
        ),
    ],
)
def test_a_config_that_is_wrong_is_told(config: dict[str, Any], problem: str, hint: str) -> None:
    with pytest.raises(BadSourceConfig) as refused:
        config_of(config)

    assert str(refused.value) == f"the config of connector `shopify` is wrong: {problem}"
    assert refused.value.hint == hint


def test_everything_of_the_main_fields_has_a_column() -> None:
    with ShopifyApi(token=TOKEN) as api, connect(api) as connector:
        api.add("orders", order(1, seconds=1))
        api.add("customers", customer(1, seconds=1))
        api.add("products", product(1, seconds=1))
        rows = {table: rows_of(read(connector, table))[0] for table in TABLES}

    assert {row["_extra"] for row in rows.values()} == {None}
    assert rows["orders"]["total_price"] == Decimal("199.6500")
    assert rows["orders"]["line_items"][0]["tax_lines"][0]["rate"] == 0.06
    assert rows["orders"]["updated_at"] == at(1)
    assert rows["customers"]["default_address"]["city"] == "Ottawa"
    assert rows["products"]["variants"][0]["price"] == Decimal("199.0000")


def test_closed_orders_are_read_and_the_token_goes_into_its_header() -> None:
    with ShopifyApi(token=TOKEN) as api, connect(api) as connector:
        api.add("orders", order(1, seconds=1), order(2, seconds=2, status="closed"))

        assert names(read(connector)) == ["#1001", "#1002"]
        assert api.calls[0].headers["x-shopify-access-token"] == TOKEN
        assert api.calls[0].params == {"status": "any", "order": "updated_at asc", "limit": "250"}


def test_pages_are_followed_by_their_page_info_alone() -> None:
    with ShopifyApi(token=TOKEN) as api, connect(api) as connector:
        api.add("orders", *(order(number, seconds=number) for number in range(600)))
        found = names(read(connector, cursor={"updated_at": at(10)}))

    assert len(found) == 590
    assert [call.params.keys() for call in api.calls[1:]] == [{"limit", "page_info"}] * 2


@pytest.mark.spec("HP-111")
def test_the_hint_is_by_month_and_twice_a_second() -> None:
    with ShopifyApi(token=TOKEN) as api, connect(api) as connector:
        hints = [connector.backfill_hint(table) for table in TABLES]

    by_month = Hint(
        cursor_kind=CursorKind.MONOTONIC,
        cursor_field="updated_at",
        natural_window=Duration.parse("30d"),
        rate_budget=Rate.parse("2/s"),
    )
    assert hints == [by_month] * 3
    assert api.calls == []


def test_a_window_is_asked_for_at_both_ends_and_cut_at_its_end() -> None:
    with ShopifyApi(token=TOKEN) as api, connect(api) as connector:
        api.add("orders", *(order(number, seconds=number) for number in range(9)))
        found = names(read(connector, window=Window(field="updated_at", since=at(2), until=at(5))))

    assert found == ["#1002", "#1003", "#1004"]
    assert api.calls[0].params["updated_at_min"] == "2026-01-01T00:00:02Z"
    assert api.calls[0].params["updated_at_max"] == "2026-01-01T00:00:05Z"


def test_a_second_read_gives_nothing_and_the_next_what_changed() -> None:
    with ShopifyApi(token=TOKEN) as api, connect(api) as connector:
        api.add("orders", *(order(number, seconds=number // 2) for number in range(9)))
        cursor = read(connector)[-1].cursor
        again = read(connector, cursor=cursor)
        api.add("orders", order(3, seconds=50))

        assert again == []
        assert names(read(connector, cursor=cursor)) == ["#1003"]


def test_an_interrupted_read_whose_page_info_has_expired_starts_over() -> None:
    with ShopifyApi(token=TOKEN) as api, connect(api, kind=SmallBatches) as connector:
        api.add("orders", *(order(number, seconds=number) for number in range(600)))
        interrupted = read(connector)[0].cursor
        assert interrupted is not None
        api.script(Reply(status=400, body={"errors": {"page_info": "Invalid value."}}))

        assert len(names(read(connector, cursor=interrupted))) == 600


def test_a_shop_that_is_called_too_often_is_left_alone_as_long_as_it_asks() -> None:
    around = Surroundings(SECRETS)
    with ShopifyApi(token=TOKEN) as api, connect(api, around) as connector:
        api.add("orders", order(1, seconds=1))
        api.script(Reply(status=429, headers={"retry-after": "2.0"}))

        assert names(read(connector)) == ["#1001"]
        assert 2 <= around.waits[0] <= 2.5


def test_a_token_that_the_shop_does_not_know_is_told_and_not_shown() -> None:
    around = Surroundings({"SHOPIFY_TOKEN": "shpat_wrong"})
    with (
        ShopifyApi(token=TOKEN) as api,
        connect(api, around) as connector,
        pytest.raises(AuthExpired) as refused,
    ):
        connector.check()

    assert str(refused.value) == (
        "the shop at `/admin/api/2026-01/shop.json` was answered with 401: "
        "[API] Invalid API key or access token"
    )


def test_a_check_says_which_shop_was_reached() -> None:
    with ShopifyApi(token=TOKEN) as api, connect(api) as connector:
        assert connector.check() == f"the shop `Open Hackers` at {api.url}/admin/api/2026-01"


@pytest.mark.proof
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
                breakages=http_breakages(api, TOKEN),
            )
