"""Crashes by the thousand: the whole runtime on small files and a real SQLite, and all of it but Spark.

A lane is a process without threads in which everything is imported. For every try it forks a child that works
on a store until it is killed, and has a judge, another process, look at what is left. After some tries a
child may come to its end, the source has news, and it goes on. Some tries end by the power going out: then
everything on the disk that was not synced is gone as well.
"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import os
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from tests.support.crashes import UNHARMED, Kill, ended
from tests.support.protocol_lab_judge import PIPELINE, Judge, Seen
from tests.support.protocol_lab_source import RECIPES, Recipe
from tests.support.protocol_lab_story import URL, Story, WarmDuck

from hakiri.catalog import open_catalog
from hakiri.catalog.contract.pipelines import Phase
from hakiri.core.clock import SystemClock
from hakiri.core.cursors import CursorKind
from hakiri.pipelines.runtime.steps import Step
from hakiri.sources.registry import known_connectors

TRIES = (8, 14)  # in the history, and when there is news
NEW_ROWS = 7
LONGEST_LIFE_SECONDS = 0.12
MOST_DISK_OPERATIONS = 90
POWER_CUTS = 0.4
TROUBLES = 0.1
COMPANY = 0.1
LOOKS = 0.3
# What a run comes by more than once, as a rule.
REPEATED = frozenset(
    {
        Step.CHUNKS_CLAIMED,
        Step.JOB_STARTED,
        Step.JOB_DONE,
        Step.COMMITTED,
        Step.VIEWS_STARTED,
        Step.VIEWS_PUBLISHED,
    }
)
# What a run loads when it comes to it, and every child would have to load anew.
LOADED_LATE = (
    "concurrent.futures.thread",
    "pandas",
    "pyarrow.pandas_compat",
    "pyarrow.parquet",
    "pyarrow.vendored.version",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the judge found, and how far the pipeline has come."""

    broken: tuple[str, ...]
    phase: Phase
    is_planned: bool


def judge_on_demand(asked: Connection) -> None:
    """The judge's own process: it keeps the store of one story open, and answers until nobody asks."""
    import duckdb

    reader = duckdb.connect(config={"threads": 1})
    judge: Judge | None = None
    looks: list[Seen | str] = []
    while (question := asked.recv()) is not None:
        name, *given = question
        if name == "begin":
            folder, root, source = given
            if judge is not None:
                judge.catalog.close()
            catalog = open_catalog(URL, project="shop", base=folder, now=SystemClock().now())
            judge, looks = Judge(root=root, catalog=catalog, source=source, reader=reader), []
            continue
        assert judge is not None
        if name == "look":
            threading.Event().wait(given[0])
            looks.append(judge.look())
        else:
            source, has_ended, is_over, has_worked = given
            judge.source = source
            broken = judge.judge(has_ended=has_ended)
            broken += [problem for look in looks for problem in judge.judge_look(look)]
            broken += judge.judge_end() if is_over else []
            broken += judge.judge_runs() if is_over and has_worked else []
            looks.clear()
            state = judge.catalog.pipelines.get(PIPELINE)
            asked.send(
                Verdict(
                    broken=tuple(broken),
                    phase=Phase.PLANNING if state is None else state.phase,
                    is_planned=judge.catalog.chunks.tally(PIPELINE).total > 0,
                )
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What a lane did. `broken` says what was found, and in which story."""

    tries: int
    kills: Counter[str]
    power_cuts: int
    looks: int
    stories: int
    broken: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Lane:
    """Story after story, until enough processes have died or a promise is broken."""

    folder: Path
    chance: Random
    judge: Connection
    mutant: str | None
    kills: Counter[str] = field(default_factory=Counter)
    power_cuts: int = 0
    looks: int = 0
    broken: list[str] = field(default_factory=list)

    @property
    def tries(self) -> int:
        return self.kills.total()

    def try_all(self, order: Order, catalog: Path) -> Tried:
        stories = 0
        while not self.broken and (
            self.tries < order.tries or min(self.kills[step] for step in Step) < order.tries_a_step
        ):
            folder = self.folder / f"story-{stories}"
            story = Story.begin(folder, RECIPES[stories % len(RECIPES)], self.chance, catalog)
            story.mutant = self.mutant
            self.judge.send(("begin", story.folder, story.root, story.source))
            self._tell(story)
            shutil.rmtree(folder)
            stories += 1
        return Tried(
            tries=self.tries,
            kills=self.kills,
            power_cuts=self.power_cuts,
            looks=self.looks,
            stories=stories,
            broken=tuple(self.broken),
        )

    def _tell(self, story: Story) -> None:
        verdict = Verdict(broken=(), phase=Phase.PLANNING, is_planned=False)
        for number, tries in enumerate(TRIES):
            if number:
                story.source.grow(NEW_ROWS, self.chance)
            for turn in range(tries):
                is_done = verdict.phase is Phase.STREAMING
                if is_done and not number:
                    break
                is_tick = number > 0 and (is_done or self.chance.random() < 0.8)
                kill = self._next_kill(
                    story.source.recipe, verdict, is_tick=is_tick, has_news=not is_done or turn == 0
                )
                reads_left = self.chance.randint(0, 4) if self.chance.random() < TROUBLES else None
                # Of a source that is walked by its own tokens, others are kept away.
                is_shared = story.source.recipe.kind.is_cut and verdict.phase is not Phase.PLANNING
                has_company = is_shared and reads_left is None and self.chance.random() < COMPANY
                verdict = self._try(
                    story, kill, is_tick=is_tick, reads_left=reads_left, has_company=has_company
                )
                if self.broken:
                    return
            verdict = self._try(story, UNHARMED, is_tick=False, is_over=number == 0)
            if number and not self.broken:
                verdict = self._try(story, UNHARMED, is_tick=True, is_over=True)
            if self.broken:
                return

    def _try(
        self,
        story: Story,
        kill: Kill,
        *,
        is_tick: bool,
        reads_left: int | None = None,
        has_company: bool = False,
        is_over: bool = False,
    ) -> Verdict:
        child = story.child(kill, is_tick=is_tick, reads_left=reads_left)
        company = None
        if has_company:
            company = story.child(UNHARMED, is_tick=False, reads_left=None)
        if self.chance.random() < LOOKS:
            self.judge.send(("look", self.chance.uniform(0, LONGEST_LIFE_SECONDS)))
            self.looks += 1
        try:
            is_dead = ended(child, kill)
            if company is not None:
                ended(company, UNHARMED)
        except AssertionError as error:
            self.broken.append(f"{error}\n{story.trouble()}")
            is_dead = True
        if is_dead:
            self.kills[kill.name] += 1
            if self.chance.random() < POWER_CUTS:
                story.lines.append(f"the power goes out, and {story.disk.cut()} things are lost")
                self.power_cuts += 1
        # Of two who met, the first may have left to the other what was not done yet.
        has_ended = not is_dead and reads_left is None and company is None
        self.judge.send(("judge", story.source, has_ended, is_over, is_tick))
        verdict: Verdict = self.judge.recv()
        self.broken += verdict.broken
        if self.broken:
            self.broken.append(f"a story of {story.source.recipe.name}:\n" + "\n".join(story.lines))
        return verdict

    def _next_kill(self, recipe: Recipe, verdict: Verdict, *, is_tick: bool, has_news: bool) -> Kill:
        # A store is new only once, so what is seen of its first steps is not left to chance.
        is_new = verdict.phase is Phase.PLANNING
        dice = self.chance.uniform(0.2 if is_new else 0, 1)
        if dice < 0.12:
            return Kill(seconds=self.chance.uniform(0, LONGEST_LIFE_SECONDS))
        if dice < 0.3:
            return Kill(is_at_disk=True, count=self.chance.randint(1, MOST_DISK_OPERATIONS))
        steps = [
            step for step in Step if _may_come(step, recipe, verdict, is_tick=is_tick, has_news=has_news)
        ]
        rarest = sorted(steps, key=lambda step: (self.kills[step], self.chance.random()))
        step = rarest[0] if is_new or dice < 0.7 else self.chance.choice(rarest[:6])
        return Kill(step=step, count=2 if step in REPEATED and self.chance.random() < 0.3 else 1)


def _may_come(step: Step, recipe: Recipe, verdict: Verdict, *, is_tick: bool, has_news: bool) -> bool:
    """Whether a run is likely to come to the step as things stand."""
    match step:
        case Step.BACKFILL_PLANNED:
            return not verdict.is_planned
        case Step.BACKFILL_BEGUN:
            return verdict.phase is Phase.PLANNING
        case Step.STREAMING_BEGUN:
            return verdict.phase is not Phase.STREAMING
        case Step.TICK_PLANNED:
            return is_tick
        case Step.FOLLOW_UP_PLANNED:
            return has_news and recipe.kind is CursorKind.OPAQUE_TOKEN
        case _:
            return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """So many tries, and so many of them at each step, with the right way to commit or with a mutant.

    A broken promise ends them.
    """

    seed: int
    tries: int
    tries_a_step: int = 0
    mutant: str | None = None


def run_lane(folder: Path, orders: Sequence[Order], told: Connection) -> None:
    """A lane in a process of its own, which tells what became of each order."""
    for name in LOADED_LATE:
        importlib.import_module(name)
    import duckdb

    # A connector is looked up for every read, and what is installed does not change meanwhile.
    importlib.metadata.entry_points = cache(importlib.metadata.entry_points)
    known_connectors(None)
    tempfile.tempdir = str(folder)  # whoever is killed leaves something behind there
    template = folder / "meta.sqlite"
    open_catalog(f"sqlite:///{template}", project="shop", base=folder, now=SystemClock().now()).close()
    ours, theirs = Pipe()
    judge = os.fork()
    if not judge:
        ours.close()
        try:
            judge_on_demand(theirs)
        finally:
            os._exit(0)
    theirs.close()
    warm = WarmDuck()
    duckdb.connect = lambda **_: warm
    assert threading.active_count() == 1
    # Whatever is touched in a child is copied for it: this leaves more of it alone.
    gc.freeze()
    gc.disable()
    for order in orders:
        lane = Lane(folder=folder, chance=Random(order.seed), judge=ours, mutant=order.mutant)
        told.send(lane.try_all(order, template))
    ours.send(None)
    os.waitpid(judge, 0)
    os._exit(0)
