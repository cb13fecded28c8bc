"""Tries and waits: what may pass is tried again with growing pauses, as often as the manifest says."""

from __future__ import annotations

import itertools
import threading

import pytest
from tests.support.counted import CountedSource, manifest, moments
from tests.support.runtime import Lab
from tests.support.troubles import HastyStop

from hakiri.catalog.contract.chunks import ChunkStatus
from hakiri.catalog.contract.pipelines import Phase
from hakiri.catalog.contract.runs import RunStatus
from hakiri.core.ids import PipelineId
from hakiri.pipelines.events import ChunkGivenBack
from hakiri.pipelines.runtime.steps import Step

pytestmark = pytest.mark.spark
STORED = "SELECT id, part, v FROM counted_items ORDER BY id"


@pytest.mark.parametrize("kind", ["monotonic", "opaque-token"])
@pytest.mark.spec("HP-047")
def test_a_failure_that_passes_is_tried_again_with_growing_pauses(
    lab: Lab, source: CountedSource, kind: str
) -> None:
    source.put(moments(30, parts=1))
    source.fact("trouble", "transient:2")
    lab.write(manifest(kind))
    stop = HastyStop()

    applied = lab.applied(stop=stop)

    assert lab.query(STORED) == source.rows()
    assert len(stop.waits) == 2
    assert all(0 <= wait <= 2**tries for tries, wait in enumerate(stop.waits))
    told = lab.told(ChunkGivenBack)
    assert [(event.will_retry, event.in_seconds) for event in told] == [(True, wait) for wait in stop.waits]
    assert {(event.error_kind, event.message) for event in told} == {
        ("sources.transient", "the source is asleep")
    }
    assert len(source.reads()) == 3
    (chunk,) = lab.chunks()
    assert (chunk.status, chunk.attempts, chunk.error_kind) == (ChunkStatus.DONE, 3, None)
    assert applied.result is not None
    assert (applied.result.run.status, applied.result.run.rows) == (RunStatus.SUCCESS, 30)


@pytest.mark.spec("HP-047")
@pytest.mark.spec("HP-061")
def test_a_failure_that_does_not_pass_is_tried_as_often_as_the_manifest_says(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(5))
    source.fact("trouble", "transient")
    lab.write(manifest("monotonic", more="retries = 3\n"))
    stop = HastyStop()

    failed = lab.run("p", stop=stop)

    assert len(source.reads()) == 4
    assert len(stop.waits) == 3
    assert failed.result is not None
    assert (failed.result.run.status, failed.result.run.error_kind, failed.result.run.rows) == (
        RunStatus.FAILED,
        "sources.transient",
        0,
    )
    assert failed.result.run.error_message == "the source is asleep"
    with lab.catalog() as catalog:
        state = catalog.pipelines.get(PipelineId("p"))
    assert state is not None
    assert (state.phase, state.failure and state.failure.kind) == (Phase.BACKFILLING, "sources.transient")


@pytest.mark.spec("HP-047")
def test_a_source_that_asks_for_a_rest_gets_exactly_that(lab: Lab, source: CountedSource) -> None:
    source.put(moments(5))
    source.fact("trouble", "limited:2")
    lab.write(manifest("monotonic"))
    stop = HastyStop()

    lab.applied(stop=stop)

    assert stop.waits == [0.05, 0.05]
    assert lab.query(STORED) == source.rows()


@pytest.mark.spec("HP-041")
@pytest.mark.spec("HP-047")
def test_chunks_that_failed_together_are_tried_alone_and_nothing_is_pulled_twice(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(30))
    lab.write(manifest("monotonic", config=', window = "7d"'))
    source.fact("trouble", "transient:1")

    lab.applied(stop=HastyStop(), jobs_at_once=1)

    assert lab.query(STORED) == source.rows()
    chunks = lab.chunks()
    tried = [chunk.attempts for chunk in chunks]
    # The first job had four chunks, of which one failed: all four of it were read again, and no others.
    assert (tried[:4], set(tried[4:])) == ([2] * 4, {1})
    assert {chunk.status for chunk in chunks} == {ChunkStatus.DONE}


@pytest.mark.spec("HP-047")
def test_a_bug_in_a_connector_is_not_tried_again(lab: Lab, source: CountedSource) -> None:
    source.put(moments(5))
    source.fact("trouble", "bug")
    lab.write(manifest("monotonic"))

    failed = lab.run("p")

    assert failed.error is not None
    assert (failed.error.code, len(source.reads())) == ("sources.connector_failed", 1)
    assert "connectors/counted.py" in str(failed.error.places[0])


def test_two_jobs_that_make_a_table_at_the_same_moment_read_nothing_twice(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(30))
    lab.write(manifest("monotonic", config=', window = "5d"'))
    both, numbers = threading.Barrier(2, timeout=30), itertools.count()

    def reached(step: Step) -> None:
        """Both have seen that there is no table before either makes it."""
        if step is Step.COMMIT_STARTED and next(numbers) < 2:
            both.wait()

    lab.applied(reached=reached)

    assert lab.query(STORED) == source.rows()
    assert len(source.reads()) == len(lab.chunks())
    assert {chunk.attempts for chunk in lab.chunks()} == {1}
