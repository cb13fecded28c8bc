"""How pipelines stand, seen by somebody who only reads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.pipelines.operations.scenes import (
    NOW,
    T0,
    TTL,
    Scene,
    half_failed,
    made_project,
    run_id,
    scene_in,
    streaming,
    tail,
    window,
)

from hakiri.catalog.contract.pipelines import Decision
from hakiri.catalog.contract.runs import RunStatus
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import NodeId, PipelineId
from hakiri.manifest import PipelineSpec, load_project
from hakiri.pipelines.budgets import budget_name
from hakiri.pipelines.operations.looking import Standing, standing_of

ORDERS = PipelineId("orders")
HISTORICAL = "github-issues-historical"


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with scene_in(tmp_path) as scene:
        yield scene


def seen(scene: Scene, pipeline: str = "orders") -> Standing:
    """The pipeline as it stands a minute after what happened last."""
    spec = scene.project.pipeline(pipeline)
    return standing_of(scene.catalog, spec, scene.project.root, scene.at + timedelta(minutes=1), lease=TTL)


def _orders(scene: Scene) -> tuple[PipelineSpec, Path]:
    return scene.project.pipeline("orders"), scene.project.root


def test_without_a_catalog_a_pipeline_is_new(tmp_path: Path) -> None:
    project = made_project(tmp_path)

    standing = standing_of(None, project.pipeline("orders"), tmp_path, NOW)

    assert (standing.light, standing.status.chunks.total, standing.latest) == ("new", 0, None)


def test_a_pipeline_that_never_ran_is_new_beside_others_that_did(scene: Scene) -> None:
    streaming(scene, "events", "events")

    assert (seen(scene).light, seen(scene, "events").light) == ("new", "ok")


@pytest.mark.spec("HP-141")
def test_the_status_in_the_middle_of_a_backfill_has_the_shape_that_agents_know(scene: Scene) -> None:
    days = [f"2026-01-{day:02d}T00:00:00Z" for day in range(1, 13)]
    pieces = [window(days[n], days[n + 1], field="updated_at") for n in range(11)]
    scene.declared(HISTORICAL, "github_issues", *pieces)
    run = scene.started(HISTORICAL)
    for _ in range(4):
        scene.did(HISTORICAL, run, rows=3400, seconds=4)
    for _ in range(2):
        scene.claimed(HISTORICAL, run)
    scene.called(HISTORICAL, 9)
    scene.passed(40)
    scene.called(HISTORICAL, 52)
    scene.passed(-30)

    standing = seen(scene, HISTORICAL)

    assert standing.light == "running"
    assert standing.status.as_dict() == {
        "pipeline_id": "github-issues-historical",
        "phase": "backfilling",
        "chunks": {"done": 4, "running": 2, "pending": 5, "total": 11},
        "throughput": {"rows_per_sec": 850, "bytes_per_sec": 1232500},
        "eta_seconds": 28,
        "started_at": "2026-05-12T08:14:00Z",
        "rate_budget": "60/min",
        "rate_budget_consumed_pct": 87,
    }


@pytest.mark.spec("HP-141")
def test_a_budget_that_only_the_connector_knows_is_told_as_of_the_last_run(scene: Scene) -> None:
    streaming(scene, "orders", "orders")
    scene.called("orders", 5, rate="20/min")

    now, later = seen(scene).status, standing_of(scene.catalog, *_orders(scene), NOW).status
    scene.catalog.budgets.note(budget_name(ORDERS), None)
    without = seen(scene).status

    told = [(str(each.rate_budget), each.rate_budget_consumed_pct) for each in (now, later, without)]
    assert told == [("20/min", 25), ("20/min", 0), ("None", None)]


@pytest.mark.spec("HP-141")
def test_the_budget_of_the_manifest_counts_whatever_was_called_before(scene: Scene) -> None:
    new = seen(scene, HISTORICAL).status
    scene.called(HISTORICAL, 30, rate="5000/h")

    called = seen(scene, HISTORICAL).status

    told = [(str(each.rate_budget), each.rate_budget_consumed_pct) for each in (new, called)]
    assert told == [("60/min", 0), ("60/min", 50)]


@pytest.mark.spec("HP-048")
def test_a_failure_is_seen_until_somebody_decides(scene: Scene) -> None:
    half_failed(scene)

    before = seen(scene)
    scene.catalog.pipelines.decide(ORDERS, Decision.RETRY, "operator:ada", scene.at)
    after = seen(scene)

    assert before.failure is not None
    assert (before.light, before.failure.kind) == ("failed", "sources.unauthorized")
    assert (after.light, after.failure) == ("partial", None)


def test_a_failure_of_another_spec_does_not_wait(scene: Scene) -> None:
    half_failed(scene)
    manifest = scene.project.root / "hakiri.toml"
    manifest.write_text(manifest.read_text().replace('incremental = "id"', 'incremental = "no"', 1))
    scene.project = load_project(scene.project.root)

    before = seen(scene)
    run = scene.started("orders")
    during = seen(scene)
    scene.ended("orders", run)

    assert (before.light, before.is_changed_since_failure) == ("failed", True)
    assert during.light == "running"


def test_a_failure_of_another_spec_is_history_once_the_new_one_ran(scene: Scene) -> None:
    scene.declared("orders", "orders", window(None, None))
    run = scene.started("orders")
    scene.failed("orders", run, "sources.gone", "gone")
    manifest = scene.project.root / "hakiri.toml"
    manifest.write_text(manifest.read_text().replace('incremental = "id"', 'incremental = "no"', 1))
    scene.project = load_project(scene.project.root)
    scene.passed(60)
    scene.ended("orders", scene.started("orders"))

    assert seen(scene).failure is None


def test_a_run_whose_process_is_gone_is_not_taken_for_a_running_one(scene: Scene) -> None:
    scene.declared("orders", "orders", window(None, 100), window(100))
    run = scene.started("orders")
    scene.claimed("orders", run)

    alive = seen(scene)
    scene.passed(3600)
    gone = seen(scene)

    assert (alive.light, alive.is_stalled) == ("running", False)
    assert (gone.light, gone.is_stalled) == ("partial", True)


def test_runs_that_were_skipped_do_not_hide_the_one_that_runs(scene: Scene) -> None:
    scene.declared("tokens", "tokens", tail(None), kind=CursorKind.OPAQUE_TOKEN)
    run = scene.started("tokens")
    for _ in range(25):
        scene.runs += 1
        started = scene.catalog.runs.start(
            run_id(scene.runs), PipelineId("tokens"), NodeId("node-2"), scene.at, ttl=TTL
        )
        assert started.is_skipped

    standing = seen(scene, "tokens")

    assert standing.latest is not None
    assert (standing.light, standing.latest.run) == ("running", run)


@pytest.mark.parametrize("status", [RunStatus.PARTIAL, RunStatus.FAILED])
def test_a_run_that_broke_off_leaves_the_pipeline_partial(scene: Scene, status: RunStatus) -> None:
    streaming(scene, "orders", "orders")
    scene.ended("orders", scene.started("orders"), status, kind="interrupted")

    assert seen(scene).light == "partial"


def test_what_a_run_left_to_others_is_fine_once_they_have_done_it(scene: Scene) -> None:
    streaming(scene, "orders", "orders")
    scene.ended("orders", scene.started("orders"), RunStatus.PARTIAL)

    assert seen(scene).light == "ok"


def test_chunks_that_wait_in_a_streaming_pipeline_make_it_partial(scene: Scene) -> None:
    streaming(scene, "orders", "orders")
    scene.planned("orders", "orders", tail({"id": 400}))

    standing = seen(scene)

    assert (standing.light, standing.rows, standing.bytes) == ("partial", 500, 725_000)
    assert standing.status.started_at == T0
