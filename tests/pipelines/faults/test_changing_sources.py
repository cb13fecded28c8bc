"""A source that changes while it is read: after the next run the table is what the source is."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from tests.support.counted import CountedSource, manifest, moments
from tests.support.github_api import GithubApi, Repository
from tests.support.http_api import Call
from tests.support.runtime import Lab
from tests.support.services import days_ago, github_rows
from tests.support.shopify_api import ShopifyApi, order
from tests.support.troubles import Trouble, says

from hakiri.pipelines.runtime.steps import Step

pytestmark = pytest.mark.spark
STORED = "SELECT id, part, v FROM counted_items ORDER BY id"


def at_every(step: Step, change: Callable[[int], None]) -> Callable[[Step], None]:
    """Calls `change` with 1, 2, … whenever a run comes to the step."""
    numbers = itertools.count(1)

    def reached(now: Step) -> None:
        if now is step:
            change(next(numbers))

    return reached


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        ("monotonic", Step.JOB_STARTED),
        ("monotonic", Step.JOB_DONE),
        ("partitioned-monotonic", Step.JOB_DONE),
        ("snapshot-id", Step.JOB_DONE),
    ],
)
def test_rows_that_come_and_change_between_chunks_are_there_after_the_next_run(
    lab: Lab, source: CountedSource, kind: str, step: Step
) -> None:
    source.put(moments(30))
    lab.write(manifest(kind, config=', window = "10d"'))

    def change(number: int) -> None:
        """A row of the beginning and one of the end are written again, and a new one comes."""
        if number > 3:
            return
        later = f"2025-01-0{number}T00:00:00+00:00"
        source.put(
            [
                (number, later, f"part-{number % 3}", f"changed {number}"),
                (31 - number, later, f"part-{number % 3}", f"changed {number}"),
                (1000 + number, later, f"part-{number % 3}", "new"),
            ]
        )
        if kind == "snapshot-id":
            source.do(f"DELETE FROM items WHERE id = {10 + number}")

    lab.applied(reached=at_every(step, change), jobs_at_once=1)
    lab.ran()

    assert lab.query(STORED) == source.rows()
    assert len(lab.query("SELECT id FROM counted_items WHERE id > 1000")) > 0


def test_rows_that_are_deleted_between_passes_are_gone_after_the_next_run(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(20))
    lab.write(
        '[[pipeline]]\nid = "p"\nsource = { connector = "sql", config = { url = "sqlite:counted.db" } }\n'
        'tables = [{ name = "items", deletes = "missing" }]\n'
    )

    def change(_: int) -> None:
        source.do("DELETE FROM items WHERE id IN (3, 20); UPDATE items SET v = 'changed' WHERE id = 5")

    lab.applied(reached=at_every(Step.JOB_DONE, change))
    assert lab.query("SELECT count(*) FROM items") == [(20,)]
    lab.ran()

    assert lab.query("SELECT id, part, v FROM items ORDER BY id") == source.rows()


@pytest.mark.parametrize("table", ["issues", "pull_requests"])
def test_no_record_is_lost_between_the_pages_of_github(lab: Lab, table: str) -> None:
    """The pages are counted, so that a record that changes moves all others: upwards or downwards."""
    repository = Repository(name="octo/one")
    add = repository.add_issue if table == "issues" else repository.add_pull_request
    for number in range(1, 251):
        add(number, seconds=days_ago(3) + number * 60)
    numbers = itertools.count(1)
    with GithubApi(repository, token="ghp_loopback") as api:
        lab.env["GITHUB_TOKEN"] = "ghp_loopback"
        lab.write(
            '[[pipeline]]\nid = "p"\nsource = { connector = "github", config = '
            f'{{ repo = "octo/one", base_url = "{api.url}" }} }}\n'
            f'secrets = ["GITHUB_TOKEN"]\ntables = ["{table}"]\nincremental = "updated_at"\n'
        )

        def changes(call: Call) -> bool:
            """Before every answer: one that was given already changes, one that was not, and one is new."""
            number = next(numbers)
            if number <= 6:
                for changed in (number, 251 - number):
                    repository.touch(changed, seconds=days_ago(0.5) + number)
                add(1000 + number, seconds=days_ago(0.5) + number)
            return False

        with Trouble(api, changes, says(500))():
            lab.applied()
        lab.ran()

    rows = [row[:2] for row in github_rows(repository)[f"github_{table}"]]
    assert lab.query(f"SELECT id, updated_at FROM github_{table} ORDER BY id") == rows
    assert len(rows) > 250


def test_no_order_is_lost_between_the_pages_of_shopify(lab: Lab) -> None:
    shop = ShopifyApi(token="shpat_loopback")
    shop.add("orders", *(order(number, seconds=days_ago(3) + number * 60) for number in range(1, 521)))
    numbers = itertools.count(1)
    with shop:
        lab.env["SHOPIFY_TOKEN"] = "shpat_loopback"
        lab.write(
            '[[pipeline]]\nid = "p"\nsource = { connector = "shopify", config = '
            f'{{ shop = "openhackers", base_url = "{shop.url}" }} }}\n'
            'secrets = ["SHOPIFY_TOKEN"]\ntables = ["orders"]\nincremental = "updated_at"\n'
            '[pipeline.backfill]\nrate_budget = "100/s"\n'
        )

        def changes(call: Call) -> bool:
            number = next(numbers)
            if number <= 3:
                now = days_ago(0) - 1 + number / 100
                shop.add(
                    "orders", *(order(each, seconds=now) for each in (number, 521 - number, 900 + number))
                )
            return False

        with Trouble(shop, changes, says(500))():
            lab.applied()
        lab.ran()

    expected = sorted((row["id"], row["updated_at"]) for row in shop.tables["orders"].values())
    assert lab.query("SELECT id, updated_at FROM shopify_orders ORDER BY id") == expected
    assert len(expected) == 523
