"""A GitHub and a Shopify that were busy in the last weeks, so that their history is a few windows long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.github_api import T0, Repository
from tests.support.http_api import Call
from tests.support.shopify_api import ShopifyApi, customer, order, product

SHOP_TOKEN = "shpat_loopback"


def days_ago(days: float) -> float:
    """That moment, in the seconds after the start of 2026 that the services count by."""
    return (datetime.now(UTC) - timedelta(days=days) - T0).total_seconds()


def busy_repository(name: str, *, days: int = 40) -> Repository:
    """Something happens every day: issues, of which every third is a pull request, and comments."""
    repository = Repository(name=name)
    for day in range(days, 0, -1):
        number = days - day + 1
        if number % 3:
            repository.add_issue(number, seconds=days_ago(day), state="closed" if number % 2 else "open")
        else:
            repository.add_pull_request(number, seconds=days_ago(day))
        if day < days / 2:
            repository.add_comment(number, seconds=days_ago(day))
    return repository


def busy_shop() -> ShopifyApi:
    """Orders, customers and products; the orders need more than one page."""
    shop = ShopifyApi(token=SHOP_TOKEN)
    shop.add("orders", *(order(number, seconds=days_ago(30 - number / 10)) for number in range(1, 261)))
    shop.add("customers", *(customer(number, seconds=days_ago(20 - number)) for number in range(1, 8)))
    shop.add("products", *(product(number, seconds=days_ago(10 - number)) for number in range(1, 4)))
    return shop


def github_rows(repository: Repository) -> dict[str, list[tuple[Any, ...]]]:
    """What the three tables of a repository have to hold: id, when it was changed, and who wrote it."""
    issues = [entry for entry in repository.entries.values() if "pull_request" not in entry]
    tables = {
        "github_issues": issues,
        "github_pull_requests": repository.pulls(),
        "github_comments": list(repository.remarks.values()),
    }
    return {
        table: sorted((record["id"], record["updated_at"], record["user"]["login"]) for record in records)
        for table, records in tables.items()
    }


def shopify_rows(shop: ShopifyApi) -> dict[str, list[tuple[Any, ...]]]:
    """What the three tables of the shop have to hold: id, and when it was changed."""
    return {
        f"shopify_{table}": sorted((record["id"], record["updated_at"]) for record in records.values())
        for table, records in shop.tables.items()
    }


def asked_for(calls: list[Call], table: str) -> list[Call]:
    """The calls for rows of one table of GitHub or Shopify."""
    ends = {"issues": "/issues", "pull_requests": "/pulls", "comments": "/issues/comments"}
    return [call for call in calls if call.path.endswith(ends.get(table, f"/{table}.json"))]


def most_in_window(calls: list[Call], seconds: float) -> int:
    """The most calls that arrived within so many seconds, as the service counts them."""
    times = sorted(call.at for call in calls)
    return max((sum(1 for at in times if start <= at < start + seconds) for start in times), default=0)
