"""Every way to say who asks, over a real server."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs

import pytest
from tests.support.http_api import Call, HttpApi, Reply
from tests.support.rest import Surroundings, connected, read_all, rows_of

from hakiri.sources.contract import Read
from hakiri.sources.errors import AuthExpired, PermanentFailure

SECRETS = {"USER": "ada", "PASSWORD": "pa:ss&word", "TOKEN": "t0k3n/+="}
ROWS = [{"id": 1, "_extra": None}]


def config(api: HttpApi, **auth: Any) -> dict[str, Any]:
    return {"base_url": api.url, "resources": ["orders"], "auth": auth}


def one_record(call: Call) -> Reply:
    return Reply(body=[{"id": 1}])


class TokenApi(HttpApi):
    """Gives tokens to one client, each good for `lasts_seconds`; the API takes the newest only."""

    def __init__(self, *, lasts_seconds: int | None = 3600) -> None:
        super().__init__(self._answered)
        self.lasts_seconds = lasts_seconds
        self.given = 0
        self.asked: list[tuple[dict[str, list[str]], str | None]] = []

    def _answered(self, call: Call) -> Reply:
        if call.path == "/token":
            return self._token(call)
        if call.headers.get("authorization") != f"Bearer token-{self.given}":
            return Reply(status=401, body={"error": f"no: {call.headers.get('authorization')}"})
        page = int(call.params.get("page", 1))
        link = {"link": f'<{self.url}/orders?page={page + 1}>; rel="next"'} if page < 3 else {}
        return Reply(body=[{"id": page}], headers=link)

    def _token(self, call: Call) -> Reply:
        self.asked.append((parse_qs(call.body.decode()), call.headers.get("authorization")))
        self.given += 1
        lasts = {} if self.lasts_seconds is None else {"expires_in": self.lasts_seconds}
        return Reply(body={"access_token": f"token-{self.given}", "token_type": "bearer", **lasts})


def oauth2(api: HttpApi, **more: Any) -> dict[str, Any]:
    return config(
        api,
        type="oauth2",
        token_url=f"{api.url}/token",
        client_id="${USER}",
        client_secret="${PASSWORD}",
        **more,
    )


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        ({"type": "bearer", "token": "${TOKEN}"}, "authorization", "Bearer t0k3n/+="),
        ({"type": "header", "name": "X-Api-Key", "value": "key ${TOKEN}"}, "x-api-key", "key t0k3n/+="),
        (
            {"type": "basic", "user": "${USER}", "password": "${PASSWORD}"},
            "authorization",
            "Basic " + base64.b64encode(b"ada:pa:ss&word").decode(),
        ),
    ],
)
def test_the_secret_goes_into_a_header(auth: dict[str, str], header: str, value: str) -> None:
    with HttpApi(one_record) as api:
        rows = read_all(config(api, **auth), "orders", Surroundings(SECRETS))

    assert rows == ROWS
    assert {call.headers.get(header) for call in api.calls} == {value}


def test_the_secret_goes_into_the_query_quoted() -> None:
    with HttpApi(one_record) as api:
        rows = read_all(
            config(api, type="query", name="api key", value="${PASSWORD}"), "orders", Surroundings(SECRETS)
        )

    assert rows == ROWS
    assert {call.params["api key"] for call in api.calls} == {"pa:ss&word"}


def test_a_secret_in_the_query_is_kept_out_of_cursors_and_sent_with_every_page() -> None:
    def echo(call: Call) -> Reply:
        page = int(call.params.get("page", 1))
        link = f'<{api.url}/orders?key={call.params["key"]}&page={page + 1}>; rel="next"'
        return Reply(body=[{"id": page}], headers={"link": link} if page < 3 else {})

    with HttpApi(echo) as api:
        around = Surroundings({"KEY": "s3cr3t"})
        with connected(config(api, type="query", name="key", value="${KEY}"), around) as connector:
            connector.batch_records = 1
            batches = list(connector.open(Read(table="orders")))

    assert [batch.cursor for batch in batches] == [
        {"next": {"url": "/orders?page=2"}},
        {"next": {"url": "/orders?page=3"}},
        {},
    ]
    assert [call.query["key"] for call in api.calls] == [("s3cr3t",)] * len(api.calls)


def test_other_headers_may_hold_secrets_too() -> None:
    with HttpApi(one_record) as api:
        wanted = {"base_url": api.url, "resources": ["orders"], "headers": {"X-Tenant": "t-${TOKEN}"}}
        read_all(wanted, "orders", Surroundings(SECRETS))

    assert {call.headers["x-tenant"] for call in api.calls} == {"t-t0k3n/+="}


def test_a_token_is_got_once_for_many_pages() -> None:
    with TokenApi() as api:
        rows = read_all(
            oauth2(api, scope="orders", extra={"audience": "shop"}), "orders", Surroundings(SECRETS)
        )

    form, authorization = api.asked[0]
    assert [row["id"] for row in rows] == [1, 2, 3]
    assert (len(api.asked), authorization) == (1, None)
    assert form == {
        "grant_type": ["client_credentials"],
        "scope": ["orders"],
        "audience": ["shop"],
        "client_id": ["ada"],
        "client_secret": ["pa:ss&word"],
    }


def test_the_client_may_show_itself_in_a_header() -> None:
    with TokenApi() as api:
        read_all(oauth2(api, send="header"), "orders", Surroundings(SECRETS))

    assert api.asked == [
        ({"grant_type": ["client_credentials"]}, "Basic " + base64.b64encode(b"ada:pa:ss&word").decode())
    ]


def test_a_token_is_renewed_shortly_before_it_runs_out() -> None:
    around = Surroundings(SECRETS)
    with TokenApi(lasts_seconds=600) as api, connected(oauth2(api), around) as connector:
        for passed in (0, 500, 39, 2):
            around.clock.advance(timedelta(seconds=passed))
            list(connector.open(Read(table="orders")))

    assert api.given == 2


def test_a_token_that_is_refused_is_renewed_once() -> None:
    with TokenApi(lasts_seconds=None) as api, connected(oauth2(api), Surroundings(SECRETS)) as connector:
        connector.discover()
        api.given += 1  # somebody else got a token, and ours is worth nothing now
        rows = rows_of(connector.open(Read(table="orders")))

    assert [row["id"] for row in rows] == [1, 2, 3]
    assert len(api.asked) == 2


def test_a_token_that_is_refused_again_is_an_expired_one_and_is_not_shown() -> None:
    with TokenApi() as api, connected(oauth2(api), Surroundings(SECRETS)) as connector:
        api.answer = lambda call: (
            Reply(body={"access_token": "got-on-the-way"})
            if call.path == "/token"
            else Reply(status=401, body={"message": f"bad: {call.headers['authorization']}"})
        )
        with pytest.raises(AuthExpired) as refused:
            connector.discover()

    assert str(refused.value) == "`orders` at `/orders` was answered with 401: bad: Bearer ***"
    assert refused.value.hint == "check the secrets, and what they give the right to"
    assert api.paths() == ["/token", "/orders", "/token", "/orders"]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (
            Reply(status=400, body={"error": "invalid_client", "error_description": "wrong: pa:ss&word"}),
            "the token at `{url}/token` was answered with 400: wrong: ***",
        ),
        (Reply(status=401, body=b"no"), "the token at `{url}/token` was answered with 401"),
        (Reply(body={"token": "x"}), "`{url}/token` answers without an `access_token`"),
        (Reply(body=b"<html>"), "`{url}/token` answers without an `access_token`"),
    ],
)
def test_a_client_that_gets_no_token_is_told_so(reply: Reply, problem: str) -> None:
    with HttpApi(lambda call: reply) as api, connected(oauth2(api), Surroundings(SECRETS)) as connector:
        with pytest.raises(AuthExpired) as refused:
            connector.discover()

        assert str(refused.value) == problem.format(url=api.url)


def test_a_token_endpoint_that_leads_elsewhere_is_not_followed() -> None:
    with HttpApi() as other, HttpApi() as api:
        api.script(Reply(status=307, headers={"location": f"{other.url}/token"}))
        with (
            connected(oauth2(api), Surroundings(SECRETS)) as connector,
            pytest.raises(PermanentFailure) as refused,
        ):
            connector.discover()

    assert other.calls == []
    assert refused.value.hint == "write the place that it leads to as `token_url`"


def test_a_secret_that_no_header_can_hold_is_not_shown() -> None:
    around = Surroundings({"TOKEN": "line-one\nline-two"})
    with HttpApi(one_record) as api:
        wanted = config(api, type="bearer", token="${TOKEN}")
        with connected(wanted, around) as connector, pytest.raises(PermanentFailure) as refused:
            connector.discover()

    assert str(refused.value) == (
        "`orders` at `/orders` cannot be asked for: a header holds a character that none can hold"
    )
    assert refused.value.hint == "check the secrets for blanks and line ends"
    assert refused.value.__cause__ is None
