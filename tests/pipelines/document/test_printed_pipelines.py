"""The pipelines that the document prints, run as they stand there against services on loopback."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.door import Door
from tests.support.github_api import GithubApi, at
from tests.support.printed import AS_JSON, PROJECT, printed
from tests.support.services import (
    SHOP_TOKEN,
    asked_for,
    busy_repository,
    busy_shop,
    days_ago,
    github_rows,
    shopify_rows,
)
from tests.support.shopify_api import order

pytestmark = pytest.mark.spark
REPOSITORY = "OpenHackersClub/gctrl"


def stored(hakiri: Door, table: str, *more: str) -> list[tuple[Any, ...]]:
    return hakiri.query(f"SELECT {', '.join(('id', 'updated_at', *more))} FROM {table} ORDER BY id")


@pytest.mark.spec("HP-034")
@pytest.mark.spec("HP-038")
@pytest.mark.spec("HP-051")
@pytest.mark.spec("HP-059")
@pytest.mark.spec("HP-102")
def test_hakiri_toml_runs_from_nothing_to_streaming_and_then_pulls_the_delta(
    hakiri: Door,
) -> None:
    hakiri.env["SHOPIFY_TOKEN"] = SHOP_TOKEN
    repository, shop = busy_repository(REPOSITORY), busy_shop()
    with GithubApi(repository) as github, shop:
        hakiri.write("hakiri.toml", printed(PROJECT, github=github.url, shopify=shop.url))

        applied = hakiri("apply", "--json")

        assert (applied.code, [row["phase"] for row in applied.data["pipelines"]]) == (0, ["streaming"] * 2)
        for table, rows in github_rows(repository).items():
            assert stored(hakiri, table, '"user".login') == rows
        for table, rows in shopify_rows(shop).items():
            assert stored(hakiri, table) == rows

        calls = len(github.calls) + len(shop.calls)
        again = hakiri("apply")

        assert (again.code, again.out) == (0, "Nothing to do: 2 pipelines are up to date.\n")
        assert len(github.calls) + len(shop.calls) == calls

        before, now = max(github_rows(repository)["github_issues"]), days_ago(0)
        repository.touch(1, seconds=now)
        repository.add_comment(500, seconds=now)
        shop.add("orders", order(7, seconds=now), order(9_000, seconds=now))
        seen = len(github.calls)
        pulled = [hakiri("run", pipeline, "--json") for pipeline in ("github-issues", "shopify-orders")]

        assert [(each.code, each.data["pipelines"][0]["rows"]) for each in pulled] == [(0, 2), (0, 2)]
        (asked,) = asked_for(github.calls[seen:], "issues")[-1:]
        assert asked.params["since"] >= at(days_ago(2))
        assert before[1] < at(now)
        for table, rows in github_rows(repository).items():
            assert stored(hakiri, table, '"user".login') == rows
        assert stored(hakiri, "shopify_orders") == shopify_rows(shop)["shopify_orders"]


@pytest.mark.spec("HP-001")
@pytest.mark.spec("HP-042")
def test_the_json_form_is_the_same_pipeline_so_that_nothing_is_to_do_after_moving_to_it(
    hakiri: Door,
) -> None:
    repository = busy_repository(REPOSITORY, days=2)
    with GithubApi(repository) as github:
        hakiri.write("hakiri.toml", '[project]\nname = "openhackers-warehouse"\n')
        hakiri.write("pipelines/github-issues.json", printed(AS_JSON, github=github.url))

        applied = hakiri("apply", "github-issues")

        assert applied.code == 0, applied.err
        for table, rows in github_rows(repository).items():
            assert stored(hakiri, table, '"user".login') == rows

        toml = printed(PROJECT, github=github.url).partition('[[pipeline]]\nid = "shopify-orders"')[0]
        hakiri.write("hakiri.toml", toml)
        (hakiri.folder / "pipelines" / "github-issues.json").unlink()

        assert hakiri("plan", "--offline").out == "Plan for openhackers-warehouse: 1 up to date.\n"
