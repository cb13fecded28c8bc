"""Runs go on with a catalog that was made anew, whatever the source is like, wherever they were stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

import duckdb
import pytest
from tests.store.rebuilding import planned
from tests.store.workshop import T0
from tests.support.protocol_lab_judge import PIPELINE, STORED, Judge, Seen
from tests.support.protocol_lab_source import RECIPES, ListedConnector, Recipe
from tests.support.protocol_lab_story import URL, Story

from hakiri.catalog import Catalog, open_catalog
from hakiri.catalog.contract.pipelines import Decision
from hakiri.catalog.opening import catalog_place
from hakiri.core.clock import SystemClock
from hakiri.core.errors import HakiriError
from hakiri.pipelines.runtime.apply import apply_project, run_now
from hakiri.pipelines.runtime.ground import Stop
from hakiri.pipelines.runtime.steps import Step
from hakiri.store.layout import StoreLayout
from hakiri.store.publishing import Publisher
from hakiri.store.rebuild.planning import Rebuilt

pytestmark = pytest.mark.proof

NEW_ROWS = 5


class Died(HakiriError):
    """Stands for the end of a process: what comes after it in a run does not happen."""

    code = "test.died"


class Course:
    """A store whose catalog is lost now and then."""

    def __init__(self, folder: Path, recipe: Recipe, seed: int = 7) -> None:
        self.chance = Random(seed)
        self.story = Story.begin(folder, recipe, self.chance)
        self.layout = StoreLayout(self.story.root)

    def apply(self, *, commits: int | None = None) -> None:
        """Apply to the end, or stop after so many commits."""
        ListedConnector.source = self.story.source
        passed: Counter[Step] = Counter()
        stop = Stop()

        def reached(step: Step) -> None:
            passed[step] += 1
            if step is Step.COMMITTED and passed[step] == commits:
                stop.ask()

        with self.story.ground(reached=reached, stop=stop, chunks_at_once=1) as ground:
            apply_project(ground)

    def tick(self) -> None:
        ListedConnector.source = self.story.source
        self.story.source.grow(NEW_ROWS, self.chance)
        with self.story.ground() as ground:
            ground.catalog.pipelines.decide(PIPELINE, Decision.RETRY, "operator:lab", ground.clock.now())
            applied = run_now(ground, ground.project.pipeline(PIPELINE))
        assert applied.error is None

    def die_at(self, at: Step) -> None:
        """Run until the step, after which nothing happens any more, also to what was written until then."""
        ListedConnector.source = self.story.source
        self.story.source.grow(NEW_ROWS, self.chance)

        def reached(step: Step) -> None:
            if step is at:
                raise Died("the process is gone")

        with self.story.ground(reached=reached) as ground:
            applied = run_now(ground, ground.project.pipeline(PIPELINE))
        assert isinstance(applied.error, Died)

    def lose_catalog(self) -> Rebuilt:
        """Remove the catalog, make it anew, and publish what it says."""
        for file in self.story.root.glob("meta.sqlite*"):
            file.unlink()
        now = SystemClock().now()
        found = planned(self.layout, now)
        place = catalog_place(URL, project="shop", base=self.story.folder)
        place.rebuild(found.contents, now)
        with place.open() as catalog:
            assert catalog.check() == ()
            Publisher(self.layout, catalog).publish([STORED])
        return found

    @contextmanager
    def catalog(self) -> Iterator[Catalog]:
        with open_catalog(URL, project="shop", base=self.story.folder, now=SystemClock().now()) as catalog:
            yield catalog

    def seen(self) -> Seen:
        with self.catalog() as catalog, duckdb.connect() as reader:
            judge = Judge(root=self.story.root, catalog=catalog, source=self.story.source, reader=reader)
            return judge._seen()

    def amiss(self) -> list[str]:
        """How what readers see differs from what the source has."""
        with self.catalog() as catalog, duckdb.connect() as reader:
            judge = Judge(root=self.story.root, catalog=catalog, source=self.story.source, reader=reader)
            return judge.judge_end()

    def reads(self) -> Counter[str]:
        return Counter(self.story.source.noted())


@pytest.fixture(params=RECIPES, ids=lambda recipe: recipe.name)
def course(request: pytest.FixtureRequest, tmp_path: Path) -> Course:
    return Course(tmp_path, request.param)


def facts_of(catalog: Catalog) -> object:
    """What a catalog knows of the pipeline that its files tell too."""
    started = {"started_at": None, "completed_at": None}  # to the moment that the commit took
    chunks = [replace(each, **started) for each in catalog.chunks.landed(STORED)]  # type: ignore[arg-type]
    cursors = [replace(each, updated_at=T0) for each in catalog.cursors.all(PIPELINE)]
    state = catalog.pipelines.get(PIPELINE)
    assert state is not None
    versions = [replace(each, at=T0) for each in catalog.schemas.log(STORED)]
    return chunks, cursors, state.kind, state.phase, versions, catalog.chunks.version(STORED)


@pytest.mark.spec("HC-027")
@pytest.mark.spec("HC-028")
def test_a_catalog_made_anew_knows_all_that_landed_and_the_next_run_reads_what_it_would_have_read(
    course: Course, tmp_path: Path
) -> None:
    unharmed = Course(tmp_path / "unharmed", course.story.source.recipe)
    for each in (course, unharmed):
        each.apply()
        each.tick()
    before = course.seen()
    with course.catalog() as catalog:
        known = facts_of(catalog)

    course.lose_catalog()

    with course.catalog() as catalog:
        assert facts_of(catalog) == known
    assert course.seen() == before
    for each in (course, unharmed):
        each.tick()
    assert course.amiss() == []
    assert course.reads() == unharmed.reads()


@pytest.mark.spec("HC-028")
@pytest.mark.parametrize("commits", [2])
def test_a_history_that_was_broken_off_is_pulled_to_its_end_and_no_row_twice(
    course: Course, commits: int
) -> None:
    course.apply(commits=commits)
    before = course.seen()

    course.lose_catalog()

    assert course.seen() == before
    course.apply()
    course.tick()
    assert course.amiss() == []


@pytest.mark.spec("HC-028")
def test_what_was_sealed_and_not_committed_counts_and_is_not_pulled_again(course: Course) -> None:
    course.apply()
    course.die_at(Step.COMMIT_STARTED)

    found = course.lose_catalog()

    assert [table.unseen for table in found.tables] != [()]
    course.tick()
    assert course.amiss() == []
    with course.catalog() as catalog:
        assert catalog.check() == ()
