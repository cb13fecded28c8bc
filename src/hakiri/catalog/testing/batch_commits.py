"""Tests of `catalog.queue`: several chunks committed in one step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkStatus, ChunkTally
from hakiri.catalog.contract.lineage import EdgeKind
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.errors import LeaseLost, LeaseRequired, SchemaMoved, UnstorableText
from hakiri.catalog.testing.base import Contract, Opener
from hakiri.catalog.testing.commits import everything
from hakiri.catalog.testing.divergences import upholds
from hakiri.catalog.testing.samples import (
    ANNA,
    BEN,
    HOUR,
    MINUTE,
    OTHER_PIPELINE,
    OTHER_TABLE,
    PIPELINE,
    RUN,
    T0,
    TABLE,
    TICK,
    TTL,
    at_once,
    claimed,
    claimed_some,
    done,
    edge,
    planned,
    planned_in,
    run_id,
    step,
)
from hakiri.core.cursors import CursorKind


class BatchCommitContract(Contract):
    """Committing several chunks at once."""

    def test_all_become_winners_with_everything_that_comes_with_them(self, catalog: Catalog) -> None:
        planned(catalog, 3)
        attempts = claimed_some(catalog, 3)
        commits = [
            done(rows=1, cursor="1", schema=step(0), edges=(edge(2, 1, EdgeKind.CHUNK),)),
            done(rows=2, cursor="«2»"),
            done(rows=3, schema=step(1), edges=(edge(3, 1, EdgeKind.CHUNK), edge(2, 1, EdgeKind.CHUNK))),
        ]

        catalog.queue.commit_some(list(zip(attempts, commits, strict=True)), T0 + MINUTE)

        chunks = catalog.chunks.page(PIPELINE)
        assert [chunk.status for chunk in chunks] == [ChunkStatus.DONE] * 3
        assert [chunk.winning_attempt for chunk in chunks] == [f"{ANNA}/attempt-1"] * 3
        assert [chunk.manifest for chunk in chunks] == [commit.manifest for commit in commits]
        assert [chunk.cursor_committed for chunk in chunks] == ["1", "«2»", None]
        assert {chunk.completed_at for chunk in chunks} == {T0 + MINUTE}
        assert catalog.chunks.tally(PIPELINE) == ChunkTally(done=3, rows=6, bytes=600)
        cursor = catalog.cursors.get(PIPELINE, TABLE)
        assert cursor is not None
        assert (cursor.value, cursor.seq) == ("«2»", attempts[1].seq)
        assert [change.version for change in catalog.schemas.log(TABLE)] == [1, 2]
        assert [each.child for each in catalog.lineage.children(RUN)] == [run_id(2), run_id(3)]

    def test_the_cursor_of_the_latest_claim_stays_whatever_the_order(self, catalog: Catalog) -> None:
        planned(catalog, 3)
        first, second, third = claimed_some(catalog, 3)

        catalog.queue.commit_some([(third, done(cursor="3")), (first, done(cursor="1"))], T0)
        catalog.queue.commit_some([(second, done(cursor="2"))], T0)

        cursor = catalog.cursors.get(PIPELINE, TABLE)
        assert cursor is not None
        assert (cursor.value, cursor.seq) == ("3", third.seq)

    def test_chunks_of_several_tables_are_committed_at_once(self, catalog: Catalog) -> None:
        planned_in(catalog, OTHER_TABLE, TABLE)
        attempts = [claimed(catalog), claimed(catalog)]

        commits = [(attempt, done(cursor="1", schema=step(0, attempt.table))) for attempt in attempts]
        catalog.queue.commit_some(commits, T0)

        assert [cursor.table for cursor in catalog.cursors.all(PIPELINE)] == sorted((TABLE, OTHER_TABLE))
        assert [catalog.chunks.version(table) for table in (TABLE, OTHER_TABLE)] == [1, 1]

    def test_if_one_is_lost_none_is_committed(self, catalog: Catalog) -> None:
        planned(catalog, 3)
        attempts = claimed_some(catalog, 3)
        catalog.queue.give_back(attempts[1], T0)
        claimed(catalog, node=BEN)
        before = everything(catalog)
        commits = [(attempt, done(cursor="1", schema=step(0))) for attempt in attempts]

        with pytest.raises(LeaseLost) as raised:
            catalog.queue.commit_some(commits, T0)

        assert raised.value.fence == attempts[1].number
        assert everything(catalog) == before

    def test_if_one_schema_has_moved_none_is_committed(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        attempts = claimed_some(catalog, 2)
        commits = [(attempt, done(cursor="1", schema=step(0))) for attempt in attempts]
        before = everything(catalog)

        with pytest.raises(SchemaMoved):
            catalog.queue.commit_some(commits, T0)

        assert everything(catalog) == before

    @pytest.mark.parametrize("text", ["\0", "half a pair: \ud83d"], ids=["nul", "surrogate"])
    def test_if_one_cannot_be_stored_none_is_committed(self, catalog: Catalog, text: str) -> None:
        planned(catalog, 2)
        first, second = claimed_some(catalog, 2)
        before = everything(catalog)

        with pytest.raises(UnstorableText):
            catalog.queue.commit_some([(first, done()), (second, replace(done(), manifest=text))], T0)

        assert everything(catalog) == before

    def test_those_that_were_committed_before_are_left_as_they_are(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        first, second = claimed_some(catalog, 2)
        catalog.queue.commit(first, done(rows=1, cursor="1"), T0)
        before = catalog.chunks.get(PIPELINE, first.chunk)

        for _ in range(2):
            commits = [(first, done(rows=9, cursor="9")), (second, done(rows=2)), (second, done(rows=7))]
            catalog.queue.commit_some(commits, T0 + MINUTE)

        assert catalog.chunks.get(PIPELINE, first.chunk) == before
        assert catalog.chunks.tally(PIPELINE) == ChunkTally(done=2, rows=3, bytes=300)
        assert [cursor.value for cursor in catalog.cursors.all(PIPELINE)] == ["1"]

    def test_some_are_committed_late_as_long_as_nobody_has_them(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        attempts = claimed_some(catalog, 2)

        catalog.queue.commit_some([(attempt, done()) for attempt in attempts], T0 + TTL + TICK)

        assert catalog.chunks.tally(PIPELINE).done == 2

    def test_nothing_to_commit_is_no_write(self, catalog: Catalog) -> None:
        catalog.queue.commit_some([], T0)

        assert catalog.pipelines.all() == ()

    def test_chunks_of_two_pipelines_are_not_committed_at_once(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        planned(catalog, 1, OTHER_PIPELINE)
        attempts = [claimed(catalog), claimed(catalog, pipeline=OTHER_PIPELINE)]

        with pytest.raises(ValueError, match="of one pipeline"):
            catalog.queue.commit_some([(attempt, done()) for attempt in attempts], T0)

        assert catalog.chunks.tally(PIPELINE).running == 1

    @pytest.mark.spec("HC-103")
    def test_some_of_a_leased_kind_are_committed_under_the_lease_only(self, catalog: Catalog) -> None:
        planned(catalog, 2, kind=CursorKind.OPAQUE_TOKEN)
        lost = catalog.leases.acquire(PIPELINE, ANNA, T0, TTL)
        attempts = catalog.queue.claim_some(PIPELINE, RUN, ANNA, T0, ttl=HOUR, limit=2, under=lost)
        held = catalog.leases.acquire(PIPELINE, BEN, T0 + TTL, TTL)
        commits = [(attempt, done()) for attempt in attempts]

        with pytest.raises(LeaseRequired):
            catalog.queue.commit_some(commits, T0)
        with pytest.raises(LeaseLost):
            catalog.queue.commit_some(commits, T0, under=lost)
        assert catalog.chunks.tally(PIPELINE) == ChunkTally(running=2)

        catalog.queue.commit_some(commits, T0, under=held)
        catalog.queue.commit_some(commits, T0, under=lost)
        assert catalog.chunks.tally(PIPELINE).done == 2

    @upholds(Invariant.CHUNKS_ONCE)
    def test_of_many_who_commit_some_at_once_each_chunk_is_won_once(
        self, catalog: Catalog, opener: Opener
    ) -> None:
        planned(catalog, 32)
        batches = [claimed_some(catalog, 8) for _ in range(4)]
        with opener.open() as other:
            handles = (catalog, other)
            at_once(
                lambda n: handles[n % 2].queue.commit_some(
                    [(attempt, done(rows=1, cursor=f"{attempt.chunk}")) for attempt in batches[n // 2]], T0
                )
            )

        assert catalog.chunks.tally(PIPELINE) == ChunkTally(done=32, rows=32, bytes=3200)
        assert [cursor.value for cursor in catalog.cursors.all(PIPELINE)] == ["32"]
        assert catalog.chunks.version(TABLE) == 32
