"""A service that misbehaves while a run reads it: what passes is waited out, what lasts is decided about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.support.github_api import GithubApi, Repository
from tests.support.http_api import Call, Reply
from tests.support.runtime import Lab
from tests.support.services import asked_for, busy_repository, github_rows
from tests.support.troubles import (
    HastyStop,
    Trouble,
    every_record,
    half_a_body,
    hangs_up,
    says,
    torn_json,
)

from hakiri.catalog.contract.chunks import ChunkStatus
from hakiri.catalog.contract.pipelines import Decision
from hakiri.catalog.contract.runs import RunStatus
from hakiri.core.ids import NodeId, RunId
from hakiri.pipelines.errors import WaitsForDecision
from hakiri.pipelines.events import ChunkGivenBack, Waiting
from hakiri.pipelines.needs import Need
from hakiri.pipelines.operations.changing import Operator

pytestmark = pytest.mark.spark
TOKEN = "ghp_loopback"
MANIFEST = """\
[[pipeline]]
id = "p"
source = {{ connector = "github", config = {{ repo = "octo/one", base_url = "{url}" }} }}
secrets = ["GITHUB_TOKEN"]
tables = ["issues"]
incremental = "updated_at"
retries = 1
"""
STORED = 'SELECT id, updated_at, "user".login FROM github_issues ORDER BY id'
Answer = Callable[[Call, Reply], Reply]


@pytest.fixture
def repository() -> Repository:
    """So much history that it is three windows or four."""
    return busy_repository("octo/one", days=70)


@pytest.fixture
def api(lab: Lab, repository: Repository) -> Iterator[GithubApi]:
    with GithubApi(repository, token=TOKEN) as api:
        lab.env["GITHUB_TOKEN"] = TOKEN
        lab.write(MANIFEST.format(url=api.url))
        yield api


def is_second_window(call: Call) -> bool:
    """The first read begins at the beginning; whatever has a `since` is a later one."""
    return "since" in call.params


def decided(lab: Lab, decision: Decision) -> None:
    with lab.catalog() as catalog:
        operator = Operator(
            catalog=catalog,
            node=NodeId("operator"),
            run=RunId("operator"),
            by="operator:ada",
            now=lab.clock.now(),
        )
        operator.decide("p", decision)


def expected(repository: Repository) -> list[tuple[Any, ...]]:
    return github_rows(repository)["github_issues"]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(says(429, retry_after="1"), id="429 with Retry-After"),
        pytest.param(says(500), id="500"),
        pytest.param(half_a_body, id="half a body"),
        pytest.param(torn_json, id="half a document"),
        pytest.param(hangs_up, id="a closed connection"),
    ],
)
@pytest.mark.spec("HP-047")
def test_what_passes_is_waited_out_and_nothing_is_lost_or_doubled(
    lab: Lab, api: GithubApi, repository: Repository, answer: Answer
) -> None:
    with Trouble(api, is_second_window, answer, times=1)() as trouble:
        applied = lab.applied()

    assert len(trouble.hits) == 1
    assert lab.query(STORED) == expected(repository)
    assert applied.result is not None
    assert (applied.result.run.status, applied.result.run.rows) == (
        RunStatus.SUCCESS,
        len(expected(repository)),
    )
    assert {(chunk.status, chunk.attempts) for chunk in lab.chunks()} == {(ChunkStatus.DONE, 1)}


@pytest.mark.spec("HP-047")
def test_a_source_that_cannot_say_yet_what_it_has_is_asked_again(
    lab: Lab, api: GithubApi, repository: Repository
) -> None:
    stop = HastyStop()
    with Trouble(api, lambda call: True, says(429, retry_after="120"), times=1)():
        lab.applied(stop=stop)

    assert stop.waits == [120.0]
    assert [event.seconds for event in lab.told(Waiting)] == [120.0]
    assert lab.told(ChunkGivenBack) == []
    assert lab.query(STORED) == expected(repository)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lasting:
    """A trouble that does not pass, the error it is, and how long the run waits for it to pass."""

    answer: Answer
    kind: str
    words: str
    waits: tuple[float, ...] = ()


LASTING = {
    "429 for minutes": Lasting(
        answer=says(429, retry_after="300"),
        kind="sources.rate_limited",
        words="was answered with 429: not now",
        waits=(300.0,),
    ),
    "401": Lasting(answer=says(401), kind="sources.auth_expired", words="was answered with 401: not now"),
    "404": Lasting(answer=says(404), kind="sources.ask_refused", words="was answered with 404: not now"),
    "a cursor of another type": Lasting(
        answer=every_record(lambda record: [record | {"updated_at": "yesterday"}]),
        kind="sources.schema_incompatible",
        words="`updated_at` that does not fit the format `iso`",
    ),
    "a key of another type": Lasting(
        answer=every_record(lambda record: [record | {"id": "one"}]),
        kind="store.bad_row",
        words="column `id` of row 1 is NULL and belongs to the primary key",
    ),
}


@pytest.mark.parametrize("case", LASTING)
@pytest.mark.spec("HP-041")
@pytest.mark.spec("HP-047")
@pytest.mark.spec("HP-048")
@pytest.mark.spec("HP-061")
def test_what_lasts_fails_the_run_and_waits_for_a_decision(
    lab: Lab, api: GithubApi, repository: Repository, case: str
) -> None:
    lasting = LASTING[case]
    stop = HastyStop()
    with Trouble(api, is_second_window, lasting.answer)():
        failed = lab.run("p", stop=stop)
        first_failure = len(api.calls)
        waiting = lab.apply()[0]

        assert (waiting.need, type(waiting.error)) == (Need.WAITS, WaitsForDecision)
        assert lab.run("p").need is Need.WAITS
        assert len(api.calls) == first_failure

    assert tuple(stop.waits) == lasting.waits
    assert failed.result is not None
    run = failed.result.run
    assert (run.status, run.error_kind, run.ended_at is not None) == (RunStatus.FAILED, lasting.kind, True)
    assert lasting.words in str(run.error_message)
    done, bad, *rest = lab.chunks()
    assert (done.status, bad.status, bad.attempts) == (
        ChunkStatus.DONE,
        ChunkStatus.FAILED,
        1 + len(lasting.waits),
    )
    assert (bad.error_kind, bad.error_message) == (lasting.kind, run.error_message)
    assert {chunk.status for chunk in rest} == {ChunkStatus.PENDING}
    told = [(event.will_retry, event.in_seconds) for event in lab.told(ChunkGivenBack)]
    assert told == [*((True, seconds) for seconds in lasting.waits), (False, 0.0)]
    # What was committed before is there, and is all that is there.
    assert run.rows == done.rows
    assert set(lab.query(STORED)) < set(expected(repository))

    decided(lab, Decision.RETRY)
    lab.applied()

    assert lab.query(STORED) == expected(repository)
    after = asked_for(api.calls[first_failure:], "issues")
    assert all("since" in call.params for call in after)
    assert {(chunk.status, chunk.error_kind) for chunk in lab.chunks()} == {(ChunkStatus.DONE, None)}


@pytest.mark.spec("HP-048")
def test_a_window_that_is_skipped_is_all_that_is_missing(
    lab: Lab, api: GithubApi, repository: Repository
) -> None:
    with Trouble(api, is_second_window, says(404), times=1)():
        lab.run("p")

    decided(lab, Decision.SKIP)
    applied = lab.applied()

    skipped = [chunk for chunk in lab.chunks() if chunk.status is ChunkStatus.SKIPPED]
    assert len(skipped) == 1
    assert applied.result is not None
    assert applied.result.is_converged
    missing = set(expected(repository)) - set(lab.query(STORED))
    assert 0 < len(missing) < len(expected(repository))


@pytest.mark.spec("HP-047")
def test_a_token_that_expires_in_the_middle_is_replaced_without_reading_anything_twice(
    lab: Lab, api: GithubApi, repository: Repository
) -> None:
    def expires(call: Call) -> bool:
        if is_second_window(call):
            api.token = "ghp_renewed"
        return False

    with Trouble(api, expires, says(500))():
        failed = lab.run("p")

    assert failed.error is not None
    assert (failed.error.code, failed.error.hint) == (
        "sources.auth_expired",
        "check the secrets, and what they give the right to",
    )
    assert "Bad credentials" in str(failed.error)
    calls = len(api.calls)

    lab.env["GITHUB_TOKEN"] = "ghp_renewed"
    decided(lab, Decision.RETRY)
    lab.applied()

    assert lab.query(STORED) == expected(repository)
    assert all("since" in call.params for call in asked_for(api.calls[calls:], "issues"))


@pytest.mark.spec("HP-147")
def test_a_row_that_comes_twice_is_one_row(lab: Lab, api: GithubApi, repository: Repository) -> None:
    def older_first(record: dict[str, Any]) -> list[dict[str, Any]]:
        return [record | {"title": "as it was"}, record]

    with Trouble(api, lambda call: True, every_record(older_first))():
        lab.applied()

    assert lab.query(STORED) == expected(repository)
    assert lab.query("SELECT count(*) FROM github_issues WHERE title = 'as it was'") == [(0,)]


def test_a_value_of_another_type_is_kept_beside_the_columns_until_it_fits(
    lab: Lab, api: GithubApi, repository: Repository
) -> None:
    with Trouble(api, is_second_window, every_record(lambda record: [record | {"number": "seven"}]))():
        lab.applied()

    odd = lab.query("SELECT number, _extra FROM github_issues WHERE number IS NULL")
    assert set(odd) == {(None, '{"number":"seven"}')}
    assert lab.query(STORED) == expected(repository)
