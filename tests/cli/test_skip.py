"""`hakiri skip`: what failed is left out, and what that means is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.pipelines.operations.scenes import (
    Scene,
    half_failed,
    made_project,
    scene_in,
    stop_the_clock,
    streaming,
    tail,
)

if TYPE_CHECKING:
    from conftest import Run


@pytest.fixture
def scene(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    stop_the_clock(monkeypatch)
    with scene_in(tmp_path) as scene:
        yield scene


@pytest.mark.spec("HP-048")
def test_what_is_left_out_is_told_with_the_way_to_pull_it_later(run: Run, scene: Scene) -> None:
    half_failed(scene)

    outcome = run("skip", "orders")

    assert outcome.code == 0
    assert outcome.out == (
        "chunk  table   reads\n"
        "    2  orders  id from 100 until 200\n"
    )  # fmt: skip
    assert outcome.err == (
        "warning: 1 chunk left out: the rows are missing until somebody pulls them\n"
        "hint: hakiri backfill rewind orders --from 100 --to 199 --reason TEXT\n"
        "run `hakiri apply orders`\n"
    )
    assert scene.statuses("orders") == {1: "done", 2: "skipped", 3: "pending", 4: "pending"}


def test_the_command_that_is_told_does_pull_it_later(run: Run, scene: Scene) -> None:
    half_failed(scene)
    hint = run("skip", "orders").err.splitlines()[1]

    outcome = run(*hint.removeprefix("hint: hakiri ").split())

    assert outcome.code == 0
    assert scene.statuses("orders")[2] == "pending"


def test_a_tail_that_is_left_out_loses_nothing(run: Run, scene: Scene) -> None:
    streaming(scene, "orders", "orders")
    scene.planned("orders", "orders", tail({"id": 400}))
    failing = scene.started("orders")
    scene.chunk_failed("orders", failing, "sources.gone", "gone")
    scene.failed("orders", failing, "sources.gone", "gone")

    outcome = run("skip", "orders")

    assert outcome.out == (
        "chunk  table   reads\n"
        "    6  orders  everything after 400\n"
    )  # fmt: skip
    assert outcome.err == (
        "1 chunk left out: the next run reads on from the same place\nrun `hakiri apply orders`\n"
    )


def test_a_failure_without_a_chunk_leaves_nothing_out(run: Run, scene: Scene) -> None:
    scene.failed("orders", scene.started("orders"), "evolution.incompatible", "it does not fit")

    outcome = run("skip", "orders")

    assert outcome.code == 0
    assert outcome.out == "orders: no chunk had failed, so nothing is left out\n"
    assert outcome.err == "run `hakiri apply orders`\n"


def test_the_decision_as_data_has_the_chunks_and_the_warning_beside_it(run: Run, scene: Scene) -> None:
    half_failed(scene)

    outcome = run("skip", "orders", "--json")

    assert outcome.data["decision"] == "skip"
    assert [chunk["reads"] for chunk in outcome.data["chunks"]] == ["id from 100 until 200"]
    assert outcome.err.startswith("warning: 1 chunk left out")


def test_nothing_is_left_out_of_a_pipeline_that_did_not_fail(run: Run, tmp_path: Path) -> None:
    made_project(tmp_path)

    outcome = run("skip", "orders", "--as", "ada")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error[pipelines.nothing_waits]: ")
