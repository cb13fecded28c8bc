"""Resources that are read in full: resuming at a page, conditional requests, partitions, and batches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from tests.support.http_api import Call, HttpApi, Reply
from tests.support.paged_api import PagedApi, config_for
from tests.support.rest import Surroundings, connected, rows_of

from hakiri.sources.contract import Batch, Read
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.rest.batches import ENOUGH_BYTES


def read(connector: Any, cursor: Any = None, **more: Any) -> list[Batch]:
    return list(connector.open(Read(table="orders", cursor=cursor, **more)))


def ids(batches: list[Batch]) -> list[int]:
    return [row["id"] for row in rows_of(batches)]


@pytest.fixture
def api() -> Iterator[PagedApi]:
    with PagedApi(page_records=2) as api:
        api.tables["orders"] = [{"id": number} for number in range(5)]
        yield api


def connect(api: PagedApi, kind: str = "link", around: Surroundings | None = None, **resource: Any) -> Any:
    return connected(
        config_for(api, kind, {"name": "orders", "columns": {"id": "bigint"}, "infer": False, **resource}),
        around,
    )


def test_pages_are_joined_into_one_batch(api: PagedApi) -> None:
    with connect(api) as connector:
        batches = read(connector)

    assert [batch.rows.num_rows for batch in batches] == [5]


def test_a_slow_api_is_not_waited_for(api: PagedApi) -> None:
    around = Surroundings()

    def slow(call: Call) -> Reply:
        around.clock.advance(timedelta(seconds=20))
        return api._answered(call)

    api.answer = slow
    with connect(api, around=around) as connector:
        batches = read(connector, limit=100)  # and so without a page ahead, which would be in a hurry

    assert [batch.rows.num_rows for batch in batches] == [2, 3]


def test_a_batch_holds_no_more_than_some_megabytes(api: PagedApi) -> None:
    api.tables["orders"] = [{"id": n, "text": "x" * (ENOUGH_BYTES // 3)} for n in range(8)]
    with connect(api, columns={"id": "bigint", "text": "string"}) as connector:
        batches = read(connector)

    assert [batch.rows.num_rows for batch in batches] == [4, 4]


def test_who_wants_few_rows_does_not_pay_for_more_pages(api: PagedApi) -> None:
    with connect(api) as connector:
        assert ids(read(connector, limit=1)) == [0, 1]

    assert len(api.calls) == 1


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("link", {"url": "/link/orders?from=2"}),
        ("next_url", {"url": "/next_url/orders?from=2"}),
        ("page", {"page": 2}),
        ("offset", {"offset": 2}),
        ("cursor", {"token": "Mg=="}),
    ],
)
def test_a_read_goes_on_at_the_page_where_it_was_interrupted(
    api: PagedApi, kind: str, place: dict[str, Any]
) -> None:
    with connect(api, kind) as connector:
        connector.batch_records = 1
        batches = read(connector)
        api.calls.clear()

        assert batches[0].cursor == {"next": place}
        assert batches[-1].cursor == {}
        assert ids(read(connector, batches[0].cursor)) == [2, 3, 4]


@pytest.mark.parametrize("status", [400, 404, 410, 422])
def test_a_place_that_the_api_has_forgotten_is_read_from_the_start(api: PagedApi, status: int) -> None:
    with connect(api) as connector:
        api.script(Reply(status=status))

        assert ids(read(connector, {"next": {"url": "/link/orders?from=2"}})) == [0, 1, 2, 3, 4]


def test_a_place_of_another_pagination_is_read_from_the_start(api: PagedApi) -> None:
    with connect(api, "page") as connector:
        assert ids(read(connector, {"next": {"url": "/link/orders?from=2"}})) == [0, 1, 2, 3, 4]


def test_a_place_that_is_refused_otherwise_is_a_failure(api: PagedApi) -> None:
    with connect(api) as connector:
        api.script(Reply(status=405))
        with pytest.raises(PermanentFailure):
            read(connector, {"next": {"url": "/link/orders?from=2"}})


def test_a_resource_that_has_not_changed_gives_no_rows_and_keeps_its_cursor(api: PagedApi) -> None:
    api.etag = '"v1"'
    with connect(api, "none") as connector:
        first = read(connector)
        again = read(connector, first[-1].cursor)
        api.etag = '"v2"'
        changed = read(connector, first[-1].cursor)

    assert first[-1].cursor == {"etag": '"v1"', "of": "/none/orders"}
    assert again == []
    assert ids(changed) == [0, 1, 2, 3, 4]
    assert changed[-1].cursor == {"etag": '"v2"', "of": "/none/orders"}


def test_a_time_of_change_serves_as_well() -> None:
    then = "Mon, 11 May 2026 08:00:00 GMT"

    def answered(call: Call) -> Reply:
        if call.headers.get("if-modified-since") == then:
            return Reply(status=304)
        return Reply(body=[{"id": 1}], headers={"last-modified": then})

    with HttpApi(answered) as api, connected({"base_url": api.url, "resources": ["orders"]}) as connector:
        first = read(connector)

        assert first[-1].cursor == {"modified": then, "of": "/orders"}
        assert read(connector, first[-1].cursor) == []


def test_what_is_said_of_one_page_is_not_taken_for_all(api: PagedApi) -> None:
    api.etag = '"v1"'
    with connect(api, "link") as connector:
        first = read(connector)

        assert first[-1].cursor is None
        assert ids(read(connector, {})) == [0, 1, 2, 3, 4]


def test_what_is_said_of_another_address_is_not_taken_for_this_one(api: PagedApi) -> None:
    api.etag = '"v1"'
    with connect(api, "none") as connector:
        cursor = read(connector)[-1].cursor
    with connect(api, "none", params={"status": "any"}) as connector:
        assert ids(read(connector, cursor)) == [0, 1, 2, 3, 4]


def test_partitions_are_read_one_by_one_or_all_and_named_in_a_column() -> None:
    def answered(call: Call) -> Reply:
        shop = call.path.split("/")[1]
        page = int(call.params.get("page", 1))
        link = f'<{call.path}?page=2>; rel="next"'
        return Reply(body=[{"id": f"{shop}{page}"}], headers={"link": link} if page == 1 else {})

    with HttpApi(answered) as api:
        resource = {"name": "orders", "path": "{shop}/orders", "partitions": {"shop": ["a", "b c"]}}
        with connected({"base_url": api.url, "resources": [resource]}) as connector:
            connector.batch_records = 1
            whole = read(connector)
            alone = read(connector, partition={"shop": "b c"})
            resumed = [ids(read(connector, batch.cursor)) for batch in whole]
            parts = connector.partitions("orders")

    assert parts == ({"shop": "a"}, {"shop": "b c"})
    assert [(row["shop"], row["id"]) for row in rows_of(whole)] == [
        ("a", "a1"),
        ("a", "a2"),
        ("b c", "b%20c1"),
        ("b c", "b%20c2"),
    ]
    assert ids(alone) == ["b%20c1", "b%20c2"]
    assert [len(rows) for rows in resumed] == [3, 2, 1, 4]
