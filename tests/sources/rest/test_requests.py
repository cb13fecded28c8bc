"""What becomes of answers that are not what was hoped for, over a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.support.http_api import HttpApi, Reply
from tests.support.rest import Surroundings, connected, read_all, rows_of

from hakiri.sources.contract import Read
from hakiri.sources.errors import AuthExpired, PermanentFailure, RateLimited, ReadFailed, TransientFailure
from hakiri.sources.json_rows import NoRecords

ONE = Reply(body=[{"id": 1}])
ROWS = [{"id": 1, "_extra": None}]


def config(api: HttpApi, **resource: Any) -> dict[str, Any]:
    return {"base_url": api.url, "resources": [{"name": "orders", "columns": {"id": "bigint"}, **resource}]}


@contextmanager
def reading(*replies: Reply) -> Iterator[tuple[Callable[[], list[Any]], HttpApi, Surroundings]]:
    """A read of one record, before which the API answers with these."""
    around = Surroundings()
    with HttpApi(lambda call: ONE) as api, connected(config(api, infer=False), around) as connector:
        api.script(*replies)
        yield lambda: rows_of(connector.open(Read(table="orders"))), api, around


@pytest.mark.parametrize("status", [408, 425, 500, 502, 503, 504, 599])
def test_what_may_pass_is_tried_again_after_a_pause(status: int) -> None:
    with reading(Reply(status=status), Reply(status=status)) as (read, api, around):
        assert read() == ROWS

    assert (len(api.calls), around.budget.turns, len(around.waits)) == (3, 3, 2)
    assert 0 <= around.waits[0] <= 0.5


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": "Mon, 11 May 2026 08:00:40 GMT"}, 40),
        ({"retry-after": "Mon, 11 May 2026 07:00:00 GMT"}, 0),
        ({"x-ratelimit-reset": "1778486450"}, 50),
        ({"x-ratelimit-reset": "1778486450000"}, 50),
        ({"ratelimit-reset": "12"}, 12),
    ],
)
def test_a_pause_that_the_api_asks_for_is_made(headers: dict[str, str], seconds: float) -> None:
    with reading(Reply(status=429, headers=headers)) as (read, _, around):
        assert read() == ROWS

    assert around.waits == [pytest.approx(max(seconds, around.waits[0]), abs=0.5)]
    assert seconds <= around.waits[0] <= seconds + 0.5


@pytest.mark.parametrize(
    ("reply", "seconds"),
    [
        (Reply(status=429, headers={"retry-after": "61"}), 61),
        (Reply(status=503, headers={"retry-after": "3600"}), 3600),
        (Reply(status=403, headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1778490000"}), 3600),
        (Reply(status=403, headers={"retry-after": "120"}), 120),
    ],
)
def test_a_long_pause_is_left_to_the_runtime(reply: Reply, seconds: float) -> None:
    with reading(reply) as (read, api, around), pytest.raises(RateLimited) as refused:
        read()

    assert refused.value.seconds == seconds
    assert (len(api.calls), around.waits) == (1, [])


def test_an_api_that_never_lets_us_in_is_told_of_after_a_minute_or_so() -> None:
    with reading(*[Reply(status=429)] * 100) as (read, api, around), pytest.raises(RateLimited) as refused:
        read()

    assert str(refused.value) == "`orders` at `/orders` was answered with 429"
    assert refused.value.seconds == 0
    assert len(api.calls) == len(around.waits) + 1 < 30
    assert sum(around.waits) < 120


def test_half_a_body_is_asked_for_again() -> None:
    with reading(Reply(body=[{"id": 1}], cut_after=4)) as (read, api, _):
        assert read() == ROWS

    assert len(api.calls) == 2


def test_a_body_that_is_always_cut_off_is_a_transient_failure() -> None:
    cut_off = [Reply(body=[{"id": 1}], cut_after=4)] * 100
    with reading(*cut_off) as (read, _, _), pytest.raises(TransientFailure) as refused:
        read()

    assert str(refused.value) == "`orders` at `/orders`: the connection ended before the answer did"


def test_json_that_is_broken_once_is_asked_for_again() -> None:
    with reading(Reply(body=b'[{"id": 1')) as (read, api, _):
        assert read() == ROWS

    assert len(api.calls) == 2


def test_what_is_never_json_is_a_permanent_failure() -> None:
    for_people = [Reply(body=b"<html>Log in!</html>")] * 100
    with reading(*for_people) as (read, _, _), pytest.raises(PermanentFailure) as refused:
        read()

    assert str(refused.value).startswith("`orders` at `/orders` is no JSON, also when asked for again: ")
    assert "Log in" not in str(refused.value)
    assert refused.value.hint == "check `base_url` and the path; this may be a page for people"


def test_a_server_that_is_not_there_is_a_transient_failure() -> None:
    with HttpApi() as api:
        gone = config(api)
    around = Surroundings()

    with connected(gone, around) as connector, pytest.raises(TransientFailure) as refused:
        connector.discover()

    assert str(refused.value) == "`orders` at `/orders`: there is no connection to the server"
    assert around.budget.turns == len(around.waits) + 1


@pytest.mark.parametrize(
    ("reply", "kind", "problem", "hint"),
    [
        (
            Reply(status=401, body={"message": "who are you"}),
            AuthExpired,
            "`orders` at `/orders` was answered with 401: who are you",
            "check the secrets, and what they give the right to",
        ),
        (
            Reply(status=403, body={"errors": ["not", "you"]}),
            AuthExpired,
            "`orders` at `/orders` was answered with 403: ['not', 'you']",
            "check the secrets, and what they give the right to",
        ),
        (
            Reply(status=404, body={"detail": "gone\nfor good"}),
            PermanentFailure,
            "`orders` at `/orders` was answered with 404: gone for good",
            "check the path of the resource",
        ),
        (
            Reply(status=400, body={"error": "x" * 500}),
            PermanentFailure,
            f"`orders` at `/orders` was answered with 400: {'x' * 200}",
            "check the config of the resource",
        ),
    ],
)
def test_what_will_not_pass_is_told_at_once(
    reply: Reply, kind: type[ReadFailed], problem: str, hint: str
) -> None:
    with reading(reply) as (read, api, around), pytest.raises(kind) as refused:
        read()

    assert (str(refused.value), refused.value.hint) == (problem, hint)
    assert (len(api.calls), around.waits) == (1, [])


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"data": {"itmes": []}}, "there are no records at `data.items`: there is no `data.items`"),
        (
            {"data": {"items": "none"}},
            "there are no records at `data.items`: it is a text, not a list of objects",
        ),
        (
            {"data": {"items": [{"id": 1}, 5]}},
            "there are no records at `data.items`: item 2 of the list is a number, not an object",
        ),
        ([1], "there are no records at `data.items`: the document is a list, not an object"),
    ],
)
def test_records_that_are_not_where_they_should_be_are_told(body: Any, problem: str) -> None:
    with HttpApi(lambda call: Reply(body=body)) as api, pytest.raises(NoRecords) as refused:
        read_all(config(api, records="data.items"), "orders")

    assert str(refused.value) == problem


def test_one_object_is_one_record_and_null_is_none() -> None:
    with HttpApi(lambda call: Reply(body={"id": 1})) as api:
        assert read_all(config(api), "orders") == ROWS

    with HttpApi(lambda call: Reply(body={"data": None})) as api:
        assert read_all(config(api, records="data"), "orders") == []


def test_what_was_read_before_a_failure_is_given_before_it() -> None:
    link = {"link": '</orders?page=2>; rel="next"'}
    with HttpApi() as api, connected(config(api, infer=False)) as connector:
        api.script(Reply(body=[{"id": 7}], headers=link), Reply(status=401))
        batches = connector.open(Read(table="orders"))
        first = next(batches)
        with pytest.raises(AuthExpired):
            next(batches)

    assert rows_of([first]) == [{"id": 7, "_extra": None}]
    assert first.cursor == {"next": {"url": "/orders?page=2"}}


def test_parameters_are_asked_for_as_they_are_written() -> None:
    with HttpApi(lambda call: ONE) as api:
        params = {"status": "any of", "limit": 5, "deep": True, "id": [1, 2]}
        read_all(config(api, path="all/orders?fields=id", params=params), "orders")

    assert api.paths()[0] == "/all/orders"
    assert api.calls[0].query == {
        "fields": ("id",),
        "status": ("any of",),
        "limit": ("5",),
        "deep": ("true",),
        "id": ("1", "2"),
    }
    assert api.calls[0].headers["accept"] == "application/json"
    assert api.calls[0].headers["user-agent"] == "hakiri"


def test_a_check_is_one_call_and_gives_up_soon() -> None:
    around = Surroundings()
    with HttpApi(lambda call: ONE) as api, connected(config(api), around) as connector:
        said = connector.check()

        assert said == f"{api.url} answers: 1 records on the first page of `orders`"
        assert len(api.calls) == 1
        api.answer = lambda call: Reply(status=500)
        with pytest.raises(TransientFailure):
            connector.check()
    assert sum(around.waits) < 3
