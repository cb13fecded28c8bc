"""Tests of `catalog.chunks`: what landed in a table, what was done last, and what takes the place of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import Chunk, ChunkStatus, ChunkTally, NewChunk
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.errors import UnstorableText
from hakiri.catalog.testing.base import Contract
from hakiri.catalog.testing.divergences import upholds
from hakiri.catalog.testing.samples import (
    MINUTE,
    OTHER_PIPELINE,
    OTHER_TABLE,
    PIPELINE,
    T0,
    TABLE,
    at_once,
    claimed,
    claimed_some,
    committed,
    done,
    new_chunks,
    planned,
    planned_in,
    step,
)
from hakiri.catalog.testing.vandal import Vandal, refuses_all
from hakiri.catalog.testing.workload import SOME_STEPS, Step, work_on
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, PipelineId, TableName

LANDED = (ChunkStatus.DONE, ChunkStatus.SUPERSEDED)


def ids(*numbers: int) -> tuple[ChunkId, ...]:
    return tuple(ChunkId(number) for number in numbers)


def places(chunks: tuple[Chunk, ...]) -> list[tuple[str, int]]:
    return [(chunk.pipeline, chunk.chunk) for chunk in chunks]


class LandedContract(Contract):
    """Every chunk of a table that was ever done, and a number that tells when there is another."""

    @pytest.mark.spec("HP-121")
    def test_chunks_land_when_they_are_done_and_stay_when_they_are_superseded(self, catalog: Catalog) -> None:
        planned(catalog, 4)
        claimed(catalog)
        committed(catalog)
        committed(catalog)
        catalog.queue.give_back(claimed(catalog), T0, retry=False)
        catalog.chunks.supersede(PIPELINE, ids(2), "rewind", T0)

        landed = catalog.chunks.landed(TABLE)

        assert [(chunk.chunk, chunk.status) for chunk in landed] == [
            (2, ChunkStatus.SUPERSEDED),
            (3, ChunkStatus.DONE),
        ]
        assert landed == tuple(catalog.chunks.get(PIPELINE, chunk.chunk) for chunk in landed)

    def test_what_landed_in_a_table_comes_from_all_pipelines_by_pipeline_and_id(
        self, catalog: Catalog
    ) -> None:
        names = [PipelineId(name) for name in ("b", "a-2", "Z", "ä", "a_1")]
        for name in names:
            planned(catalog, 2, name)
            for _ in range(2):
                catalog.queue.commit(claimed(catalog, pipeline=name), done(), T0)

        everything = catalog.chunks.landed(TABLE)

        assert places(everything) == [(name, number) for name in sorted(names) for number in (1, 2)]
        assert catalog.chunks.landed(OTHER_TABLE) == ()
        pages = [
            catalog.chunks.landed(TABLE, after=after, limit=4)
            for after in (None, *((chunk.pipeline, chunk.chunk) for chunk in everything[3::4]))
        ]
        assert tuple(chunk for page in pages for chunk in page) == everything
        assert catalog.chunks.landed(TABLE, after=(PipelineId("ä"), ChunkId(2))) == ()

    def test_a_table_in_which_nothing_landed_has_version_0(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        catalog.queue.give_back(claimed(catalog), T0)
        catalog.schemas.record(step(0), PIPELINE, T0)

        assert catalog.chunks.version(TABLE) == 0
        assert catalog.chunks.landed(TABLE) == ()

    def test_the_version_grows_when_a_chunk_lands_and_when_it_is_superseded(self, catalog: Catalog) -> None:
        planned_in(catalog, TABLE, OTHER_TABLE, TABLE)
        versions = []
        for _ in range(3):
            committed(catalog)
            versions.append(catalog.chunks.version(TABLE))
        catalog.chunks.supersede(PIPELINE, ids(1), "rewind", T0)
        versions.append(catalog.chunks.version(TABLE))

        assert versions[0] == versions[1]
        assert [versions[0], *versions[2:]] == sorted({versions[0], *versions[2:]})

    @settings(
        max_examples=5,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(steps=SOME_STEPS)
    def test_the_version_grows_exactly_when_what_landed_changes(
        self, catalog: Catalog, steps: list[Step]
    ) -> None:
        pipeline = PipelineId(f"example {len(catalog.pipelines.all())}")
        table = TableName(f"table-of-{pipeline}")
        catalog.pipelines.declare(pipeline, CursorKind.MONOTONIC, T0)
        version, landed = 0, catalog.chunks.landed(table)

        for _ in work_on(catalog, pipeline, steps):
            now = catalog.chunks.version(table), catalog.chunks.landed(table)
            assert (now[0] > version) == (now[1] != landed)
            assert now[0] >= version
            assert now[1] == tuple(chunk for chunk in catalog.chunks.page(pipeline) if chunk.status in LANDED)
            version, landed = now

    def test_many_commits_at_once_are_all_counted(self, catalog: Catalog) -> None:
        pipelines = [PipelineId(f"pipeline {number}") for number in range(8)]
        for pipeline in pipelines:
            planned(catalog, 3, pipeline)

        def commit(number: int) -> None:
            for _ in range(3):
                catalog.queue.commit(claimed(catalog, pipeline=pipelines[number]), done(), T0)

        at_once(commit)

        assert len(catalog.chunks.landed(TABLE)) == 24
        assert catalog.chunks.version(TABLE) == 24
        assert catalog.check() == ()

    @upholds(Invariant.CHUNKS_ONCE)
    def test_the_store_does_not_turn_a_version_back(self, catalog: Catalog, vandal: Vandal) -> None:
        planned(catalog, 2)
        committed(catalog)
        committed(catalog)

        refuses_all([lambda: vandal.turn_version_back(TABLE)], lambda: catalog.chunks.version(TABLE))

    def test_chunks_that_were_done_last_come_first(self, catalog: Catalog) -> None:
        planned(catalog, 5)
        attempts = claimed_some(catalog, 5)
        for minute, attempt in zip((2, 1, 3, 1), attempts, strict=False):
            catalog.queue.commit(attempt, done(), T0 + minute * MINUTE)
        catalog.chunks.supersede(PIPELINE, ids(3), "rewind", T0)

        recent = catalog.chunks.recent(PIPELINE)

        assert [chunk.chunk for chunk in recent] == [1, 4, 2]
        assert catalog.chunks.recent(PIPELINE, limit=2) == recent[:2]
        assert catalog.chunks.recent(OTHER_PIPELINE) == ()


class SupersedeIntoContract(Contract):
    """Done chunks that others take the place of."""

    @pytest.mark.spec("HP-142")
    def test_done_chunks_are_superseded_by_the_last_of_those_that_take_their_place(
        self, catalog: Catalog
    ) -> None:
        planned(catalog, 4)
        for _ in range(3):
            committed(catalog)
        before = catalog.chunks.page(PIPELINE)
        into = [NewChunk(table=TABLE, predicate="«a»"), NewChunk(table=OTHER_TABLE, predicate="b")]

        new = catalog.chunks.supersede(PIPELINE, ids(3, 1, 99), "cut anew", T0, into=into)

        assert new == (5, 6)
        after = catalog.chunks.page(PIPELINE)
        kept: Any = {
            "status": ChunkStatus.SUPERSEDED,
            "superseded_by": 6,
            "reason": "cut anew",
            "successors": 2,
        }
        assert after[:4] == (
            replace(before[0], **kept),
            before[1],
            replace(before[2], **kept),
            before[3],
        )
        assert [(each.table, each.predicate, each.status) for each in after[4:]] == [
            (chunk.table, chunk.predicate, ChunkStatus.PENDING) for chunk in into
        ]
        assert catalog.chunks.tally(PIPELINE) == ChunkTally(
            pending=3, done=1, superseded=2, rows=10, bytes=1000
        )
        assert catalog.check() == ()

    def test_many_chunks_are_superseded_by_one_and_that_one_by_many(self, catalog: Catalog) -> None:
        planned(catalog, 3)
        for _ in range(3):
            committed(catalog)
        assert catalog.chunks.supersede(PIPELINE, ids(1, 2, 3), "join", T0, into=new_chunks(1)) == (4,)
        committed(catalog)

        assert catalog.chunks.supersede(PIPELINE, ids(4), "split", T0, into=new_chunks(3)) == (5, 6, 7)

        chunks = catalog.chunks.page(PIPELINE)
        assert [chunk.superseded_by for chunk in chunks] == [4, 4, 4, 7, None, None, None]
        assert [chunk.reason for chunk in chunks[:4]] == ["join", "join", "join", "split"]
        assert catalog.check() == ()

    def test_if_none_is_done_nothing_takes_their_place(self, catalog: Catalog) -> None:
        planned(catalog, 3)
        claimed(catalog)
        before = catalog.chunks.page(PIPELINE), catalog.snapshots.revision(TABLE)

        assert catalog.chunks.supersede(PIPELINE, ids(1, 2, 9), "cut anew", T0, into=new_chunks(2)) == ()
        assert (catalog.chunks.page(PIPELINE), catalog.snapshots.revision(TABLE)) == before

    def test_the_revision_of_the_tables_of_the_old_chunks_grows(self, catalog: Catalog) -> None:
        planned_in(catalog, TABLE)
        committed(catalog)
        before = catalog.snapshots.revision(TABLE), catalog.snapshots.revision(OTHER_TABLE)

        catalog.chunks.supersede(PIPELINE, ids(1), "move", T0, into=new_chunks(1, OTHER_TABLE))

        assert catalog.snapshots.revision(TABLE) > before[0]
        assert catalog.snapshots.revision(OTHER_TABLE) == before[1]

    def test_what_takes_their_place_is_one_chunk_or_more(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        committed(catalog)

        with pytest.raises(ValueError, match="one chunk or more"):
            catalog.chunks.supersede(PIPELINE, ids(1), "away with it", T0, into=[])

        assert catalog.chunks.tally(PIPELINE).done == 1

    def test_chunks_that_cannot_be_stored_take_nobodys_place(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        committed(catalog)
        before = catalog.chunks.page(PIPELINE)
        into = [*new_chunks(1), NewChunk(table=TABLE, predicate="\0")]

        with pytest.raises(UnstorableText):
            catalog.chunks.supersede(PIPELINE, ids(1), "cut anew", T0, into=into)

        assert catalog.chunks.page(PIPELINE) == before

    def test_of_many_who_put_others_in_their_place_at_once_one_does(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        committed(catalog)
        committed(catalog)

        answers = at_once(
            lambda _: catalog.chunks.supersede(PIPELINE, ids(1, 2), "join", T0, into=new_chunks(1))
        )

        assert sorted(answers) == [()] * (len(answers) - 1) + [(3,)]
        assert len(catalog.chunks.page(PIPELINE)) == 3
