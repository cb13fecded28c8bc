"""`hakiri backfill`: the plan of a pipeline, and pulling a part of it again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from tests.pipelines.operations.scenes import (
    Scene,
    half_failed,
    made_project,
    run_id,
    scene_in,
    stop_the_clock,
    streaming,
    window,
)

from hakiri.catalog.contract.chunks import NewChunk
from hakiri.catalog.contract.pipelines import Phase
from hakiri.core.ids import PipelineId, TableName

if TYPE_CHECKING:
    from conftest import Outcome, Run

DOCS = Path(__file__).resolve().parents[2] / "docs"
HISTORICAL = "github-issues-historical"


@pytest.fixture
def scene(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    stop_the_clock(monkeypatch)
    with scene_in(tmp_path) as scene:
        yield scene


@pytest.fixture
def months(scene: Scene) -> Scene:
    """A backfill by months that is done."""
    firsts = [f"2024-{month:02d}-01T00:00:00Z" for month in (1, 4, 7, 10)]
    pieces = [
        window(None, firsts[0], field="updated_at"),
        *(window(firsts[n], firsts[n + 1], field="updated_at") for n in range(3)),
        window(firsts[-1], field="updated_at"),
    ]
    scene.declared(HISTORICAL, "github_issues", *pieces)
    run = scene.started(HISTORICAL)
    for _ in pieces[:-1]:
        scene.did(HISTORICAL, run)
    scene.did(HISTORICAL, run, cursor={"updated_at": "2024-11-30T12:00:00Z"})
    scene.moved(HISTORICAL, Phase.BACKFILLING, Phase.STREAMING)
    scene.ended(HISTORICAL, run)
    return scene


def validated(name: str, outcome: Outcome) -> dict[str, Any]:
    schema = json.loads((DOCS / "schemas" / f"{name}.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(outcome.data)
    data: dict[str, Any] = outcome.data
    return data


# Rewinding --------------------------------------------------------------------------------------------------


@pytest.mark.spec("HP-103")
@pytest.mark.spec("HP-142")
@pytest.mark.spec("HP-145")
def test_a_rewind_as_printed_marks_the_chunks_that_overlap_and_keeps_the_old_ones(
    run: Run, months: Scene
) -> None:
    outcome = run(
        *("backfill", "rewind", HISTORICAL, "--from", "2024-01-01", "--to", "2024-06-30"),
        *("--reason", "vendor-side data correction RT-481"),
    )
    plan = run("backfill", "chunks", HISTORICAL)

    assert outcome.code == 0
    assert outcome.out == (
        "chunk  table          reads\n"
        "    6  github_issues  updated_at from 2024-01-01 until 2024-04-01\n"
        "    7  github_issues  updated_at from 2024-04-01 until 2024-07-01\n"
    )
    assert outcome.err == "2 chunks will be pulled again; run `hakiri apply github-issues-historical`\n"
    assert [line.split("  ")[-1].strip() for line in plan.out.splitlines()[2:4]] == [
        "vendor-side data correction RT-481"
    ] * 2
    assert months.phase(HISTORICAL) is Phase.BACKFILLING


@pytest.mark.spec("HP-142")
def test_a_rewind_as_data(run: Run, months: Scene) -> None:
    report = validated(
        "backfill-rewind",
        run(
            *("backfill", "rewind", HISTORICAL, "--from", "2024-05-01", "--to", "2024-05-02"),
            *("--reason", "RT-481", "--as", "agent:night-watch", "--json"),
        ),
    )

    assert report == {
        "schema_version": 1,
        "pipeline_id": HISTORICAL,
        "by": "agent:night-watch",
        "reason": "RT-481",
        "since": "2024-05-01",
        "until": "2024-05-02",
        "chunks": [
            {
                "chunk": 6,
                "table": "github_issues",
                "reads": "updated_at from 2024-04-01 until 2024-07-01",
                "predicate": {
                    "kind": "window",
                    "window": {
                        "field": "updated_at",
                        "since": "2024-04-01T00:00:00Z",
                        "until": "2024-07-01T00:00:00Z",
                    },
                },
            }
        ],
        "kept": [3],
        "begins": {},
    }


def test_a_range_that_begins_before_the_history_says_what_is_left_out(run: Run, scene: Scene) -> None:
    pieces = [
        window("2024-03-01T00:00:00Z", "2024-04-01T00:00:00Z", field="updated_at"),
        window("2024-04-01T00:00:00Z", field="updated_at"),
    ]
    scene.declared(HISTORICAL, "github_issues", *pieces)
    attempt = scene.started(HISTORICAL)
    scene.did(HISTORICAL, attempt)
    scene.did(HISTORICAL, attempt, cursor={"updated_at": "2024-11-30T12:00:00Z"})
    asked = ("backfill", "rewind", HISTORICAL, "--to", "2024-03-31", "--reason", "RT-481")

    early, exact = run(*asked, "--from", "2023-01-01"), run(*asked, "--from", "2024-03-01", "--json")

    assert early.out == (
        "chunk  table          reads\n    3  github_issues  updated_at from 2024-03-01 until 2024-04-01\n"
    )
    assert early.err == (
        "warning: the history of table `github_issues` begins at 2024-03-01: nothing before that was ever "
        "pulled, and it is not pulled now\n"
        "hint: for what lies before, set an earlier `start_from` in the manifest and run `hakiri apply "
        "github-issues-historical`\n"
        "1 chunk will be pulled again; run `hakiri apply github-issues-historical`\n"
    )
    assert exact.code == 2  # it waits to be pulled already


def test_a_range_that_begins_before_the_history_as_data(run: Run, scene: Scene) -> None:
    scene.declared(HISTORICAL, "github_issues", window("2024-03-01T00:00:00Z", field="updated_at"))
    attempt = scene.started(HISTORICAL)
    scene.did(HISTORICAL, attempt, cursor={"updated_at": "2024-11-30T12:00:00Z"})

    report = validated(
        "backfill-rewind",
        run(
            *("backfill", "rewind", HISTORICAL, "--from", "2023-01-01", "--to", "2024-03-31"),
            *("--reason", "RT-481", "--json"),
        ),
    )

    assert report["begins"] == {"github_issues": "2024-03-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (
            ("--from", "2024-06-30", "--to", "2024-01-01", "--reason", "x"),
            "error[chunks.empty_range]: there is nothing from `2024-06-30` to `2024-01-01`\n",
        ),
        (
            ("--from", "2024-06", "--to", "2024-07-01", "--reason", "x"),
            "error[grammar.bad_text]: `2024-06` is not a ",
        ),
        (
            ("--from", "1", "--to", "9", "--reason", "x"),
            "error[chunks.range_misfit]: `1` cannot be compared with moments\n",
        ),
        (
            ("--from", "2024-01-01", "--to", "2024-01-02", "--reason", "x", "--table", "issue"),
            "error[pipelines.no_such_table]: pipeline `github-issues-historical` does not pull a table `iss",
        ),
        (
            ("--from", "2030-01-01", "--to", "2030-01-02", "--reason", "x"),
            "error[pipelines.nothing_read]: nothing of that range was pulled by pipeline `github-issues-hist",
        ),
        (
            ("--from", "2024-01-01", "--to", "2024-01-02", "--reason", " "),
            "error[usage]: a rewind needs a reason\nhint: say with `--reason` why it is done\n",
        ),
        (("--from", "2024-01-01", "--to", "2024-01-02"), "error[usage]: missing option `--reason`\n"),
    ],
)
def test_a_rewind_that_cannot_be_done_is_refused(
    run: Run, months: Scene, args: tuple[str, ...], error: str
) -> None:
    before = months.statuses(HISTORICAL)

    outcome = run("backfill", "rewind", HISTORICAL, *args)

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(error)
    assert months.statuses(HISTORICAL) == before


def test_where_nothing_ran_there_is_nothing_to_rewind(run: Run, tmp_path: Path) -> None:
    made_project(tmp_path)

    outcome = run("backfill", "rewind", "orders", "--from", "1", "--to", "2", "--reason", "x")

    assert outcome.code == 2
    assert outcome.err.startswith("error[pipelines.nothing_read]: ")
    assert [path.name for path in tmp_path.iterdir()] == ["hakiri.toml"]


# The plan ---------------------------------------------------------------------------------------------------


def test_the_plan_has_every_chunk_and_what_became_of_it(run: Run, scene: Scene) -> None:
    streaming(scene, "events", "events")
    half_failed(scene)
    run("backfill", "rewind", "orders", "--from", "0", "--to", "50", "--reason", "RT-481")

    outcome = run("backfill", "chunks", "orders")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "chunk  table   reads                             status           tries  rows  bytes  because\n"
        "    1  orders  id until 100 and without a value  superseded by 5      1   100  145KB  RT-481\n"
        "    2  orders  id from 100 until 200             failed               1               "
        "sources.unauthorized\n"
        "    3  orders  id from 200 until 300             pending              0\n"
        "    4  orders  id from 300 on                    pending              0\n"
        "    5  orders  id until 100 and without a value  pending              0\n"
    )


def test_the_plan_of_one_status_as_data(run: Run, scene: Scene) -> None:
    half_failed(scene)

    report = validated("backfill-chunks", run("backfill", "chunks", "orders", "--status", "failed", "--json"))

    assert report["chunks"] == [
        {
            "chunk": 2,
            "table": "orders",
            "reads": "id from 100 until 200",
            "predicate": {"kind": "window", "window": {"field": "id", "since": 100, "until": 200}},
            "status": "failed",
            "attempts": 1,
            "run": run_id(1),
            "rows": None,
            "bytes": None,
            "error_kind": "sources.unauthorized",
            "error_message": "the source answered 401",
            "superseded_by": None,
            "reason": None,
        }
    ]


@pytest.mark.parametrize(
    ("args", "out"),
    [
        (("orders",), "orders has no chunks\n"),
        (("orders", "--status", "done"), "orders has no done chunks\n"),
    ],
)
def test_a_plan_without_chunks_says_so(run: Run, scene: Scene, args: tuple[str, ...], out: str) -> None:
    assert run("backfill", "chunks", *args).out == out


def test_a_status_that_no_chunk_has_is_refused(run: Run, scene: Scene) -> None:
    outcome = run("backfill", "chunks", "orders", "--status", "lost")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error[usage]: chunks are never `lost`\n"
        "hint: choose one of: pending, running, done, failed, skipped, superseded\n"
    )


def test_a_predicate_of_a_later_version_is_shown_as_it_is(run: Run, scene: Scene) -> None:
    later = NewChunk(table=TableName("orders"), predicate='{"kind":"orbit"}')
    scene.catalog.chunks.plan(PipelineId("orders"), "later", [later], scene.at)

    outcome = run("backfill", "chunks", "orders")

    assert outcome.out == (
        'chunk  table   reads             status   tries\n    1  orders  {"kind":"orbit"}  pending      0\n'
    )
