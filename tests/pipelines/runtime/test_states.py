"""The states that runs go through, as they tell them."""

from __future__ import annotations

import pytest
from tests.support.counted import CountedSource, manifest, moments
from tests.support.runtime import Lab

from hakiri.pipelines.chunks.states import RunEvent, RunState
from hakiri.pipelines.events import StateChanged

pytestmark = pytest.mark.spark


def trace(lab: Lab) -> list[str]:
    """The states that were come to, in their order."""
    return [event.after.value for event in lab.told(StateChanged)]


@pytest.mark.spec("HP-045")
def test_reading_and_writing_alternate_until_the_source_is_exhausted(lab: Lab, source: CountedSource) -> None:
    source.put(moments(25))
    lab.write(manifest("opaque-token"))

    lab.applied(segment_rows=10)

    batches = ["reading", "writing"] * 3
    assert trace(lab) == ["discovering", *batches, "committing", "idle"]


@pytest.mark.spec("HP-045")
def test_a_source_without_news_gives_one_batch_without_rows(lab: Lab, source: CountedSource) -> None:
    source.put(moments(3))
    lab.write(manifest("monotonic"))
    lab.applied()
    lab.events.clear()

    lab.ran()

    assert trace(lab) == ["discovering", "reading", "writing", "committing", "idle"]


@pytest.mark.spec("HP-047")
def test_a_source_that_fails_for_good_ends_the_run_as_a_failed_read(lab: Lab, source: CountedSource) -> None:
    source.put(moments(25))
    lab.write(manifest("opaque-token"))
    source.fact("trouble", "bug")

    failed = lab.apply("p", segment_rows=10)[0]

    assert failed.error is not None
    last = lab.told(StateChanged)[-1]
    assert (last.before, last.after) == (RunState.READING, RunState.FAILED)
    assert last.why is RunEvent.PERMANENT


@pytest.mark.spec("HP-044")
def test_an_incompatible_schema_fails_the_run_while_it_discovers(lab: Lab, source: CountedSource) -> None:
    source.do("ALTER TABLE items ADD COLUMN score INTEGER")
    source.fact("columns", '{"score": "int64"}')
    source.do("INSERT INTO items VALUES (1, '2024-01-01T00:00:00+00:00', 'a', 'one', 1)")
    lab.write(manifest("monotonic"))
    lab.applied()
    lab.events.clear()
    source.fact("columns", '{"score": "int32"}')

    lab.run("p")

    assert trace(lab) == ["discovering", "failed"]
    assert lab.told(StateChanged)[-1].why is RunEvent.SCHEMA_INCOMPATIBLE
