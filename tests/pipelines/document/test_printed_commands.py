"""What the document shows of a pipeline that has run: its state, its files, its spans, and its rewind."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.door import Door
from tests.support.github_api import T0, GithubApi, Repository
from tests.support.printed import PROJECT, printed
from tests.support.services import asked_for, busy_repository, github_rows

from hakiri.engine import EngineHome
from hakiri.telemetry import read_trace

pytestmark = pytest.mark.spark
REPOSITORY = "OpenHackersClub/gctrl"
# Half a year is one chunk here, so that the years since 2024 are a few.
WINDOW = '[pipeline.backfill]\nwindow = "180d"\n'
# The state that the document prints, with its columns.
CURSORS = "SELECT pipeline_id, table_name, cursor_json, updated_at FROM pipeline_cursor ORDER BY table_name"
RUNS = (
    "SELECT run_id, pipeline_id, started_at, ended_at, status, row_count, bytes, error_kind, error_msg,"
    " trace_id FROM pipeline_run ORDER BY started_at"
)
CHUNKS = (
    "SELECT pipeline_id, chunk_id, predicate, status, attempts, started_at, completed_at, cursor_committed,"
    " winning_attempt, run_id, table_name, superseded_by, reason FROM pipeline_chunks ORDER BY chunk_id"
)
CHUNK_ATTRIBUTES = (
    "hakiri.pipeline_id",
    "hakiri.chunk_id",
    "hakiri.run_id",
    "hakiri.chunk.predicate",
    "hakiri.chunk.rows",
    "hakiri.chunk.bytes",
    "hakiri.chunk.attempts",
    "hakiri.chunk.duration_ms",
    "hakiri.chunk.wait_ms",
)
REASON = "vendor-side data correction RT-481"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The printed pipeline `github-issues`, applied once."""

    hakiri: Door
    repository: Repository
    api: GithubApi

    def state(self, sql: str) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(self.hakiri.store.root / "meta.sqlite")) as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute(sql)]


def seconds_of(text: str) -> float:
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - T0).total_seconds()


@pytest.fixture(scope="module")
def world(spark: Any, shared_home: EngineHome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    repository = busy_repository(REPOSITORY, days=6)
    for number, day in enumerate(("2023-12-31", "2024-01-01", "2024-03-05", "2024-06-30", "2024-07-01"), 100):
        repository.add_issue(number, seconds=seconds_of(f"{day}T12:00:00"))
    hakiri = Door.beside(shared_home, tmp_path_factory.mktemp("printed"))
    with GithubApi(repository) as api:
        pipeline = printed(PROJECT, github=api.url).partition('[[pipeline]]\nid = "shopify-orders"')[0]
        hakiri.write("hakiri.toml", f"{pipeline}{WINDOW}")
        hakiri.done("apply")
        yield World(hakiri=hakiri, repository=repository, api=api)


@pytest.mark.spec("HP-057")
@pytest.mark.spec("HP-059")
@pytest.mark.spec("HP-060")
@pytest.mark.spec("HP-061")
def test_cursors_and_runs_are_in_the_tables_that_are_printed(world: World) -> None:
    cursors, (run,) = world.state(CURSORS), world.state(RUNS)

    assert [cursor["table_name"] for cursor in cursors] == [
        f"{table}#repo={REPOSITORY}" for table in sorted(github_rows(world.repository))
    ]
    newest = max(entry["updated_at"] for entry in world.repository.entries.values())
    issues = next(cursor for cursor in cursors if cursor["table_name"].startswith("github_issues"))
    assert f'"updated_at":"{newest[:-4]}' in issues["cursor_json"]
    rows = sum(len(rows) for rows in github_rows(world.repository).values())
    assert (run["pipeline_id"], run["status"], run["row_count"]) == ("github-issues", "success", rows)
    assert run["bytes"] > 0
    assert (run["error_kind"], run["error_msg"]) == (None, None)
    assert run["started_at"] < run["ended_at"]


@pytest.mark.spec("HP-115")
@pytest.mark.spec("HP-118")
@pytest.mark.spec("HP-120")
def test_a_chunk_is_a_row_of_pipeline_chunks_and_its_files_are_where_the_row_says(world: World) -> None:
    for chunk in world.state(CHUNKS):
        assert (chunk["status"], chunk["attempts"]) in {("done", 1), ("superseded", 1)}
        node, _, attempt = chunk["winning_attempt"].partition("/")
        folder = (
            world.hakiri.store.root
            / f"tables/{chunk['table_name']}/data/runs/{chunk['run_id']}/{node}/chunk-{chunk['chunk_id']}"
            / attempt
        )
        names = sorted(path.name for path in folder.iterdir())
        assert names in (["_manifest.json"], ["_manifest.json", "part-00000.parquet"])


@pytest.mark.spec("HP-139")
@pytest.mark.spec("HP-140")
def test_each_chunk_has_a_span_with_the_attributes_that_are_printed(world: World) -> None:
    run = world.state(RUNS)[0]
    trace = read_trace(world.hakiri.store.root / "traces" / f"{run['trace_id']}.jsonl")

    spans = [span for span in trace.spans if "hakiri.chunk_id" in span.attributes]
    assert len(spans) == len([chunk for chunk in world.state(CHUNKS) if chunk["run_id"] == run["run_id"]])
    for span in spans:
        assert set(CHUNK_ATTRIBUTES) <= set(span.attributes)
        assert span.attributes["hakiri.run_id"] == run["run_id"]
    assert "hakiri.backfill.eta" in spans[0].attributes
    predicates = {str(span.attributes["hakiri.chunk.predicate"]) for span in spans}
    assert f"all of updated_at, repo {REPOSITORY}" in predicates


@pytest.mark.spec("HP-141")
def test_the_status_has_the_shape_that_is_printed(world: World) -> None:
    status = world.hakiri.done("status", "github-issues", "--json").data

    printed_keys = (
        "pipeline_id", "phase", "chunks", "throughput", "eta_seconds", "started_at", "rate_budget",
        "rate_budget_consumed_pct",
    )  # fmt: skip
    assert [key for key in status if key in printed_keys] == [*printed_keys]
    assert (status["pipeline_id"], status["phase"]) == ("github-issues", "streaming")
    assert {"done", "running", "pending", "total"} == set(status["chunks"])
    assert {"rows_per_sec", "bytes_per_sec"} == set(status["throughput"])
    assert status["started_at"].endswith("Z")


@pytest.mark.spec("HP-074")
def test_schema_log_shows_every_evolution_event(world: World) -> None:
    log = world.hakiri.done("schema", "log", "github-issues", "--json").data

    assert {(entry["table"], entry["version"], entry["decided_by"]) for entry in log["entries"]} == {
        (table, 1, "auto") for table in github_rows(world.repository)
    }


@pytest.mark.spec("HP-103")
@pytest.mark.spec("HP-142")
@pytest.mark.spec("HP-143")
@pytest.mark.spec("HP-145")
def test_backfill_rewind_pulls_the_window_again_for_a_reason(world: World) -> None:
    hakiri = world.hakiri
    before = {chunk["chunk_id"]: chunk for chunk in world.state(CHUNKS)}
    files = {path: path.read_bytes() for path in hakiri.store.root.rglob("*.parquet")}
    for number in (101, 102, 103):  # as the vendor corrects it: without a new time of change
        world.repository.entries[number]["title"] = "corrected"
    calls = len(world.api.calls)

    rewound = hakiri.done(
        "backfill", "rewind", "github-issues",
        "--from", "2024-01-01", "--to", "2024-06-30",
        "--reason", REASON, "--as", "ada", "--json",
    ).data  # fmt: skip

    assert hakiri.done("status", "github-issues", "--json").data["phase"] == "backfilling"
    superseded = [chunk for chunk in world.state(CHUNKS) if chunk["status"] == "superseded"]
    assert {chunk["reason"] for chunk in superseded} == {REASON}
    assert rewound["kept"] == [chunk["chunk_id"] for chunk in superseded]
    pending = {row["chunk"] for row in rewound["chunks"]}
    assert {chunk["chunk_id"] for chunk in world.state(CHUNKS) if chunk["status"] == "pending"} == pending

    hakiri.done("apply", "github-issues")

    corrected = hakiri.query("SELECT number FROM github_issues WHERE title = 'corrected' ORDER BY number")
    assert corrected == [(101,), (102,), (103,)]
    assert hakiri.query("SELECT count(*) FROM github_issues") == [
        (len(github_rows(world.repository)["github_issues"]),)
    ]
    first, second = world.state(RUNS)
    again = [chunk for chunk in world.state(CHUNKS) if chunk["chunk_id"] in pending]
    assert {(chunk["status"], chunk["run_id"]) for chunk in again} == {("done", second["run_id"])}
    assert {path: path.read_bytes() for path in files} == files
    # Nothing but the window was asked for again.
    untouched = {chunk for chunk in before if chunk not in rewound["kept"]}
    assert untouched
    issues = [call.params.get("since", "") for call in asked_for(world.api.calls[calls:], "issues")]
    assert max(issues) < "2024-07-02"
    edges = world.state(
        f"SELECT * FROM lineage WHERE child_run_id = '{second['run_id']}' AND kind = 'rewind'"
    )
    assert {(edge["parent_run_id"], edge["reason"]) for edge in edges} == {(first["run_id"], REASON)}
    assert hakiri.done("status", "github-issues", "--json").data["phase"] == "streaming"
