from __future__ import annotations

from typing import Any

import pytest
from tests.support.rest import PLACE

from hakiri.core.errors import ExitCode
from hakiri.sources.config import read_config
from hakiri.sources.errors import BadSourceConfig
from hakiri.sources.rest import RestConfig

BASE = "https://api.example.com/v1"
ORDERS: dict[str, Any] = {"name": "orders"}
ITEMS = {"name": "items", "path": "orders/{order}/items"}
BY_TIME = {"field": "updated_at", "param": "since"}


def config_of(*secrets: str, **config: Any) -> RestConfig:
    whole = {"base_url": BASE, "resources": ["orders"], **config}
    return read_config(RestConfig, whole, connector="rest", place=PLACE, secrets=secrets)


def of_orders(**more: Any) -> dict[str, Any]:
    return {"resources": [{**ORDERS, **more}]}


@pytest.mark.parametrize(
    ("config", "problem", "hint"),
    [
        (
            {"base_url": "ftp://example.com"},
            "`base_url` is no address of the web",
            "write it as in `https://api.example.com/v1`",
        ),
        (
            {"base_url": "https://example.com:port"},
            "`base_url` is no address of the web",
            "write it as in `https://api.example.com/v1`",
        ),
        (
            {"base_url": "https://me:secret@example.com"},
            "`base_url` holds a user or a password",
            'write `auth = { type = "basic", … }` instead',
        ),
        (
            {"base_url": "https://example.com?key=1"},
            "`base_url` holds more than a path",
            "write what follows `?` in the `params` of each resource",
        ),
        (
            {"resources": []},
            "`resources`: tuple should have at least 1 item after validation, not 0",
            'write a list of names or tables, as in resources = ["orders"]',
        ),
        (
            {"resources": ["orders", "orders"]},
            "`resources` has `orders` twice",
            "give each resource a name of its own",
        ),
        ({"rate_limit": "often"}, "`rate_limit`: ", "write a count and a time"),
        ({"auht": {}}, "unknown key `auht`", "did you mean `auth`?"),
        (
            {"auth": {"type": "magic"}},
            "`auth.type`: input should be 'bearer', 'basic', 'header', 'query' or 'oauth2'",
            "write bearer, basic, header, query or oauth2",
        ),
        ({"auth": {"type": "bearer"}}, "`auth` of type `bearer` lacks `token`", "write `token`"),
        (
            {"auth": {"type": "bearer", "token": "abc"}},
            "`auth.token` holds a secret that is written out",
            "write `${NAME}` in its place, and NAME in the pipeline's `secrets`",
        ),
        (
            {"auth": {"type": "bearer", "token": "${TOKEN}", "user": "me"}},
            "`auth` of type `bearer` does not take `user`",
            "it takes `token`",
        ),
        (
            {"auth": {"type": "bearer", "token": "${ELSE}"}},
            "`${ELSE}` is not among the pipeline's secrets",
            'write `secrets = ["ELSE"]` in the pipeline, and export ELSE',
        ),
        (
            {"headers": {"X-Key": "${ELSE}"}},
            "`${ELSE}` is not among the pipeline's secrets",
            'write `secrets = ["ELSE"]` in the pipeline, and export ELSE',
        ),
        (
            {"pagination": "pages"},
            "`pagination`: input should be 'link', 'page', 'offset', 'cursor', 'next_url' or 'none'",
            "correct the value",
        ),
        (
            {"pagination": "cursor"},
            "`pagination` of type `cursor` lacks `param`",
            'write it as in pagination = { type = "cursor", param = "…" }',
        ),
        (
            {"pagination": {"type": "link", "param": "page"}},
            "`pagination` of type `link` does not take `param`",
            "it takes `size`, `size_param`",
        ),
        (
            {"pagination": {"type": "next_url"}},
            "`pagination` of type `next_url` lacks `path`",
            "write `path`",
        ),
        (
            {"pagination": {"type": "cursor", "param": "after"}},
            "`pagination` of type `cursor` needs either `path` or `field`",
            "write `path` if the page tells the next token, `field` if the last record does",
        ),
        (
            {"pagination": {"type": "page", "size_param": "size"}},
            "`pagination` has `size_param` without `size`",
            "write `size` as well",
        ),
        (of_orders(nmae="x"), "unknown key `resources[0].nmae`", "did you mean `name`?"),
        (
            of_orders(params={"a": {"b": 1}}),
            "`resources[0].params.a` is no text, number or flag, and no list of those",
            "write what a URL can hold",
        ),
        (
            of_orders(columns={"total": "money"}),
            "`resources[0].columns.total` is no type of a column: ",
            "write a type like `bigint`",
        ),
        (
            of_orders(path="orders/{id}"),
            "`resources[0]` has `{id}` in its path, and no parent that tells it",
            'write parent = { resource = "…", values = { … } }',
        ),
        (
            of_orders(partitions={"shop": ["a"]}),
            "`resources[0]` has `shop` in its path or in its values, and not in both",
            "use the same names in the path and in the values",
        ),
        (
            of_orders(partitions={"a": ["1"], "b": ["2"]}),
            "`resources[0]` has `partitions` with more or less than one name and its values",
            "write one name",
        ),
        (
            of_orders(incremental={"param": "since"}),
            "`resources[0].incremental.field` is missing",
            "write the field that grows, as in `updated_at`",
        ),
        (
            of_orders(incremental={**BY_TIME, "initial": "yesterday"}),
            "`resources[0].incremental` has an `initial` that does not fit the format `iso`",
            "write a date like `2010-01-01`",
        ),
        (
            of_orders(incremental={**BY_TIME, "format": "number", "initial": "2010-01-01"}),
            "`resources[0].incremental` has an `initial` that does not fit the format `number`",
            "write a whole number",
        ),
        (
            of_orders(incremental={**BY_TIME, "keyset": True}),
            "`resources[0].incremental` with `keyset` needs `param`, and `order` = `asc`",
            "write both, or remove `keyset`",
        ),
        (
            of_orders(incremental={**BY_TIME, "lookback": "P1M"}),
            "`resources[0].incremental` has a `lookback` without a fixed length",
            "write it as in `5m`, for moments only",
        ),
        (
            {"resources": ["orders", {**ITEMS, "parent": {"resource": "order", "values": {"order": "id"}}}]},
            "`resources` has `items` with the parent `order`, which is not there",
            "did you mean `orders`?",
        ),
        (
            {"resources": [{**ITEMS, "parent": {"resource": "items", "values": {"order": "id"}}}]},
            "`resources` has `items` as its own ancestor",
            "end the chain of parents somewhere",
        ),
        (
            {
                "resources": [
                    {"name": "orders", "path": "{shop}/orders", "partitions": {"shop": ["a"]}},
                    {**ITEMS, "parent": {"resource": "orders", "values": {"order": "id"}}},
                ]
            },
            "`resources` has `items` with a parent, and partitions on the way",
            "use one of both: a resource with partitions has no parent and no children",
        ),
    ],
)
def test_a_config_that_is_wrong_is_told_with_what_to_do(
    config: dict[str, Any], problem: str, hint: str
) -> None:
    with pytest.raises(BadSourceConfig) as refused:
        config_of("TOKEN", **config)

    told = str(refused.value)
    assert told.startswith(f"the config of connector `rest` is wrong: {problem}")
    assert problem.endswith(": ") or told.endswith(problem)
    assert refused.value.hint.startswith(hint)
    assert refused.value.exit_code is ExitCode.USAGE


def test_a_name_alone_is_a_resource_and_a_word_alone_is_a_pagination() -> None:
    short = config_of(pagination="link")

    assert short == config_of(resources=[ORDERS], pagination={"type": "link"})


def test_the_pages_follow_link_headers_by_default() -> None:
    assert config_of().pagination.type == "link"


def test_a_base_url_may_end_with_a_slash() -> None:
    assert config_of(base_url=f"{BASE}/").base_url == BASE
