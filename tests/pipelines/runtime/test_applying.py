"""Pipelines of every cursor kind, from nothing to streaming, on real Spark."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest
from tests.support.counted import CountedSource, manifest, moments
from tests.support.runtime import Lab

from hakiri.catalog.contract.pipelines import Phase
from hakiri.catalog.contract.runs import RunStatus
from hakiri.core.clock import FixedClock
from hakiri.core.ids import PipelineId
from hakiri.pipelines.events import ChunkAdvanced, PhaseChanged
from hakiri.pipelines.needs import Need

pytestmark = pytest.mark.spark
KINDS = ("monotonic", "opaque-token", "snapshot-id", "partitioned-monotonic")
STORED = "SELECT id, part, v FROM counted_items ORDER BY id"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.spec("HP-034")
@pytest.mark.spec("HP-038")
@pytest.mark.spec("HP-059")
@pytest.mark.spec("HP-098")
@pytest.mark.spec("HP-102")
def test_a_pipeline_comes_to_streaming_and_then_pulls_only_what_is_new(
    lab: Lab, source: CountedSource, kind: str
) -> None:
    source.put(moments(200))
    lab.write(manifest(kind, config=', window = "60d"'))

    first = lab.applied()

    assert (first.need, first.result and first.result.phase) == (Need.NEW, Phase.STREAMING)
    assert lab.query(STORED) == source.rows()
    assert [(event.before, event.after) for event in lab.told(PhaseChanged)] == [
        (Phase.PLANNING, Phase.BACKFILLING),
        (Phase.BACKFILLING, Phase.STREAMING),
    ]

    source.forget_reads()
    second = lab.applied()

    assert (second.need, second.result, source.reads()) == (Need.NOTHING, None, [])

    news = [(500, "2025-03-02T00:00:00+00:00", "part-2", "new")]
    if kind != "opaque-token":  # which is walked by id, and never comes by a row again
        news.append((7, "2025-03-01T00:00:00+00:00", "part-1", "changed"))
    source.put(news)
    third = lab.ran()

    assert lab.query(STORED) == source.rows()
    assert third.result is not None
    assert third.result.run.status is RunStatus.SUCCESS
    assert third.result.run.rows == len(news)


def test_whoever_watches_sees_rows_while_a_chunk_is_read(lab: Lab, source: CountedSource) -> None:
    source.put(moments(40))
    lab.write(manifest("opaque-token", config=", batch = 10, seconds = 0.6"))

    lab.applied()

    seen = [event.rows for event in lab.told(ChunkAdvanced)]
    assert seen == sorted(seen)
    assert set(seen) <= {10, 20, 30, 40}
    assert len(seen) >= 2


def test_a_source_may_become_one_that_only_one_worker_may_read(lab: Lab, source: CountedSource) -> None:
    source.put(moments(20))
    lab.write(manifest("monotonic"))
    lab.applied()
    source.put([(500, "2025-03-02T00:00:00+00:00", "part-2", "new")])
    lab.write(manifest("opaque-token"))

    changed = lab.ran()

    assert changed.result is not None
    assert changed.result.run.status is RunStatus.SUCCESS
    assert lab.query(STORED) == source.rows()
    with lab.catalog() as catalog:
        assert catalog.leases.current(PipelineId("p")) is None


def test_an_empty_table_without_a_key_is_pulled_and_grows_whatever_the_parallelism(lab: Lab) -> None:
    def do(statement: str) -> None:
        with closing(sqlite3.connect(lab.root / "shop.db")) as database, database:
            database.execute(statement)

    do("CREATE TABLE visits (at TEXT, page TEXT)")
    source = '{ connector = "sql", config = { url = "sqlite:///shop.db" } }'
    lab.write(
        f'[[pipeline]]\nid = "p"\nsource = {source}\ntables = ["visits"]\nincremental = "at"\n'
        "[pipeline.backfill]\nparallelism = 4\n"
    )

    first = lab.applied()

    assert first.result is not None
    assert (first.result.phase, first.result.run.rows) == (Phase.STREAMING, 0)

    for day in (1, 2):
        do(f"INSERT INTO visits VALUES ('2025-03-0{day}T00:00:00Z', 'page {day}')")
        assert lab.applied().need is Need.NEWS

    assert lab.query("SELECT page FROM visits ORDER BY page") == [("page 1",), ("page 2",)]


def test_an_edit_after_the_schedule_has_come_pulls_what_is_new_in_the_same_run(
    lab: Lab, source: CountedSource
) -> None:
    source.put(moments(3))
    lab.write(manifest("monotonic", more='schedule = "every 1h"\n'))
    lab.applied()

    source.put([(500, "2025-03-02T00:00:00+00:00", "part-2", "new")])
    lab.write(manifest("monotonic", more='schedule = "every 1h"\nretries = 7\n'))
    lab.clock = FixedClock(lab.clock.now() + timedelta(hours=2))
    edited = lab.applied()

    assert edited.need is Need.CHANGED_AND_DUE
    assert edited.result is not None
    assert edited.result.run.rows == 1
    assert lab.query(STORED) == source.rows()
