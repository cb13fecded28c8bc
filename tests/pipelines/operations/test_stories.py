"""Everything that is known of one run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.pipelines.operations.scenes import NODE, Scene, half_failed, run_id, scene_in, streaming, window

from hakiri.catalog.contract.lineage import Edge, EdgeKind
from hakiri.catalog.contract.pipelines import Decision
from hakiri.core.ids import PipelineId, RunId
from hakiri.pipelines.operations.errors import NoSuchRun
from hakiri.pipelines.operations.stories import short_ids, story_of
from hakiri.store.layout import StoreLayout
from hakiri.store.manifests import Counts
from hakiri.telemetry import trace_id_of


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with scene_in(tmp_path) as scene:
        yield scene


@pytest.fixture
def layout(tmp_path: Path) -> StoreLayout:
    return StoreLayout(tmp_path / ".hakiri" / "context" / "shop")


def test_the_chunks_of_a_run_tell_what_became_of_their_rows_and_where_they_are(
    scene: Scene, layout: StoreLayout
) -> None:
    scene.declared("orders", "orders", window(None, 100), window(100))
    run = scene.started("orders")
    scene.did("orders", run, rows=90, filtered=7, quarantined=3)
    scene.did("orders", run, rows=10, seconds=9)

    story = story_of(scene.catalog, layout, run)

    assert story.counts == Counts(read=110, filtered=7, written=100, quarantined=3)
    assert [each.folder for each in story.chunks] == [
        f"tables/orders/data/runs/{run}/{NODE}/chunk-{number}/attempt-1" for number in (1, 2)
    ]
    assert [each.chunk.chunk for each in story.slowest(5)] == [2, 1]
    assert [each.seconds for each in story.chunks] == [4.0, 9.0]


def test_a_chunk_belongs_to_the_run_that_had_it_last(scene: Scene, layout: StoreLayout) -> None:
    first = half_failed(scene)
    scene.catalog.pipelines.decide(PipelineId("orders"), Decision.RETRY, "auto", scene.at)
    second = scene.started("orders")
    scene.did("orders", second)

    stories = [story_of(scene.catalog, layout, run) for run in (first, second)]

    assert [[each.chunk.chunk for each in story.chunks] for story in stories] == [[1], [2]]
    assert [each.chunk.attempts for each in stories[1].chunks] == [2]


@pytest.mark.spec("HP-145")
def test_lineage_says_why_a_run_pulled_again_what_another_had_pulled(
    scene: Scene, layout: StoreLayout
) -> None:
    old = streaming(scene, "orders", "orders")
    new = scene.started("orders")
    edge = Edge(child=new, parent=old, kind=EdgeKind.REWIND, reason="RT-481", at=scene.at)
    scene.planned("orders", "orders", window(100, 200))
    scene.did("orders", new, edges=(edge,))

    assert story_of(scene.catalog, layout, new).parents == (edge,)
    assert story_of(scene.catalog, layout, old).children == (edge,)


def test_the_trace_is_read_while_its_file_is_there(scene: Scene, layout: StoreLayout) -> None:
    run = streaming(scene, "orders", "orders")
    file = layout.root / "traces" / f"{trace_id_of(run)}.jsonl"

    before = story_of(scene.catalog, layout, run)
    file.parent.mkdir(parents=True)
    file.write_text('{"trace": "x", "metrics": {"hakiri.rows": {"sum": 500}}}\n')
    after = story_of(scene.catalog, layout, run)

    assert (before.trace_file, before.trace) == (None, None)
    assert after.trace_file == file
    assert after.trace is not None
    assert after.trace.metrics == {"hakiri.rows": {"sum": 500}}


def test_a_run_is_found_by_either_end_of_its_id(scene: Scene, layout: StoreLayout) -> None:
    runs = [scene.started("orders"), scene.started("orders")]

    assert story_of(scene.catalog, layout, "9c210002").run.run == runs[1]
    assert story_of(scene.catalog, layout, runs[0].removeprefix("run-")).run.run == runs[0]
    with pytest.raises(NoSuchRun) as several:
        story_of(scene.catalog, layout, "0196be00")
    with pytest.raises(NoSuchRun) as none:
        story_of(scene.catalog, layout, "zzz")

    assert str(several.value) == "2 runs have `0196be00` in their ids"
    assert several.value.hint == f"give more of it: `{runs[1]}`, `{runs[0]}`"
    assert (str(none.value), none.value.hint) == (
        "there is no run `zzz`",
        "see `hakiri runs` for those there are",
    )


def test_short_ids_are_the_ends_unless_these_are_alike() -> None:
    twins = [RunId("a-12345678"), RunId("b-12345678")]

    assert short_ids([run_id(1), RunId("run-1"), *twins]) == {
        run_id(1): "9c210001",
        "run-1": "run-1",
        "a-12345678": "a-12345678",
        "b-12345678": "b-12345678",
    }
