"""`hakiri runs`: the history, and everything that is known of one run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from tests.pipelines.operations.scenes import (
    NOW,
    Scene,
    half_failed,
    made_project,
    run_id,
    scene_in,
    stop_the_clock,
    streaming,
    window,
)

from hakiri.catalog.contract.lineage import Edge, EdgeKind
from hakiri.core.ids import RunId
from hakiri.telemetry import trace_id_of

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
def past(scene: Scene) -> Scene:
    """Three runs: one well, one failed, one under way."""
    scene.at = NOW - timedelta(days=3)
    streaming(scene, "events", "events")
    scene.at = NOW - timedelta(hours=2)
    half_failed(scene)
    scene.at = NOW
    scene.started(HISTORICAL)
    return scene


def validated(name: str, outcome: Outcome) -> dict[str, Any]:
    schema = json.loads((DOCS / "schemas" / f"{name}.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(outcome.data)
    data: dict[str, Any] = outcome.data
    return data


# The list ---------------------------------------------------------------------------------------------------


def test_runs_are_listed_with_the_newest_first(run: Run, past: Scene) -> None:
    outcome = run("runs")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "run       pipeline                  status   started (UTC)      took  rows  bytes\n"
        "9c210003  github-issues-historical  running  2026-05-12 10:14\n"
        "9c210002  orders                    failed   2026-05-12 08:14  5.0 s   100  145KB\n"
        "          sources.unauthorized: the source answered 401\n"
        "9c210001  events                    success  2026-05-09 10:14   20 s   500  725KB\n"
    )


@pytest.mark.parametrize(
    "args",
    [("runs", "events"), ("runs", "list", "events"), ("runs", "-q", "events"), ("runs", "-C", ".", "events")],
    ids=" ".join,
)
def test_the_runs_of_one_pipeline_however_they_are_asked_for(
    run: Run, past: Scene, args: tuple[str, ...]
) -> None:
    outcome = run(*args)

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "run       pipeline  status   started (UTC)     took  rows  bytes\n"
        "9c210001  events    success  2026-05-09 10:14  20 s   500  725KB\n"
    )


def test_the_list_is_as_long_as_asked(run: Run, past: Scene) -> None:
    report = validated("runs-list", run("runs", "--limit", "2", "--json"))

    assert [row["run"] for row in report["runs"]] == [run_id(3), run_id(2)]
    assert report["runs"][1] == {
        "run": run_id(2),
        "short": "9c210002",
        "pipeline": "orders",
        "node": "node-1",
        "status": "failed",
        "started_at": "2026-05-12T08:14:00Z",
        "ended_at": "2026-05-12T08:14:05Z",
        "seconds": 5.0,
        "rows": 100,
        "bytes": 145000,
        "error_kind": "sources.unauthorized",
        "error_message": "the source answered 401",
        "trace": trace_id_of(run_id(2)),
    }


def test_a_pipeline_that_left_the_manifest_keeps_its_runs(run: Run, past: Scene, tmp_path: Path) -> None:
    manifest = tmp_path / "hakiri.toml"
    manifest.write_text(manifest.read_text().replace('id = "events"', 'id = "clicks"'))

    gone, new, never = run("runs", "events"), run("runs", "clicks"), run("runs", "ordres")

    assert gone.out.splitlines()[1].startswith("9c210001  events")
    assert new.out == "clicks never ran\n"
    assert (never.code, never.err) == (
        2,
        "error[manifest.unknown_pipeline]: no pipeline has the id `ordres`\nhint: did you mean `orders`?\n",
    )


def test_where_nothing_ran_there_is_nothing_to_list_and_no_run_to_show(run: Run, tmp_path: Path) -> None:
    made_project(tmp_path)

    listed, shown = run("runs"), run("runs", "show", "1")

    assert (listed.code, listed.out, listed.err) == (0, "nothing ran yet\n", "")
    assert (shown.code, shown.out) == (2, "")
    assert shown.err == (
        "error[pipelines.no_such_run]: there is no run `1`\nhint: see `hakiri runs` for those there are\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["hakiri.toml"]


def test_the_group_still_has_its_help(run: Run) -> None:
    outcome = run("runs", "--help")

    assert outcome.code == 0
    assert "hakiri runs [ID]` is short for" in outcome.out


# One run ----------------------------------------------------------------------------------------------------


@pytest.fixture
def story(scene: Scene) -> RunId:
    """A run that pulled again what another had pulled, with a trace; one of its chunks failed."""
    old = streaming(scene, "orders", "orders")
    scene.at = NOW
    scene.planned("orders", "orders", window(100, 200), window(200, 300), window(300, 400))
    new = scene.started("orders")
    reason = "vendor-side data correction RT-481"
    edge = Edge(child=new, parent=old, kind=EdgeKind.REWIND, reason=reason, at=scene.at)
    scene.did("orders", new, rows=90, filtered=7, quarantined=3, edges=(edge,))
    scene.did("orders", new, rows=1200, seconds=31)
    scene.chunk_failed("orders", new, "sources.broken", "half of the answer is missing")
    scene.failed("orders", new, "sources.broken", "half of the answer is missing")
    return new


def write_trace(folder: Path, run: RunId) -> Path:
    span = {
        "name": "hakiri.chunk",
        "start": "2026-05-12T10:14:04Z",
        "end": "2026-05-12T10:14:35Z",
        "attributes": {"hakiri.chunk_id": 7, "hakiri.chunk.wait_ms": 12500},
        "trace": trace_id_of(run),
        "span": "a2",
        "parent": "a1",
    }
    file = folder / ".hakiri" / "context" / "shop" / "traces" / f"{trace_id_of(run)}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(span) + "\n")
    return file


@pytest.mark.spec("HP-145")
def test_everything_that_is_known_of_a_run(run: Run, scene: Scene, story: RunId, tmp_path: Path) -> None:
    file = write_trace(tmp_path, story)

    outcome = run("runs", "show", "9c210002")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        f"{run_id(2)}  failed after 36 s\n"
        "  pipeline  orders\n"
        "  started   2026-05-12 10:14:00 UTC on node-1\n"
        "  rows      1,290 written of 1,300 read, 7 filtered, 3 in quarantine, 1.87MB\n"
        "  error     sources.broken: half of the answer is missing\n"
        "  slowest   chunk 7: 31 s (12 s of it waiting), chunk 6: 4.0 s\n"
        f"  trace     {trace_id_of(story)}\n"
        f"            {file}\n"
        "\n"
        "came from\n"
        f"  {run_id(1)}  rewind, vendor-side data correction RT-481\n"
        "\n"
        "chunk  table   reads                  status  tries   rows  filtered  bad   bytes   took  won by\n"
        "    6  orders  id from 100 until 200  done        1     90         7    3   131KB  4.0 s  "
        "node-1/attempt-1\n"
        "    7  orders  id from 200 until 300  done        1  1,200                 1.74MB   31 s  "
        "node-1/attempt-1\n"
        "    8  orders  id from 300 until 400  failed      1\n"
        "          sources.broken: half of the answer is missing\n"
    )


def test_what_came_of_a_run_is_told_with_it(run: Run, scene: Scene, story: RunId) -> None:
    outcome = run("runs", "show", run_id(1))

    assert outcome.out.split("\n\n")[1] == (
        f"led to\n  {run_id(2)}  rewind, vendor-side data correction RT-481"
    )


@pytest.mark.spec("HP-145")
def test_everything_that_is_known_of_a_run_as_data(
    run: Run, scene: Scene, story: RunId, tmp_path: Path
) -> None:
    file = write_trace(tmp_path, story)

    report = validated("runs-show", run("runs", "show", "9c210002", "--json"))

    first, _, failed = report["chunks"]
    assert report["counts"] == {"read": 1300, "filtered": 7, "written": 1290, "quarantined": 3}
    assert first == {
        "chunk": 6,
        "table": "orders",
        "reads": "id from 100 until 200",
        "predicate": {"kind": "window", "window": {"field": "id", "since": 100, "until": 200}},
        "status": "done",
        "attempts": 1,
        "counts": {"read": 100, "filtered": 7, "written": 90, "quarantined": 3},
        "rows": 90,
        "bytes": 130500,
        "seconds": 4.0,
        "winning_attempt": "node-1/attempt-1",
        "folder": f"tables/orders/data/runs/{run_id(2)}/node-1/chunk-6/attempt-1",
        "error_kind": None,
        "error_message": None,
    }
    assert (failed["folder"], failed["error_kind"]) == (None, "sources.broken")
    assert report["slowest"] == [
        {"chunk": 7, "seconds": 31.0, "wait_seconds": 12.5},
        {"chunk": 6, "seconds": 4.0, "wait_seconds": None},
    ]
    assert report["parents"] == [
        {
            "run": run_id(1),
            "kind": "rewind",
            "record": None,
            "reason": "vendor-side data correction RT-481",
            "at": "2026-05-12T10:14:00Z",
        }
    ]
    assert report["children"] == []
    assert report["trace_file"] == str(file)


def test_many_chunks_are_not_all_shown_to_a_person(run: Run, scene: Scene) -> None:
    scene.declared("orders", "orders", *(window(n, n + 1) for n in range(103)))
    new = scene.started("orders")
    for _ in range(103):
        scene.did("orders", new, seconds=0)

    told, data = run("runs", "show", new), run("runs", "show", new, "--json")

    assert len(told.out.splitlines()) == 8 + 100
    assert told.err == "and 3 chunks more; `--json` has them all\n"
    assert len(data.data["chunks"]) == 103
