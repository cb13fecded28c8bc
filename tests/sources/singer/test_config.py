"""What the connector takes, and what it refuses before any tap is started."""

from __future__ import annotations

from typing import Any

import pytest

from hakiri.core.errors import Place
from hakiri.core.secrets import Secret
from hakiri.sources.config import Template, read_config
from hakiri.sources.describing import describe_connector
from hakiri.sources.errors import BadSourceConfig
from hakiri.sources.singer import SingerConfig, SingerConnector
from hakiri.sources.singer.credentials import taken_apart

BY_NAME = "write `${NAME}` in its place, and NAME in the pipeline's `secrets`"


def checked(**config: Any) -> SingerConfig:
    return read_config(
        SingerConfig, {"tap": "tap-x", **config}, connector="singer", place=Place("a.toml"), secrets=("T",)
    )


def test_a_tap_alone_is_enough() -> None:
    config = checked()

    assert (config.tap, config.config, str(config.timeout)) == (("tap-x",), {}, "10m")
    assert checked(tap=["tap-x", "--flag"]).tap == ("tap-x", "--flag")


def test_every_text_of_the_taps_config_may_hold_a_secret() -> None:
    config = checked(config={"token": "${T}", "deep": [{"url": "https://u:${T}@x.example"}], "n": 1})

    assert config.config == {
        "token": Template("${T}"),
        "deep": [{"url": Template("https://u:${T}@x.example")}],
        "n": 1,
    }


@pytest.mark.spec("HP-150")
@pytest.mark.parametrize(
    ("config", "problem", "hint"),
    [
        ({"tap": " "}, "`tap` is empty", "write the name of the tap, or its path from the project's folder"),
        (
            {"tap": ["tap-x", "--token=${T}"]},
            "`tap` holds a secret, which everybody on the machine would see",
            "write it in `config`",
        ),
        (
            {"config": {"a": [{"api_key": "abc"}]}},
            "`config` holds a secret that is written out, at `a[0].api_key`",
            BY_NAME,
        ),
        (
            {"config": {"clientSecret": "abc"}},
            "`config` holds a secret that is written out, at `clientSecret`",
            BY_NAME,
        ),
        (
            {"config": {"url": "postgres://me:pass@db.example/x"}},
            "`config` holds a secret that is written out, at `url`",
            BY_NAME,
        ),
        (
            {"env": {"GITHUB_TOKEN": "abc"}},
            "`env` holds a secret that is written out, at `GITHUB_TOKEN`",
            BY_NAME,
        ),
        ({"env": {"A=B": "c"}}, "`env` has no variable of the name `A=B`", "write it as in `{ TZ = 'UTC' }`"),
        (
            {"timeout": "P1M"},
            "`timeout` has months, which have no fixed length",
            "write it as in `10m` or `2h`",
        ),
        (
            {"config": {"token": "${OTHER}"}},
            "`${OTHER}` is not among the pipeline's secrets",
            'write `secrets = ["OTHER"]` in the pipeline, and export OTHER',
        ),
        ({"selects": {}}, "unknown key `selects`", "did you mean `select`?"),
    ],
)
def test_what_cannot_be_meant_is_refused(config: dict[str, Any], problem: str, hint: str) -> None:
    with pytest.raises(BadSourceConfig) as caught:
        checked(**config)

    assert str(caught.value) == f"the config of connector `singer` is wrong: {problem}"
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    "config",
    [
        {"start_date": "2026-01-01", "primary_key": "id", "token_url": "https://x.example/token"},
        {"password": "", "user": "me"},
        {"url": "https://x.example:8080/a:b@c"},
        {"path": "data/*.jsonl", "replication_key": "updated_at"},
    ],
)
def test_what_is_no_secret_may_be_written_out(config: dict[str, Any]) -> None:
    assert checked(config=config).config.keys() == config.keys()


def test_secrets_of_a_config_are_taken_apart_under_names_of_their_own() -> None:
    secrets: dict[str, Secret] = {}

    apart = taken_apart(
        {
            "accessToken": "one",
            "db": [{"password": "two"}, {"password": "three"}],
            "dsn": "mysql://me:four@db/x",
            "1st token": "five",
            "user": "me",
            "kept_token": "${KEPT}",
            "n": 1,
        },
        secrets,
    )

    assert apart == {
        "accessToken": "${ACCESS_TOKEN}",
        "db": [{"password": "${PASSWORD}"}, {"password": "${PASSWORD_2}"}],
        "dsn": "${DSN}",
        "1st token": "${TAP_1ST_TOKEN}",
        "user": "me",
        "kept_token": "${KEPT}",
        "n": 1,
    }
    assert {name: secret.reveal() for name, secret in secrets.items()} == {
        "ACCESS_TOKEN": "one",
        "PASSWORD": "two",
        "PASSWORD_2": "three",
        "DSN": "mysql://me:four@db/x",
        "TAP_1ST_TOKEN": "five",
    }


def test_the_connector_describes_itself() -> None:
    found = describe_connector("singer", SingerConnector)

    assert (
        'source = { connector = "singer", config = { tap = "taps/github/bin/tap-github" } }' in found.example
    )
    assert [(key.path, key.secrets) for key in found.keys if key.secrets != "no"] == [
        ("config", "may"),
        ("env", "may"),
    ]
