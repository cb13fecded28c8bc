"""What others leave behind, or are about to do, at moments that chance would bring about once in a while."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from random import Random

import pytest
from tests.support.protocol_lab_judge import PIPELINE, STORED
from tests.support.protocol_lab_source import RECIPES, ListedConnector
from tests.support.protocol_lab_story import Story

from hakiri.catalog import Catalog
from hakiri.catalog.contract.pipelines import Phase
from hakiri.catalog.contract.runs import ABANDONED, RunOutcome, RunStatus
from hakiri.core.clock import SystemClock
from hakiri.core.ids import NodeId, RunId
from hakiri.pipelines.events import ChunkGivenBack, Event
from hakiri.pipelines.needs import Need
from hakiri.pipelines.runtime.apply import apply_project
from hakiri.pipelines.runtime.ground import Ground
from hakiri.store.layout import StoreLayout
from hakiri.store.reading import open_reader

pytestmark = pytest.mark.proof

WINDOWS = next(recipe for recipe in RECIPES if recipe.name == "windows")


class Ended(BaseException):
    """The end of a process, in a test that goes on."""


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Story:
    story = Story.begin(tmp_path / "story", WINDOWS, Random(1))
    monkeypatch.setattr(ListedConnector, "source", story.source, raising=False)
    return story


def apply(ground: Ground) -> Need:
    """Apply, and insist that nothing failed; why it was done."""
    (applied,) = apply_project(ground)
    assert applied.error is None
    return applied.need


def rows_seen(story: Story) -> int:
    with open_reader(StoreLayout(story.root)) as reader:
        (found,) = reader.execute(f"SELECT count(*) FROM {STORED}").fetchall()
    return int(found[0])


def phase_in(catalog: Catalog) -> Phase:
    state = catalog.pipelines.get(PIPELINE)
    return Phase.PLANNING if state is None else state.phase


def test_one_place_for_chunks_is_enough_for_two_threads(story: Story) -> None:
    with story.ground(chunks_at_once=1) as ground:
        apply(ground)

    assert rows_seen(story) == len(story.source.rows)


def test_a_worker_that_comes_to_streaming_after_another_goes_on(story: Story) -> None:
    class OtherIsFaster(SystemClock):
        """Whoever asks for the time when all is done finds that another has noted it by then."""

        catalog: Catalog

        def now(self) -> datetime:
            now = super().now()
            if hasattr(self, "catalog") and phase_in(self.catalog) is Phase.BACKFILLING:
                tally = self.catalog.chunks.tally(PIPELINE)
                if tally.done == tally.total:
                    self.catalog.pipelines.move(PIPELINE, Phase.BACKFILLING, Phase.STREAMING, now)
            return now

    clock = OtherIsFaster()
    with story.ground(clock=clock) as ground:
        clock.catalog = ground.catalog
        apply(ground)

        assert phase_in(ground.catalog) is Phase.STREAMING


def test_a_chunk_that_failed_before_anybody_could_say_so_is_tried_again(story: Story) -> None:
    def end_when_given_back(event: Event) -> None:
        if isinstance(event, ChunkGivenBack):
            raise Ended

    story.source.reads_left = 0
    with story.ground(listen=end_when_given_back, chunks_at_once=1) as ground:
        with pytest.raises(Ended):
            apply_project(ground)
        assert ground.catalog.chunks.tally(PIPELINE).failed == 1
    story.source.reads_left = None

    with story.ground() as ground:
        apply(ground)

    assert rows_seen(story) == len(story.source.rows)


def test_views_that_a_dead_worker_left_are_mended_though_another_came_to_its_end(story: Story) -> None:
    dead, other = RunId("run-1-dead"), RunId("run-2-other")
    with story.ground() as ground:
        apply(ground)
        runs, now, ttl = ground.catalog.runs, ground.clock.now, ground.lease
        runs.start(dead, PIPELINE, NodeId("far-away"), now(), ttl=ttl)
        runs.start(other, PIPELINE, NodeId("beside"), now(), ttl=ttl)
        runs.end(other, RunOutcome(status=RunStatus.SUCCESS), now())
        runs.end(dead, RunOutcome(status=RunStatus.FAILED, error_kind=ABANDONED), now())
    view = ground.layout.view_file(STORED)
    view.unlink()

    with story.ground() as ground:
        need = apply(ground)

    assert (need, view.exists()) == (Need.UNFINISHED, True)
    with story.ground() as ground:
        assert apply(ground) is Need.NOTHING


def test_a_worker_of_which_nobody_hears_again_is_looked_after_once(story: Story) -> None:
    with story.ground() as ground:
        apply(ground)
        ground.catalog.runs.start(
            RunId("run-0-unseen"), PIPELINE, NodeId("far-away"), ground.clock.now(), ttl=ground.lease
        )

    needs = []
    for _ in range(3):
        with story.ground() as ground:
            needs.append(apply(ground))

    assert needs == [Need.UNFINISHED, Need.NOTHING, Need.NOTHING]
