"""Tests of `catalog.queue.commit`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkCommit, ChunkStatus, ChunkTally
from hakiri.catalog.contract.lineage import EdgeKind
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.errors import CatalogError, LeaseLost, LeaseRequired, SchemaMoved
from hakiri.catalog.testing.base import Contract, Opener
from hakiri.catalog.testing.divergences import upholds
from hakiri.catalog.testing.samples import (
    ANNA,
    BEN,
    HOUR,
    MINUTE,
    OTHER_PIPELINE,
    PIPELINE,
    RUN,
    T0,
    TABLE,
    TTL,
    arrow_schema,
    at_once,
    claimed,
    committed,
    done,
    edge,
    planned,
    step,
    tried,
)
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import TableName

CURSOR = '{"id": 12834782}'


def everything(catalog: Catalog) -> object:
    """All that a commit can change."""
    return (
        catalog.chunks.page(PIPELINE),
        catalog.chunks.tally(PIPELINE),
        catalog.cursors.all(PIPELINE),
        catalog.schemas.current(TABLE),
        catalog.schemas.log(TABLE),
        catalog.snapshots.revision(TABLE),
        catalog.chunks.version(TABLE),
        catalog.lineage.children(RUN),
    )


def full_commit(based_on: int = 0) -> ChunkCommit:
    return done(rows=7, cursor=CURSOR, schema=step(based_on), edges=(edge(2, 1, EdgeKind.CHUNK),))


class CommitContract(Contract):
    """Everything that becomes true when a chunk is done, at once."""

    def test_a_commit_makes_its_attempt_the_winner(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        attempt = claimed(catalog)
        commit = full_commit()

        catalog.queue.commit(attempt, commit, T0 + MINUTE)

        chunk = catalog.chunks.get(PIPELINE, attempt.chunk)
        assert chunk is not None
        assert (chunk.status, chunk.winning_attempt) == (ChunkStatus.DONE, f"{ANNA}/attempt-1")
        assert (chunk.rows, chunk.bytes, chunk.manifest) == (7, 700, commit.manifest)
        assert (chunk.cursor_committed, chunk.completed_at) == (CURSOR, T0 + MINUTE)
        assert (chunk.holder, chunk.leased_until) == (None, None)
        assert (chunk.run, chunk.attempts, chunk.seq) == (RUN, 1, attempt.seq)
        assert catalog.chunks.tally(PIPELINE) == ChunkTally(done=1, rows=7, bytes=700)

    def test_a_commit_brings_cursor_schema_and_edges(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        attempt = claimed(catalog)

        catalog.queue.commit(attempt, full_commit(), T0 + MINUTE)

        cursor = catalog.cursors.get(PIPELINE, TABLE)
        assert cursor is not None
        assert (cursor.value, cursor.run, cursor.seq) == (CURSOR, RUN, attempt.seq)
        [change] = catalog.schemas.log(TABLE)
        assert (change.version, change.after, change.pipeline) == (1, arrow_schema(1), PIPELINE)
        assert change.at == T0 + MINUTE
        assert catalog.lineage.children(RUN) == (edge(2, 1, EdgeKind.CHUNK),)

    def test_a_commit_without_them_leaves_cursor_and_schema(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        catalog.queue.commit(claimed(catalog), full_commit(), T0)
        cursor, schema = catalog.cursors.all(PIPELINE), catalog.schemas.current(TABLE)

        committed(catalog)

        assert catalog.cursors.all(PIPELINE) == cursor
        assert catalog.schemas.current(TABLE) == schema

    def test_another_stream_is_moved_than_that_of_the_table(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        first, second = claimed(catalog), claimed(catalog)
        eu, us = TableName(f"{TABLE}#region=eu"), TableName(f"{TABLE}#region=us")

        catalog.queue.commit(first, replace(done(cursor="1"), stream=eu), T0)
        catalog.queue.commit(second, replace(done(cursor="2"), stream=us), T0)

        assert [(cursor.table, cursor.value) for cursor in catalog.cursors.all(PIPELINE)] == [
            (eu, "1"),
            (us, "2"),
        ]
        assert catalog.cursors.get(PIPELINE, TABLE) is None

    def test_a_cursor_that_moves_no_stream_is_noted_on_its_chunk_only(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        first, second = claimed(catalog), claimed(catalog)
        catalog.queue.commit(first, done(cursor="1"), T0)
        before = catalog.cursors.all(PIPELINE)

        catalog.queue.commit(second, replace(done(cursor="2"), moves_stream=False), T0)

        chunk = catalog.chunks.get(PIPELINE, second.chunk)
        assert chunk is not None
        assert chunk.cursor_committed == "2"
        assert catalog.cursors.all(PIPELINE) == before

    def test_another_handle_sees_a_commit_at_once(self, catalog: Catalog, opener: Opener) -> None:
        planned(catalog, 1)
        with opener.open() as other:
            catalog.queue.commit(claimed(other), full_commit(), T0)

            assert everything(other) == everything(catalog)
            assert other.chunks.tally(PIPELINE).done == 1

    def test_the_same_commit_twice_is_one(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        attempt = claimed(catalog)
        catalog.queue.commit(attempt, full_commit(), T0)
        before = everything(catalog)

        catalog.queue.commit(attempt, full_commit(), T0 + MINUTE)

        assert everything(catalog) == before

    def test_the_same_commit_twice_is_one_also_when_it_was_superseded(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        attempt = committed(catalog)
        catalog.chunks.supersede(PIPELINE, [attempt.chunk], "rewind", T0)
        before = everything(catalog)

        catalog.queue.commit(attempt, done(), T0)

        assert everything(catalog) == before

    @pytest.mark.spec("HP-125")
    def test_a_late_attempt_commits_as_long_as_nobody_has_the_chunk(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        late = claimed(catalog)

        catalog.queue.commit(late, done(), T0 + HOUR)

        assert catalog.chunks.tally(PIPELINE).done == 1
        assert catalog.queue.claim(PIPELINE, RUN, BEN, T0 + HOUR, ttl=TTL) is None

    @pytest.mark.spec("HP-125")
    @upholds(Invariant.CHUNKS_ONCE)
    def test_a_late_attempt_is_refused_while_a_later_one_works(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        late = claimed(catalog)
        claimed(catalog, at=T0 + TTL, node=BEN)
        before = everything(catalog)

        with pytest.raises(LeaseLost) as raised:
            catalog.queue.commit(late, full_commit(), T0 + TTL)

        assert raised.value.fence == late.number
        assert everything(catalog) == before

    @pytest.mark.spec("HP-125")
    @upholds(Invariant.CHUNKS_ONCE)
    def test_a_late_attempt_is_refused_after_a_later_one_won(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        late = claimed(catalog)
        later = claimed(catalog, at=T0 + TTL, node=BEN)
        catalog.queue.commit(later, done(rows=5), T0 + TTL)
        before = everything(catalog)

        with pytest.raises(LeaseLost):
            catalog.queue.commit(late, full_commit(), T0 + TTL)

        assert everything(catalog) == before

    def test_a_restarted_node_does_not_commit_what_its_former_self_claimed(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        former = claimed(catalog)
        catalog.queue.give_back(former, T0)
        present = claimed(catalog)

        with pytest.raises(LeaseLost):
            catalog.queue.commit(former, done(), T0)
        catalog.queue.commit(present, done(), T0)

        chunk = catalog.chunks.get(PIPELINE, present.chunk)
        assert chunk is not None
        assert chunk.winning_attempt == f"{ANNA}/attempt-2"

    def test_a_commit_on_an_old_schema_changes_nothing(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        attempt = claimed(catalog)
        catalog.schemas.record(step(0), OTHER_PIPELINE, T0)
        before = everything(catalog)

        with pytest.raises(SchemaMoved):
            catalog.queue.commit(attempt, full_commit(based_on=0), T0)
        assert everything(catalog) == before

        catalog.queue.commit(attempt, full_commit(based_on=1), T0)
        assert [change.version for change in catalog.schemas.log(TABLE)] == [1, 2]

    @pytest.mark.spec("HC-103")
    @pytest.mark.parametrize("kind", [CursorKind.OPAQUE_TOKEN, CursorKind.SNAPSHOT_ID])
    def test_a_leased_kind_is_committed_under_its_lease_only(
        self, catalog: Catalog, kind: CursorKind
    ) -> None:
        planned(catalog, 1, kind=kind)
        lost = catalog.leases.acquire(PIPELINE, ANNA, T0, TTL)
        attempt = catalog.queue.claim(PIPELINE, RUN, ANNA, T0, ttl=HOUR, under=lost)
        assert attempt is not None
        held = catalog.leases.acquire(PIPELINE, BEN, T0 + TTL, TTL)
        before = everything(catalog)

        with pytest.raises(LeaseRequired):
            catalog.queue.commit(attempt, full_commit(), T0)
        with pytest.raises(LeaseLost):
            catalog.queue.commit(attempt, full_commit(), T0, under=lost)
        assert everything(catalog) == before

        catalog.queue.commit(attempt, full_commit(), T0, under=held)
        assert catalog.chunks.tally(PIPELINE).done == 1

    def test_the_same_commit_twice_is_one_also_when_the_lease_was_lost_meanwhile(
        self, catalog: Catalog
    ) -> None:
        planned(catalog, 1, kind=CursorKind.OPAQUE_TOKEN)
        lease = catalog.leases.acquire(PIPELINE, ANNA, T0, TTL)
        attempt = catalog.queue.claim(PIPELINE, RUN, ANNA, T0, ttl=HOUR, under=lease)
        assert attempt is not None
        catalog.queue.commit(attempt, full_commit(), T0, under=lease)
        catalog.leases.acquire(PIPELINE, BEN, T0 + TTL, TTL)
        before = everything(catalog)

        catalog.queue.commit(attempt, full_commit(), T0 + TTL, under=lease)

        assert everything(catalog) == before

    def test_the_tally_counts_a_commit_that_was_refused_as_running(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        attempt = claimed(catalog)

        with pytest.raises(SchemaMoved):
            catalog.queue.commit(attempt, full_commit(based_on=3), T0)

        assert catalog.chunks.tally(PIPELINE) == ChunkTally(running=1)

    @pytest.mark.spec("AD-003")
    @upholds(Invariant.CHUNKS_ONCE)
    def test_of_an_old_and_a_new_attempt_at_once_the_new_one_wins(self, catalog: Catalog) -> None:
        planned(catalog, 4)
        for number in range(1, 5):
            old = claimed(catalog, ttl=MINUTE)
            new = claimed(catalog, at=T0 + MINUTE, node=BEN)

            outcomes = at_once(_committing(catalog, old, new))

            assert all(isinstance(outcome, LeaseLost) for outcome in outcomes[::2])
            assert all(outcome is None for outcome in outcomes[1::2])
            assert catalog.chunks.tally(PIPELINE).done == number


def _committing(
    catalog: Catalog, old: ChunkAttempt, new: ChunkAttempt
) -> Callable[[int], CatalogError | None]:
    """Even threads commit the old attempt, odd ones the new."""
    return lambda n: tried(lambda: catalog.queue.commit((old, new)[n % 2], done(), T0))
