"""Every way from one page to the next, over a real server."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.http_api import Call, HttpApi, Reply
from tests.support.paged_api import KINDS, PagedApi, config_for
from tests.support.rest import Surroundings, connected, read_all, rows_of

from hakiri.sources.contract import Read
from hakiri.sources.errors import PermanentFailure

FEW = settings(max_examples=30, deadline=None)


def config(api: HttpApi, **pagination: Any) -> dict[str, Any]:
    return {"base_url": f"{api.url}/v1", "resources": ["orders"], "pagination": pagination}


def with_records(api: HttpApi, records: str, /, **pagination: Any) -> dict[str, Any]:
    return {**config(api, **pagination), "resources": [{"name": "orders", "records": records}]}


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


def numbered(count: int) -> list[dict[str, Any]]:
    return [{"id": number} for number in range(count)]


@pytest.mark.spec("HP-026")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, 3, 4, 6, 8])
def test_all_records_come_once_and_in_order(kind: str, count: int) -> None:
    with PagedApi(page_records=3) as api:
        api.tables["orders"] = numbered(count)
        rows = read_all(config_for(api, kind, {"name": "orders", "columns": {"id": "bigint"}}), "orders")

    assert ids(rows) == [*range(count)]


@pytest.mark.spec("HP-027")
@given(
    kind=st.sampled_from(KINDS),
    count=st.integers(0, 12),
    page_records=st.integers(1, 5),
    taken=st.integers(0, 12),
)
@FEW
def test_a_read_that_goes_on_after_any_batch_gives_what_a_whole_one_does(
    kind: str, count: int, page_records: int, taken: int
) -> None:
    with PagedApi(page_records=page_records) as api:
        api.tables["orders"] = numbered(count)
        with connected(config_for(api, kind, {"name": "orders", "columns": {"id": "bigint"}})) as connector:
            connector.batch_records = 1
            batches = list(connector.open(Read(table="orders")))[:taken]
            cursor = next((batch.cursor for batch in reversed(batches) if batch.cursor is not None), None)
            rest = rows_of(connector.open(Read(table="orders", cursor=cursor)))

    if cursor:
        assert ids(rows_of(batches)) + ids(rest) == [*range(count)]
    else:  # the end of the table, or its start: it is read as a whole
        assert ids(rest) == [*range(count)]


def test_a_page_ends_the_listing_when_the_api_tells_how_many_there_are() -> None:
    def answered(call: Call) -> Reply:
        page = int(call.params["p"])
        return Reply(body={"items": [{"id": page}] if page else [], "meta": {"pages": 3}})

    with HttpApi(answered) as api:
        told = {"type": "page", "param": "p", "start": 0, "total_pages": "meta.pages"}
        rows = read_all(with_records(api, "items", **told), "orders")

    assert ids(rows) == [1, 2]
    assert [call.params["p"] for call in api.calls[-3:]] == ["0", "1", "2"]


def test_an_api_that_gives_smaller_pages_than_asked_for_loses_nothing() -> None:
    with PagedApi(page_records=2) as api:
        api.tables["orders"] = numbered(7)
        wanted = {"size": 100, "size_param": "size"}
        by_page = read_all(
            {**config_for(api, "page", "orders"), "pagination": {"type": "page", **wanted}}, "orders"
        )
        by_offset = read_all(
            {**config_for(api, "offset", "orders"), "pagination": {"type": "offset", **wanted}}, "orders"
        )

    assert ids(by_page) == ids(by_offset) == [*range(7)]


def test_a_total_ends_an_offset_listing_without_an_empty_page() -> None:
    with PagedApi(page_records=3) as api:
        api.tables["orders"] = numbered(6)
        wanted = {"type": "offset", "size": 3, "size_param": "size", "total": "total"}
        with connected({**config_for(api, "offset", "orders"), "pagination": wanted}) as connector:
            connector.discover()
            api.calls.clear()
            rows = rows_of(connector.open(Read(table="orders")))

    assert ids(rows) == [*range(6)]
    assert [call.params for call in api.calls] == [
        {"offset": "0", "size": "3"},
        {"offset": "3", "size": "3"},
    ]


def test_the_last_record_may_be_the_token_of_the_next_page() -> None:
    def answered(call: Call) -> Reply:
        after = int(call.params.get("starting_after", 0))
        page = [{"id": number} for number in range(after + 1, min(after + 3, 6))]
        return Reply(body={"data": page, "has_more": after + 2 < 5})

    with HttpApi(answered) as api:
        told = {"type": "cursor", "param": "starting_after", "field": "id", "more": "has_more"}
        rows = read_all(with_records(api, "data", **told), "orders")

    assert ids(rows) == [1, 2, 3, 4, 5]


def test_a_name_with_a_dot_in_it_is_written_with_a_backslash() -> None:
    def answered(call: Call) -> Reply:
        if call.path == "/v1/more":
            return Reply(body={"value": [{"id": 2}]})
        return Reply(body={"value": [{"id": 1}], "@odata.nextLink": f"{api.url}/v1/more"})

    with HttpApi(answered) as api:
        rows = read_all(with_records(api, "value", type="next_url", path=r"@odata\.nextLink"), "orders")

    assert ids(rows) == [1, 2]


def test_a_link_that_names_the_other_scheme_of_the_same_host_is_followed_in_ours() -> None:
    def answered(call: Call) -> Reply:
        if call.params:
            return Reply(body=[{"id": 2}])
        return Reply(body=[{"id": 1}], headers={"link": '<https://127.0.0.1/v1/orders?page=2>; rel="next"'})

    with HttpApi(answered) as api:
        rows = read_all(config(api, type="link"), "orders")

    assert ids(rows) == [1, 2]


@pytest.mark.parametrize(
    ("pagination", "body", "link", "problem"),
    [
        (
            {"type": "link"},
            [{"id": 1}],
            "/v1/orders",
            "`/v1/orders` leads back to itself",
        ),
        (
            {"type": "next_url", "path": "next"},
            {"id": 1, "next": "?a=1"},
            None,
            "`/v1/orders?a=1` leads back to itself",
        ),
        (
            {"type": "cursor", "param": "token", "path": "next"},
            {"id": 1, "next": "again"},
            None,
            "`/v1/orders?token=again` leads back to itself",
        ),
        (
            {"type": "page"},
            [{"id": 1}],
            None,
            "`/v1/orders?page=2` is the same as the page before it",
        ),
        (
            {"type": "offset", "size": 1},
            [{"id": 1}],
            None,
            "`/v1/orders?offset=1&limit=1` is the same as the page before it",
        ),
    ],
)
def test_pages_that_go_round_in_a_circle_are_refused(
    pagination: dict[str, Any], body: Any, link: str | None, problem: str
) -> None:
    headers = {"link": f'<{link}>; rel="next"'} if link else {}
    with (
        HttpApi(lambda call: Reply(body=body, headers=headers)) as api,
        pytest.raises(PermanentFailure) as refused,
    ):
        read_all(config(api, **pagination), "orders")

    assert str(refused.value) == f"the pages of `orders` go round in a circle: {problem}"
    assert refused.value.hint == "check `pagination` in the source's config; the API may have another one"


@pytest.mark.parametrize(
    ("pagination", "body", "problem"),
    [
        ({"type": "next_url", "path": "next"}, {"next": 5}, "there is no URL at `next` of a page"),
        (
            {"type": "next_url", "path": "next"},
            {"next": "http://[bad"},
            "`/v1/orders` leads to something that is no URL",
        ),
        (
            {"type": "cursor", "param": "t", "path": "next"},
            {"next": {"a": 1}},
            "there is no token at `next` of a page",
        ),
        (
            {"type": "cursor", "param": "t", "field": "uid"},
            {"id": 1},
            "the last record of a page has no `uid`, which is the token of the next",
        ),
        (
            {"type": "page", "total_pages": "pages"},
            {"id": 1},
            "there is no whole number at `pages` of a page",
        ),
        (
            {"type": "offset", "total": "total"},
            {"total": "7"},
            "there is no whole number at `total` of a page",
        ),
    ],
)
def test_a_page_that_does_not_tell_the_next_one_as_it_should_is_refused(
    pagination: dict[str, Any], body: Any, problem: str
) -> None:
    with HttpApi(lambda call: Reply(body=body)) as api, pytest.raises(PermanentFailure) as refused:
        read_all(config(api, **pagination), "orders")

    assert str(refused.value) == problem


@pytest.mark.parametrize("kind", ["header", "body", "redirect"])
def test_another_host_never_gets_the_credentials(kind: str) -> None:
    def answered(call: Call) -> Reply:
        there = f"http://localhost:{other.port}/v1/orders"
        if kind == "header":
            return Reply(body=[{"id": 1}], headers={"link": f'<{there}>; rel="next"'})
        if kind == "body":
            return Reply(body={"next": there})
        return Reply(status=302, headers={"location": there})

    with HttpApi() as other, HttpApi(answered) as api:
        told = {"type": "next_url", "path": "next"} if kind == "body" else {"type": "link"}
        wanted = {**config(api, **told), "auth": {"type": "bearer", "token": "${TOKEN}"}}
        with pytest.raises(PermanentFailure) as refused:
            read_all(wanted, "orders", Surroundings({"TOKEN": "s3cr3t"}))

    assert other.calls == []
    assert str(refused.value) == (
        "`/v1/orders` leads to another place, `http://localhost`, which must not get the credentials"
    )
    assert refused.value.hint == (
        "check `base_url` in the source's config; it must be where the API leads to"
    )


def test_another_port_of_the_same_host_is_another_place() -> None:
    with HttpApi() as other, HttpApi() as api:
        api.script(Reply(status=302, headers={"location": f"{other.url}/v1/orders"}))
        with pytest.raises(PermanentFailure):
            read_all(config(api, type="none"), "orders")

    assert other.calls == []


def test_a_redirect_on_the_same_host_is_followed() -> None:
    with HttpApi(lambda call: Reply(body=[{"id": 1}])) as api:
        api.script(Reply(status=301, headers={"location": "/v2/orders"}))
        rows = read_all(config(api, type="none"), "orders")

    assert ids(rows) == [1]
    assert api.paths()[:2] == ["/v1/orders", "/v2/orders"]


def test_redirects_without_an_end_are_refused() -> None:
    def further(call: Call) -> Reply:
        return Reply(status=302, headers={"location": f"{call.path}x"})

    with HttpApi(further) as api, pytest.raises(PermanentFailure) as refused:
        read_all(config(api, type="none"), "orders")

    assert str(refused.value) == "`orders` is always somewhere else, the last time at `/v1/ordersxxxxxx`"
