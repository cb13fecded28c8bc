"""The connector `github`, against a small GitHub on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pytest
from tests.support.github_api import GithubApi, Repository, at
from tests.support.http_api import Call, Reply, http_breakages
from tests.support.rest import PLACE, Surroundings, connected, rows_of

from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Duration, Rate
from hakiri.sources.config import read_config
from hakiri.sources.contract import Batch, Extent, Hint, Read, Window
from hakiri.sources.errors import AuthExpired, BadSourceConfig, PermanentFailure, RateLimited
from hakiri.sources.github import GithubConfig, GithubConnector
from hakiri.sources.testing import ConnectorContract, Subject, maker

TOKEN = "ghp_loopback"
SECRETS = {"GITHUB_TOKEN": TOKEN}
TABLES = ("issues", "pull_requests", "comments")


class SmallBatches(GithubConnector):
    batch_records = 50


def filled(name: str, *, count: int = 130, first_id: int = 10_000) -> Repository:
    """Issues and pull requests of which several were changed in the same second, and comments."""
    repository = Repository(name=name, first_id=first_id)
    for number in range(1, count + 1):
        if number % 3:
            repository.add_issue(number, seconds=number // 2, state="closed" if number % 2 else "open")
        else:
            repository.add_pull_request(number, seconds=number // 2)
    for number in range(1, 8):
        repository.add_comment(number, seconds=number * 60)
    return repository


def connect(api: GithubApi, *repos: str, around: Surroundings | None = None) -> Any:
    config = {"repo": list(repos) or "octo/one", "base_url": api.url}
    return connected(config, around or Surroundings(SECRETS), GithubConnector)


def read(connector: Any, table: str, cursor: Any = None, **more: Any) -> list[Batch]:
    return list(connector.open(Read(table=table, cursor=cursor, incremental="updated_at", **more)))


def numbers(batches: list[Batch]) -> list[int]:
    return [row["number"] for row in rows_of(batches)]


def test_the_config_that_the_manifest_prints_is_enough() -> None:
    config = read_config(
        GithubConfig, {"repo": "OpenHackersClub/gctrl"}, connector="github", place=PLACE, secrets=()
    )

    assert (config.repo, config.base_url, config.token) == (
        ("OpenHackersClub/gctrl",),
        "https://api.github.com",
        None,
    )


@pytest.mark.parametrize(
    ("config", "problem", "hint"),
    [
        ({}, "`repo` is missing", "write a repository as in `owner/name`, or a list of them"),
        ({"repo": "gctrl"}, "`repo` is no repository", "write it as in `owner/name`"),
        ({"repo": ["a/b", "a b/c"]}, "`repo[1]` is no repository", "write it as in `owner/name`"),
        (
            {"repo": ["a/b", "a/b"]},
            "`repo` is empty, or has a repository twice",
            "write each repository once",
        ),
        ({"repo": []}, "`repo` is empty, or has a repository twice", "write each repository once"),
        ({"repos": "a/b"}, "unknown key `repos`", "did you mean `repo`?"),
        (
            {"repo": "a/b", "token": "ghp_x"},
            "`token` holds a secret that is written out",
            "write `${NAME}` in its place, and NAME in the pipeline's `secrets`",
        ),
    ],
)
def test_a_config_that_is_wrong_is_told(config: dict[str, Any], problem: str, hint: str) -> None:
    with pytest.raises(BadSourceConfig) as refused:
        read_config(GithubConfig, config, connector="github", place=PLACE, secrets=())

    assert str(refused.value) == f"the config of connector `github` is wrong: {problem}"
    assert refused.value.hint == hint


def test_tables_are_known_without_a_call_and_declare_what_github_documents() -> None:
    with GithubApi(token=TOKEN) as api, connect(api) as connector:
        tables = connector.discover()

    assert api.calls == []
    assert [table.name for table in tables] == [*TABLES]
    for table in tables:
        assert (table.primary_key, table.cursor_fields, table.is_open) == (("id",), ("updated_at",), True)
        assert (table.schema.names[:2], table.schema.names[-1]) == (["repo", "id"], "_extra")
        assert table.schema.field("id").type == pa.int64()
        assert table.schema.field("updated_at").type == pa.string()
        assert table.schema.field("user").type.field("login").type == pa.string()


def test_everything_that_github_documents_has_a_column() -> None:
    with GithubApi(filled("octo/one"), token=TOKEN) as api, connect(api) as connector:
        rows = {table: rows_of(read(connector, table)) for table in TABLES}

    assert {row["_extra"] for found in rows.values() for row in found} == {None}
    issue, pull = rows["issues"][0], rows["pull_requests"][0]
    assert (issue["repo"], issue["user"]["login"]) == ("octo/one", "octocat")
    assert [label["name"] for label in issue["labels"]] == ["bug"]
    assert issue["reactions"]["+1"] == 1
    assert pull["head"]["repo"] == '{"id":1,"full_name":"octo/one"}'


def test_what_github_adds_later_is_kept_aside() -> None:
    repository = Repository(name="octo/one")
    repository.add_issue(1, seconds=1, sentiment={"score": 5})
    with GithubApi(repository, token=TOKEN) as api, connect(api) as connector:
        rows = rows_of(read(connector, "issues"))

    assert rows[0]["_extra"] == '{"sentiment":{"score":5}}'


def test_issues_are_no_pull_requests_and_closed_ones_are_there() -> None:
    with GithubApi(filled("octo/one", count=9), token=TOKEN) as api, connect(api) as connector:
        issues, pulls = read(connector, "issues"), read(connector, "pull_requests")

    assert numbers(issues) == [1, 2, 4, 5, 7, 8]
    assert numbers(pulls) == [9, 6, 3]
    assert {row["state"] for row in rows_of(issues)} == {"open", "closed"}


def test_a_token_that_the_pipeline_has_is_used() -> None:
    with GithubApi(filled("octo/one"), token=TOKEN) as api, connect(api) as connector:
        read(connector, "comments")
        hint = connector.backfill_hint("comments")

    headers = api.calls[0].headers
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert headers["accept"] == "application/vnd.github+json"
    assert headers["x-github-api-version"] == "2022-11-28"
    assert hint.rate_budget == Rate.parse("5000/h")


def test_without_a_token_github_is_read_anonymously_and_slowly() -> None:
    with GithubApi(filled("octo/one")) as api, connect(api, around=Surroundings()) as connector:
        read(connector, "comments")
        hint = connector.backfill_hint("comments")

    assert "authorization" not in api.calls[0].headers
    assert hint.rate_budget == Rate.parse("60/h")


@pytest.mark.spec("HP-111")
def test_the_hint_cuts_by_repository_and_month() -> None:
    with GithubApi(token=TOKEN) as api, connect(api, "octo/one", "octo/two") as connector:
        hints = {table: connector.backfill_hint(table) for table in TABLES}
        parts = connector.partitions("issues")

    by_month = Hint(
        cursor_kind=CursorKind.PARTITIONED_MONOTONIC,
        cursor_field="updated_at",
        partition_keys=("repo",),
        natural_window=Duration.parse("30d"),
        rate_budget=Rate.parse("5000/h"),
    )
    assert hints["issues"] == hints["comments"] == by_month
    assert hints["pull_requests"].natural_window is None
    assert parts == ({"repo": "octo/one"}, {"repo": "octo/two"})


def test_a_second_read_gives_nothing_and_the_next_what_changed() -> None:
    one = filled("octo/one")
    with GithubApi(one, token=TOKEN) as api, connect(api) as connector:
        for table in TABLES:
            cursor = read(connector, table)[-1].cursor
            assert read(connector, table, cursor) == []
            one.add_issue(500, seconds=900)
            one.add_pull_request(501, seconds=900)
            one.add_comment(502, seconds=900)
            assert len(rows_of(read(connector, table, cursor))) == 1
            del one.entries[500], one.entries[501], one.remarks[502]


def test_a_repository_that_is_added_later_is_read_from_its_start() -> None:
    with GithubApi(filled("octo/one"), filled("octo/two", count=9, first_id=50_000), token=TOKEN) as api:
        with connect(api, "octo/one") as connector:
            cursor = read(connector, "issues")[-1].cursor
        with connect(api, "octo/one", "octo/two") as connector:
            rows = rows_of(read(connector, "issues", cursor))

    assert cursor is not None
    assert cursor["updated_at"] == at(65)
    assert {(row["repo"], row["number"]) for row in rows} == {("octo/two", n) for n in (1, 2, 4, 5, 7, 8)}


def test_an_issue_that_changes_while_it_is_read_hides_no_other() -> None:
    one = Repository(name="octo/one")
    for number in range(1, 251):
        one.add_issue(number, seconds=number * 10)

    def busy(call: Call) -> Reply:
        reply = api._answered(call)
        if len(api.calls) == 1:  # the first page is out: its first issue moves to the end
            one.touch(1, seconds=9000)
        return reply

    with GithubApi(one, token=TOKEN) as api, connect(api) as connector:
        api.answer = busy
        found = numbers(read(connector, "issues"))

    assert sorted(set(found)) == [*range(1, 251)]
    assert sorted(found) == sorted([*range(1, 251), 1])
    assert len(api.calls) == 3


def test_pull_requests_are_read_from_the_newest_until_what_is_known() -> None:
    one = Repository(name="octo/one")
    for number in range(1, 351):
        one.add_pull_request(number, seconds=number * 10)
    with GithubApi(one, token=TOKEN) as api, connect(api) as connector:
        cursor = read(connector, "pull_requests")[-1].cursor
        one.touch(5, seconds=9000)
        api.calls.clear()

        assert numbers(read(connector, "pull_requests", cursor)) == [5]
        assert len(api.calls) == 1
        assert "since" not in api.calls[0].params


def test_a_month_is_asked_for_with_since_and_cut_at_its_end() -> None:
    with GithubApi(filled("octo/one"), token=TOKEN) as api, connect(api) as connector:
        window = Window(field="updated_at", since=at(10), until=at(20))
        batches = read(connector, "issues", window=window, partition={"repo": "octo/one"})

    assert numbers(batches) == [n for n in range(20, 40) if n % 3]
    assert api.calls[0].params["since"] == at(9)
    assert len(api.calls) == 1


def test_the_oldest_change_is_told_for_plans() -> None:
    with GithubApi(filled("octo/one"), token=TOKEN) as api, connect(api) as connector:
        assert connector.extent("issues", "updated_at") == Extent(lowest=at(0))
        assert connector.extent("pull_requests", "updated_at") == Extent()


def test_a_limit_that_is_used_up_is_told_with_the_seconds_until_it_is_not() -> None:
    with GithubApi(filled("octo/one"), token=TOKEN) as api, connect(api) as connector:
        api.left = 0
        api.resets_at = int(connector.context.clock.now().timestamp()) + 1800
        with pytest.raises(RateLimited) as refused:
            read(connector, "issues")

    assert refused.value.seconds == 1800
    assert str(refused.value).endswith("was answered with 403: API rate limit exceeded")


def test_a_token_that_github_does_not_know_is_told_and_not_shown() -> None:
    around = Surroundings({"GITHUB_TOKEN": "ghp_wrong"})
    with (
        GithubApi(filled("octo/one"), token=TOKEN) as api,
        connect(api, around=around) as connector,
        pytest.raises(AuthExpired) as refused,
    ):
        connector.check()

    assert str(refused.value) == (
        "repository `octo/one` at `/repos/octo/one` was answered with 401: Bad credentials"
    )


def test_a_check_says_what_was_reached() -> None:
    with GithubApi(filled("octo/one"), token=TOKEN) as api, connect(api) as connector:
        said = connector.check()

        assert said == f"octo/one at {api.url}, with a token, 4999 calls left in this hour"


def test_a_repository_that_is_not_there_is_told() -> None:
    with GithubApi(token=TOKEN) as api, connect(api, "octo/none") as connector:
        with pytest.raises(PermanentFailure) as refused:
            connector.check()

        assert str(refused.value).startswith(
            f"there is no repository `octo/none` at {api.url} that can be read: "
        )
    assert refused.value.hint == "check `repo`; one that is not public needs the secret GITHUB_TOKEN"


def test_a_repository_with_a_new_name_is_followed() -> None:
    def renamed(call: Call) -> Reply:
        if call.path.startswith("/repos/old/"):
            there = f"{api.url}/repos/octo/one/issues?{urlencode(call.params)}"
            return Reply(status=301, headers={"location": there})
        return api._answered(call)

    with GithubApi(filled("octo/one", count=3), token=TOKEN) as api, connect(api, "old/name") as connector:
        api.answer = renamed
        found = rows_of(read(connector, "issues"))

    assert [row["number"] for row in found] == [1, 2]


@pytest.mark.proof
class TestGithub(ConnectorContract):
    @pytest.fixture
    def source(self) -> Iterator[Subject]:
        with GithubApi(filled("octo/one"), filled("octo/two", count=9, first_id=50_000), token=TOKEN) as api:
            config: dict[str, Any] = {"repo": ["octo/one", "octo/two"], "base_url": api.url}

            def grow(table: str) -> int:
                two = api.repositories["octo/two"]
                number = len(two.entries) + len(two.remarks) + 1000
                two.add_issue(number, seconds=5000)
                two.add_pull_request(number + 1, seconds=5000)
                two.add_comment(number + 2, seconds=5000)
                return 1

            yield Subject(
                make=maker(SmallBatches, config),
                rows={"issues": 93, "pull_requests": 46, "comments": 14},
                secrets={"GITHUB_TOKEN": TOKEN},
                incremental=dict.fromkeys(("issues", "pull_requests", "comments"), "updated_at"),
                grow=grow,
                calls=lambda: len(api.calls),
                breakages=http_breakages(api, TOKEN),
            )
