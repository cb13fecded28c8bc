"""A daemon on a clock that the test turns, with real runs on real Spark."""

from __future__ import annotations

import threading

import pytest
from tests.serve.serving import MINUTE, T0, P, served
from tests.support.counted import CountedSource, manifest, moments
from tests.support.runtime import Lab

from hakiri.catalog.contract.pipelines import Decision, Phase
from hakiri.catalog.contract.runs import RunStatus
from hakiri.core.ids import NodeId
from hakiri.pipelines.events import ChunkStarted, Waiting
from hakiri.pipelines.plan import plan_project
from hakiri.pipelines.runtime.ground import fresh_run

pytestmark = pytest.mark.spark


def a_few_chunks_a_tick(most: int) -> str:
    """A manifest whose history is pulled by so many chunks at every tick."""
    knobs = f"\n[pipeline.backfill]\nmax_chunks_per_tick = {most}\n"
    return manifest("monotonic", more=f'schedule = "every 15m"\n{knobs}', config=', window = "10d"')


@pytest.mark.spec("HP-036")
@pytest.mark.spec("HP-037")
def test_a_pipeline_runs_when_its_schedule_comes_and_is_up_to_date_in_between(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(20))
    lab.write(manifest("monotonic", more='schedule = "every 15m"'))

    with served(lab) as serving:
        serving.look()
        after_first = len(serving.runs())
        for _ in range(14):
            serving.look(after=MINUTE)
        before_due = len(serving.runs())
        source.put([(99, "2025-01-01T00:00:00+00:00", "part-1", "new")])
        serving.look(after=MINUTE)

        assert (after_first, before_due, len(serving.runs())) == (1, 1, 2)
        assert lab.query("SELECT count(*) FROM counted_items") == [(21,)]
        assert serving.heard.pauses == [("p", T0 + 15 * MINUTE), ("p", T0 + 30 * MINUTE)]
        with lab.catalog() as catalog:
            plan = plan_project(
                lab.project,
                list(lab.project.pipelines),
                catalog=catalog,
                answers={},
                default_destination="context",
                now=serving.clock.now(),
            )
        assert not plan.has_changes


@pytest.mark.spec("HP-104")
@pytest.mark.spec("HP-105")
@pytest.mark.spec("HP-106")
def test_ticks_of_a_backfill_are_one_run_and_then_the_schedule_means_runs(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(210))
    lab.write(a_few_chunks_a_tick(1))

    with served(lab) as serving:
        serving.look()
        per_tick = [serving.done()]
        serving.look(after=MINUTE)
        between = serving.done()
        serving.look(after=14 * MINUTE)
        per_tick.append(serving.done() - sum(per_tick))
        for _ in range(18):
            serving.look(after=15 * MINUTE)
            per_tick.append(serving.done() - sum(per_tick))
        one_run = serving.runs()
        waits = lab.told(Waiting)
        while serving.phase() is Phase.BACKFILLING:
            serving.look(after=15 * MINUTE)
        at_the_end = serving.runs()
        serving.look(after=15 * MINUTE)

        assert per_tick == [1] * 20
        assert between == 1
        assert len(one_run) == 1
        assert (waits[0].seconds, waits[0].why) == (15 * 60, "the next tick of its schedule")
        # The last tick of the history was one of the schedule as well, which means a run from then on.
        assert at_the_end[:1] == one_run
        assert len(at_the_end) == 2
        assert len(serving.runs()) == 3
        assert serving.phase() is Phase.STREAMING
        assert lab.query("SELECT count(*) FROM counted_items") == [(210,)]


def test_what_a_tick_may_dispatch_is_given_back_when_the_daemon_ends(lab: Lab, source: CountedSource) -> None:
    source.put(moments(100))
    lab.write(a_few_chunks_a_tick(2))

    with served(lab) as serving:
        serving.look()
        serving.daemon.stop()
        (ended,) = serving.heard.runs

        assert ended.result is not None
        assert ended.result.run.status is RunStatus.PARTIAL
        assert (serving.done(), ended.result.left.running) == (2, 0)


@pytest.mark.spec("HP-048")
def test_a_failed_pipeline_waits_for_a_decision_however_often_its_schedule_comes(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(20))
    source.fact("trouble", "permanent")
    lab.write(manifest("monotonic", more='schedule = "every 15m"'))

    with served(lab) as serving:
        for _ in range(20):
            serving.look(after=15 * MINUTE)
        tries = len(serving.runs())
        source.fact("trouble", "")
        with lab.catalog() as catalog:
            catalog.pipelines.decide(P, Decision.RETRY, "operator:somebody", serving.clock.now())
        serving.look(after=10 * MINUTE)

        assert tries == 1
        assert len(serving.runs()) == 2
        assert lab.query("SELECT count(*) FROM counted_items") == [(20,)]


def test_what_others_run_is_left_to_them(lab: Lab, source: CountedSource) -> None:
    source.put(moments(20))
    lab.write(manifest("monotonic", more='schedule = "every 15m"'))

    with served(lab) as serving, lab.catalog() as catalog:
        serving.look()
        serving.clock.advance(15 * MINUTE)
        catalog.runs.start(fresh_run(serving.clock), P, NodeId("other"), serving.clock.now(), ttl=10 * MINUTE)
        serving.look(after=9 * MINUTE)
        while_it_lives = serving.runs()
        serving.look(after=20 * MINUTE)

        assert len(while_it_lives) == 2
        assert len(serving.runs()) == 3


def test_the_manifest_is_read_again_and_a_wrong_one_changes_nothing(lab: Lab, source: CountedSource) -> None:
    source.put(moments(20))
    more = '\n[[pipeline]]\nid = "q"\nsource = { connector = "counted", config = { kind = "monotonic" } }\n'
    lab.write(manifest("monotonic", more='schedule = "every 15m"'))

    with served(lab) as serving:
        serving.look()
        lab.write(
            manifest("monotonic", more=f'schedule = "every 15m"\n{more}tables = ["items"]\nprefix_ = 1')
        )
        serving.look(after=15 * MINUTE)
        serving.look()
        runs_with_wrong = [run.pipeline for run in serving.heard.runs]
        lab.write(
            manifest(
                "monotonic", more=f'schedule = "every 5m"\n{more}tables = [{{ name = "items", as = "q" }}]'
            )
        )
        serving.look(after=MINUTE)

        assert len(serving.heard.troubles) == 1
        assert "prefix_" in serving.heard.troubles[0]
        assert runs_with_wrong == ["p", "p"]
        assert serving.heard.reloads == [2]
        assert sorted(run.pipeline for run in serving.heard.runs[2:]) == ["p", "q"]


def test_a_backfill_that_waits_for_a_tick_goes_on_as_a_changed_manifest_says(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(100))
    lab.write(a_few_chunks_a_tick(1))

    with served(lab) as serving:
        serving.look()
        lab.write(manifest("monotonic", more='schedule = "every 15m"', config=', window = "10d"'))
        serving.look(after=MINUTE)
        serving.look(after=MINUTE)

        assert serving.phase() is Phase.STREAMING
        assert lab.query("SELECT count(*) FROM counted_items") == [(100,)]


def test_sources_of_pipelines_without_a_schedule_are_asked_for_news(lab: Lab) -> None:
    folder = lab.root / "landing"
    folder.mkdir()
    (folder / "a.csv").write_text("id,v\n1,a\n")
    lab.write(
        '[[pipeline]]\nid = "p"\ntables = ["items"]\n'
        'source = { connector = "files", config = { path = "landing/*.csv", format = "csv" } }\n'
    )

    with served(lab) as serving:
        serving.look()
        (folder / "b.csv").write_text("id,v\n2,b\n")
        rest = threading.Event()
        for _ in range(100):
            serving.look(after=MINUTE)
            if len(serving.heard.runs) == 2:
                break
            rest.wait(0.05)

        assert [run.need.name for run in serving.heard.runs] == ["NEW", "NEWS"]


def test_rows_of_a_table_without_a_key_come_once_though_two_pull_them_at_once(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(20))
    lab.write(manifest("monotonic", config=", has_key = false, seconds = 0.5"))
    lab.applied()
    source.put([(99, "2025-01-01T00:00:00+00:00", "part-1", "new")])

    others = [
        threading.Thread(target=lab.ran, kwargs={"node": NodeId(f"node-{number}")}) for number in range(3)
    ]
    for each in others:
        each.start()
    for each in others:
        each.join()

    assert lab.query("SELECT count(*) FROM counted_items") == [(21,)]
    assert [event.run for event in lab.told(ChunkStarted)]
