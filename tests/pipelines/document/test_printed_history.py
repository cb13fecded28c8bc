"""The pipeline `github-issues-historical` and its [pipeline.backfill] block, as the document prints them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.support.door import Door
from tests.support.github_api import GithubApi, Repository
from tests.support.printed import HISTORY, printed
from tests.support.services import asked_for, busy_repository, days_ago, github_rows, most_in_window

REPOSITORY = "torvalds/linux"
PIPELINE = "github-issues-historical"
START = datetime(2010, 1, 1, tzinfo=UTC)
AT_ONCE = (
    "`parallelism` is 4, but table `github_issues` has 1 partition: "
    "chunks of the same one will be read at the same time; "
    "set `parallelism` to 1"
)
# Without a token, as it is printed, GitHub stands no more.
TOO_FAST = (
    "`rate_budget` is 60/min, but the source stands 60/h, as its connector says; "
    "set `rate_budget` to `60/h`, or take it out"
)


def old_repository() -> Repository:
    """An issue of before 2010 that nobody touched since, and one of every later year."""
    repository = Repository(name=REPOSITORY)
    for number, year in enumerate(range(2009, 2026), start=1):
        seconds = (datetime(year, 6, 1, tzinfo=UTC) - datetime(2026, 1, 1, tzinfo=UTC)).total_seconds()
        repository.add_issue(number, seconds=seconds)
    return repository


def write(hakiri: Door, api: GithubApi, *changes: tuple[str, str]) -> None:
    text = printed(HISTORY, github=api.url)
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    hakiri.write("hakiri.toml", f'[project]\nname = "warehouse"\n{text}')


def windows(report: Any) -> list[tuple[datetime, datetime | None]]:
    """What each chunk reads, from and until."""
    found = [chunk["predicate"]["window"] for chunk in report["chunks"]]
    return [
        (datetime.fromisoformat(window["since"]), until and datetime.fromisoformat(until))
        for window in found
        for until in [window.get("until")]
    ]


@pytest.mark.spec("HP-112")
@pytest.mark.spec("HP-113")
@pytest.mark.spec("HP-116")
@pytest.mark.spec("HP-138")
def test_the_plan_shows_every_knob_before_any_data_moves_and_warns_of_the_parallelism(
    tmp_path: Path,
) -> None:
    hakiri = Door(folder=tmp_path)
    with GithubApi(old_repository()) as api:
        write(hakiri, api)

        planned = hakiri("plan", "--json")

    (row,) = planned.data["pipelines"]
    (table,) = row["tables"]
    assert {name: (knob["value"], knob["origin"]) for name, knob in table["knobs"].items()} == {
        "window": ("30d", "manifest"),
        "parallelism": ("4", "manifest"),
        "rate_budget": ("60/min", "manifest"),
        "start_from": ("2010-01-01", "manifest"),
        "max_chunks_per_tick": ("8", "manifest"),
    }
    assert row["warnings"] == [AT_ONCE, TOO_FAST]
    assert [call.params.get("since") for call in api.calls] == [None]


@pytest.mark.spark
@pytest.mark.spec("HP-101")
@pytest.mark.spec("HP-104")
@pytest.mark.spec("HP-105")
@pytest.mark.spec("HP-113")
@pytest.mark.spec("HP-114")
@pytest.mark.spec("HP-115")
@pytest.mark.spec("HP-141")
def test_a_tick_takes_eight_of_the_thirty_day_slices_since_2010(hakiri: Door) -> None:
    with GithubApi(old_repository()) as api:
        write(hakiri, api)

        ticked = hakiri("run", PIPELINE, "--json")

        slices = windows(hakiri("backfill", "chunks", PIPELINE, "--json").data)
        thirty_days = timedelta(days=30)
        assert slices[0] == (START, START + thirty_days)
        assert all(until == after for (_, until), (after, _) in pairwise(slices))
        assert {until - since for since, until in slices if until is not None} == {thirty_days}
        assert slices[-1][1] is None
        assert datetime.now(UTC) - slices[-1][0] <= thirty_days

        assert ticked.code == 0, ticked.err
        (applied,) = ticked.data["pipelines"]
        assert (ticked.code, applied["status"], applied["chunks"]) == (0, "partial", 8)
        status = hakiri("status", PIPELINE, "--json").data
        assert (status["phase"], status["rate_budget"]) == ("backfilling", "60/min")
        assert status["chunks"] == {
            "done": 8, "running": 0, "pending": len(slices) - 8, "total": len(slices)
        }  # fmt: skip
        with closing(sqlite3.connect(hakiri.store.root / "meta.sqlite")) as state:
            claims = state.execute(
                "SELECT count(*) FROM pipeline_chunks WHERE status = 'done' GROUP BY started_at"
            ).fetchall()
        # In flight at a time, as the block says; a slow machine claims the next ones one by one.
        assert (claims[0], max(claims), sum(count for (count,) in claims)) == ((4,), (4,), 8)
        # One call to learn where the issues begin, and one for each slice.
        since = [call.params.get("since") for call in asked_for(api.calls, "issues")]
        assert (since[0], len(since)) == (None, 9)


@pytest.mark.spark
@pytest.mark.spec("HP-106")
@pytest.mark.spec("HP-113")
@pytest.mark.spec("HP-114")
def test_it_comes_to_streaming_within_its_rate_budget_and_never_goes_before_its_start(
    hakiri: Door,
) -> None:
    repository = busy_repository(REPOSITORY, days=12)
    repository.add_issue(900, seconds=days_ago(300))
    start = datetime.now(UTC) - timedelta(days=200)
    with GithubApi(repository) as api:
        write(hakiri, api, ("2010-01-01", f"{start:%Y-%m-%d}"), ("60/min", "5/s"))

        applied = hakiri("apply", "--json")

        (row,) = applied.data["pipelines"]
        assert (applied.code, row["phase"]) == (0, "streaming")
        rows = [row for row in github_rows(repository)["github_issues"] if row[0] != 10_900]
        assert hakiri.query("SELECT id FROM github_issues ORDER BY id") == [(row[0],) for row in rows]
        calls = asked_for(api.calls, "issues")
        assert len(calls) > 6
        assert most_in_window(calls, 1.0) <= 5
        asked = [call.params["since"] for call in calls if "since" in call.params]
        assert len(asked) == len(calls) - 1
        # GitHub's times are whole seconds, and each read begins one earlier.
        assert min(asked) == f"{start.replace(hour=0, minute=0, second=0) - timedelta(seconds=1):%FT%TZ}"
