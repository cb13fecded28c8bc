"""Tests of `catalog.chunks`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import Chunk, ChunkError, ChunkStatus, ChunkTally, NewChunk
from hakiri.catalog.errors import UnstorableText
from hakiri.catalog.testing.base import Contract
from hakiri.catalog.testing.samples import (
    OTHER_PIPELINE,
    OTHER_TABLE,
    PIPELINE,
    T0,
    TABLE,
    at_once,
    claimed,
    committed,
    counted,
    new_chunks,
    planned,
)
from hakiri.catalog.testing.workload import SOME_STEPS, Step, work_on
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, PipelineId


def ids(*numbers: int) -> tuple[ChunkId, ...]:
    return tuple(ChunkId(number) for number in numbers)


def statuses(catalog: Catalog) -> list[ChunkStatus]:
    return [chunk.status for chunk in catalog.chunks.page(PIPELINE)]


def one_of_each(catalog: Catalog) -> None:
    """Chunks 1 to 5: done, failed, running, skipped, pending."""
    planned(catalog, 5)
    committed(catalog)
    catalog.queue.give_back(claimed(catalog), T0, retry=False)
    claimed(catalog)
    catalog.chunks.skip(PIPELINE, ids(4), T0)


ONE_OF_EACH = [
    ChunkStatus.DONE,
    ChunkStatus.FAILED,
    ChunkStatus.RUNNING,
    ChunkStatus.SKIPPED,
    ChunkStatus.PENDING,
]


class ChunkContract(Contract):
    """The plan of a pipeline."""

    def test_planned_chunks_are_numbered_from_1_and_pending(self, catalog: Catalog) -> None:
        plan = [NewChunk(table=TABLE, predicate=' {"a": 1.0}'), NewChunk(table=OTHER_TABLE, predicate="")]

        assert catalog.chunks.plan(PIPELINE, "backfill", plan, T0) == 2

        chunks = catalog.chunks.page(PIPELINE)
        assert [chunk.chunk for chunk in chunks] == [1, 2]
        assert [(chunk.table, chunk.predicate) for chunk in chunks] == [
            (new.table, new.predicate) for new in plan
        ]
        assert chunks[0] == Chunk(
            pipeline=PIPELINE,
            chunk=ChunkId(1),
            table=TABLE,
            predicate=' {"a": 1.0}',
            status=ChunkStatus.PENDING,
            attempts=0,
            run=None,
            holder=None,
            leased_until=None,
            seq=None,
            started_at=None,
            completed_at=None,
            winning_attempt=None,
            cursor_committed=None,
            rows=None,
            bytes=None,
            manifest=None,
            error_kind=None,
            error_message=None,
            superseded_by=None,
        )

    def test_another_plan_is_added_behind(self, catalog: Catalog) -> None:
        catalog.chunks.plan(PIPELINE, "2025", iter(new_chunks(2)), T0)

        assert catalog.chunks.plan(PIPELINE, "2026", iter(new_chunks(1, OTHER_TABLE)), T0) == 1

        assert [chunk.table for chunk in catalog.chunks.page(PIPELINE)] == [TABLE, TABLE, OTHER_TABLE]

    def test_a_plan_of_the_same_name_adds_nothing(self, catalog: Catalog) -> None:
        catalog.chunks.plan(PIPELINE, "backfill", new_chunks(2), T0)
        before = catalog.chunks.page(PIPELINE)

        assert catalog.chunks.plan(PIPELINE, "backfill", new_chunks(3), T0) == 0
        assert catalog.chunks.page(PIPELINE) == before

    def test_a_plan_without_chunks_also_has_its_name(self, catalog: Catalog) -> None:
        assert catalog.chunks.plan(PIPELINE, "backfill", [], T0) == 0
        assert catalog.chunks.plan(PIPELINE, "backfill", new_chunks(3), T0) == 0
        assert catalog.chunks.page(PIPELINE) == ()

    def test_a_plan_is_known_by_its_name(self, catalog: Catalog) -> None:
        catalog.chunks.plan(PIPELINE, "backfill", [], T0)

        assert catalog.chunks.is_planned(PIPELINE, "backfill")
        assert not catalog.chunks.is_planned(PIPELINE, "another")
        assert not catalog.chunks.is_planned(OTHER_PIPELINE, "backfill")

    def test_pipelines_have_plans_of_their_own(self, catalog: Catalog) -> None:
        catalog.chunks.plan(PIPELINE, "backfill", new_chunks(2), T0)

        assert catalog.chunks.plan(OTHER_PIPELINE, "backfill", new_chunks(1), T0) == 1
        assert [chunk.chunk for chunk in catalog.chunks.page(OTHER_PIPELINE)] == [1]

    def test_a_plan_that_breaks_off_adds_nothing(self, catalog: Catalog) -> None:
        def broken() -> Iterator[NewChunk]:
            yield from new_chunks(2)
            raise OSError("the source is gone")

        with pytest.raises(OSError, match="gone"):
            catalog.chunks.plan(PIPELINE, "backfill", broken(), T0)
        with pytest.raises(UnstorableText):
            catalog.chunks.plan(
                PIPELINE, "backfill", [*new_chunks(2), NewChunk(table=TABLE, predicate="\0")], T0
            )

        assert catalog.chunks.page(PIPELINE) == ()
        assert catalog.chunks.plan(PIPELINE, "backfill", new_chunks(2), T0) == 2

    def test_many_who_plan_the_same_at_once_plan_it_once(self, catalog: Catalog) -> None:
        added = at_once(lambda _: catalog.chunks.plan(PIPELINE, "backfill", new_chunks(20), T0))

        assert sorted(added) == [0] * (len(added) - 1) + [20]
        assert [chunk.chunk for chunk in catalog.chunks.page(PIPELINE)] == list(range(1, 21))

    def test_failed_and_skipped_chunks_are_reopened(self, catalog: Catalog) -> None:
        one_of_each(catalog)
        assert statuses(catalog) == ONE_OF_EACH

        assert catalog.chunks.reopen(PIPELINE, ids(1, 2, 3, 4, 5, 99), T0) == 2

        pending = ChunkStatus.PENDING
        assert statuses(catalog) == [ChunkStatus.DONE, pending, ChunkStatus.RUNNING, pending, pending]

    def test_pending_and_failed_chunks_are_skipped(self, catalog: Catalog) -> None:
        one_of_each(catalog)

        assert catalog.chunks.skip(PIPELINE, ids(1, 2, 3, 4, 5, 99), T0) == 2

        skipped = ChunkStatus.SKIPPED
        assert statuses(catalog) == [ChunkStatus.DONE, skipped, ChunkStatus.RUNNING, skipped, skipped]

    def test_only_the_named_chunks_are_touched(self, catalog: Catalog) -> None:
        planned(catalog, 4)
        planned(catalog, 4, OTHER_PIPELINE)

        assert catalog.chunks.skip(PIPELINE, ids(3, 2), T0) == 2
        assert catalog.chunks.skip(PIPELINE, (), T0) == 0
        assert catalog.chunks.reopen(PIPELINE, ids(2), T0) == 1

        pending, skipped = ChunkStatus.PENDING, ChunkStatus.SKIPPED
        assert statuses(catalog) == [pending, pending, skipped, pending]
        assert catalog.chunks.tally(OTHER_PIPELINE) == ChunkTally(pending=4)

    def test_a_done_chunk_is_planned_anew_and_kept_as_superseded(self, catalog: Catalog) -> None:
        planned(catalog, 3)
        committed(catalog)
        committed(catalog)
        before = catalog.chunks.page(PIPELINE)

        again = catalog.chunks.supersede(PIPELINE, ids(1, 2), "rewind to May", T0)

        assert again == (4, 5)
        after = catalog.chunks.page(PIPELINE)
        assert after[:2] == tuple(
            replace(
                old, status=ChunkStatus.SUPERSEDED, superseded_by=new, reason="rewind to May", successors=1
            )
            for old, new in zip(before[:2], again, strict=True)
        )
        assert [(new.table, new.predicate, new.status, new.attempts) for new in after[3:]] == [
            (old.table, old.predicate, ChunkStatus.PENDING, 0) for old in before[:2]
        ]

    def test_only_done_chunks_are_superseded(self, catalog: Catalog) -> None:
        one_of_each(catalog)

        assert catalog.chunks.supersede(PIPELINE, ids(1, 2, 3, 4, 5, 99), "rewind", T0) == (6,)
        assert catalog.chunks.supersede(PIPELINE, ids(1), "rewind again", T0) == ()
        assert statuses(catalog) == [
            ChunkStatus.SUPERSEDED,
            *ONE_OF_EACH[1:],
            ChunkStatus.PENDING,
        ]

    def test_a_chunk_that_is_not_there_is_none(self, catalog: Catalog) -> None:
        planned(catalog, 1)

        assert catalog.chunks.get(PIPELINE, ChunkId(2)) is None
        assert catalog.chunks.get(OTHER_PIPELINE, ChunkId(1)) is None
        assert catalog.chunks.get(PIPELINE, ChunkId(1)) == catalog.chunks.page(PIPELINE)[0]

    def test_chunks_come_by_id_page_by_page(self, catalog: Catalog) -> None:
        planned(catalog, 12)

        pages = [
            catalog.chunks.page(PIPELINE, after=after, limit=5)
            for after in (None, ChunkId(5), ChunkId(10), ChunkId(12))
        ]

        assert [[chunk.chunk for chunk in page] for page in pages] == [
            [1, 2, 3, 4, 5],
            [6, 7, 8, 9, 10],
            [11, 12],
            [],
        ]

    @pytest.mark.parametrize("status", ChunkStatus)
    def test_chunks_of_one_status_come_alone(self, catalog: Catalog, status: ChunkStatus) -> None:
        one_of_each(catalog)
        catalog.chunks.supersede(PIPELINE, ids(1), "rewind", T0)
        every = catalog.chunks.page(PIPELINE)

        found = catalog.chunks.page(PIPELINE, status=status)

        assert found == tuple(chunk for chunk in every if chunk.status is status)
        assert catalog.chunks.page(PIPELINE, status=status, after=ChunkId(5)) == tuple(
            chunk for chunk in found if chunk.chunk > 5
        )

    def test_the_tally_counts_chunks_and_what_the_done_ones_brought(self, catalog: Catalog) -> None:
        one_of_each(catalog)

        tally = catalog.chunks.tally(PIPELINE)

        assert tally == ChunkTally(pending=1, running=1, done=1, failed=1, skipped=1, rows=10, bytes=1000)
        assert tally == counted(catalog)
        assert tally.total == 5

    def test_superseded_chunks_do_not_count_for_progress(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        committed(catalog, rows=7)
        committed(catalog, rows=5)

        catalog.chunks.supersede(PIPELINE, ids(1), "rewind", T0)

        tally = catalog.chunks.tally(PIPELINE)
        assert tally == ChunkTally(pending=1, done=1, superseded=1, rows=5, bytes=500)
        assert tally.total == 2

    def test_the_tally_of_an_unknown_pipeline_is_empty(self, catalog: Catalog) -> None:
        assert catalog.chunks.tally(PIPELINE) == ChunkTally()

    def test_a_failed_chunk_says_why(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        error = ChunkError(kind="SchemaIncompatible", message="`id` is a text now\nand was a number — «ü»")

        catalog.queue.give_back(claimed(catalog), T0, error, retry=False)

        failed = catalog.chunks.page(PIPELINE, status=ChunkStatus.FAILED)
        assert [(chunk.error_kind, chunk.error_message) for chunk in failed] == [(error.kind, error.message)]

    @settings(
        max_examples=8,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(steps=SOME_STEPS)
    def test_the_tally_is_always_the_count_over_all_pages(self, catalog: Catalog, steps: list[Step]) -> None:
        # A pipeline of its own for every example: the state lives on.
        pipeline = PipelineId(f"example {len(catalog.pipelines.all())}")
        catalog.pipelines.declare(pipeline, CursorKind.MONOTONIC, T0)

        for _ in work_on(catalog, pipeline, steps):
            assert catalog.chunks.tally(pipeline) == counted(catalog, pipeline)
