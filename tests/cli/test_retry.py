"""`hakiri retry`: what failed is tried again, because somebody said so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

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
)

from hakiri.core.ids import PipelineId

if TYPE_CHECKING:
    from conftest import Run

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOTHING_WAITS = (
    "error[pipelines.nothing_waits]: pipeline `orders` did not fail, so there is nothing to decide\n"
    "hint: see `hakiri status orders` for how it stands\n"
)


@pytest.fixture
def scene(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    stop_the_clock(monkeypatch)
    with scene_in(tmp_path) as scene:
        yield scene


@pytest.mark.spec("HP-048")
def test_what_failed_is_pending_again_and_the_next_step_is_told(run: Run, scene: Scene) -> None:
    half_failed(scene)

    outcome = run("retry", "orders")

    assert outcome.code == 0
    assert outcome.out == "orders: 1 chunk that failed will be tried again\n"
    assert outcome.err == "run `hakiri apply orders`\n"
    assert scene.statuses("orders")[2] == "pending"
    (entry,) = scene.catalog.audit.page(pipeline=PipelineId("orders"))
    assert (entry.by, entry.action, entry.after) == ("operator:ada", "retry", '{"chunks":1}')


def test_a_failure_without_a_chunk_is_settled_too(run: Run, scene: Scene) -> None:
    scene.failed("orders", scene.started("orders"), "evolution.incompatible", "it does not fit")

    outcome = run("retry", "orders")

    assert (outcome.code, outcome.out) == (0, "orders: what failed will be tried again\n")


@pytest.mark.parametrize(
    ("who", "by"),
    [("grace", "operator:grace"), ("operator:grace", "operator:grace"), ("agent:night", "agent:night")],
)
def test_the_decision_as_data_says_by_whom(run: Run, scene: Scene, who: str, by: str) -> None:
    half_failed(scene)

    outcome = run("retry", "orders", "--as", who, "--json")

    schema = json.loads((DOCS / "schemas" / "retry.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(outcome.data)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.data == {
        "schema_version": 1,
        "pipeline_id": "orders",
        "decision": "retry",
        "by": by,
        "failure": {
            "kind": "sources.unauthorized",
            "message": "the source answered 401",
            "at": "2026-05-12T08:14:05Z",
            "run": run_id(1),
        },
        "chunks": [
            {
                "chunk": 2,
                "table": "orders",
                "reads": "id from 100 until 200",
                "predicate": {"kind": "window", "window": {"field": "id", "since": 100, "until": 200}},
            }
        ],
    }


def test_a_second_decision_finds_nothing_to_decide(run: Run, scene: Scene) -> None:
    half_failed(scene)
    run("retry", "orders")

    outcome = run("retry", "orders")

    assert (outcome.code, outcome.out, outcome.err) == (2, "", NOTHING_WAITS)


def test_a_pipeline_that_is_well_has_nothing_to_decide(run: Run, scene: Scene) -> None:
    streaming(scene, "orders", "orders")

    assert run("retry", "orders").err == NOTHING_WAITS


def test_where_nothing_ran_there_is_nothing_to_decide_and_no_catalog_is_made(
    run: Run, tmp_path: Path
) -> None:
    made_project(tmp_path)

    outcome = run("retry", "orders")

    assert (outcome.code, outcome.out, outcome.err) == (2, "", NOTHING_WAITS)
    assert [path.name for path in tmp_path.iterdir()] == ["hakiri.toml"]


@pytest.mark.parametrize(
    ("who", "problem"),
    [
        ("Ada Lovelace", "`Ada Lovelace` cannot be the name of who decides"),
        (":", "`:` cannot be the name of who decides"),
        ("agent:", "`agent:` cannot be the name of who decides"),
        ("", "nobody says who decides"),
    ],
)
def test_nobody_decides_without_a_name(
    run: Run, scene: Scene, monkeypatch: pytest.MonkeyPatch, who: str, problem: str
) -> None:
    half_failed(scene)
    for variable in ("USER", "LOGNAME"):
        monkeypatch.delenv(variable, raising=False)

    outcome = run("retry", "orders", "--as", who)

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        f"error[usage]: {problem}\nhint: give a name without blanks with `--as`, or `--as agent:<id>`\n"
    )
    assert scene.statuses("orders")[2] == "failed"
