from __future__ import annotations
from typing import TYPE_CHECKING
from pathlib import Path
import pytest, time
from tests.support.printed import PROJECT, printed
from tests.support.github_api import GithubApi, Repository, at
from tests.support.shopify_api import ShopifyApi, order, customer, product
from hakiri.store.reading import open_reader
from hakiri.store.layout import StoreLayout
pytestmark = pytest.mark.spark

def test_x(hakiri, tmp_path, monkeypatch):
    repo = Repository(name="OpenHackersClub/gctrl")
    for n in range(1, 250):
        if n % 3: repo.add_issue(n, seconds=n*3600*20)
        else: repo.add_pull_request(n, seconds=n*3600*20)
    for n in range(1, 40): repo.add_comment(n, seconds=n*86400)
    shop = ShopifyApi(token="shpat_x")
    shop.add("orders", *(order(n, seconds=n*86400) for n in range(1,300)))
    shop.add("customers", *(customer(n, seconds=n*86400) for n in range(1,20)))
    shop.add("products", *(product(n, seconds=n*86400) for n in range(1,30)))
    monkeypatch.setenv("SHOPIFY_TOKEN", "shpat_x")
    with GithubApi(repo) as api, shop:
        (tmp_path/"hakiri.toml").write_text(printed(PROJECT, github=api.url, shopify=shop.url))
        for args in (["plan"], ["apply"], ["apply"], ["plan"], ["run", "github-issues"], ["run", "shopify-orders"]):
            t = time.time(); a, b = len(api.calls), len(shop.calls)
            o = hakiri(*args)
            print(args, o.code, round(time.time()-t,1), len(api.calls)-a, len(shop.calls)-b); print(o.out); print(o.err)
        for c in shop.calls: print(c.at, c.path, c.params)
