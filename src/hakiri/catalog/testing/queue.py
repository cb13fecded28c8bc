"""Tests of `catalog.queue`: claims and leases of chunks."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkError, ChunkStatus, ChunkTally
from hakiri.catalog.contract.upkeep import Invariant
from hakiri.catalog.errors import LeaseLost, LeaseRequired
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
    SECOND,
    T0,
    TABLE,
    TICK,
    TTL,
    at_once,
    claimed,
    committed,
    done,
    planned,
    run_id,
)
from hakiri.catalog.testing.vandal import Vandal, refuses_all
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId


class ClaimContract(Contract):
    """Taking chunks, holding on to them, giving them back."""

    @pytest.mark.spec("HP-117")
    @pytest.mark.spec("HP-127")
    def test_a_claim_takes_the_chunk_with_holder_lease_and_attempt(self, catalog: Catalog) -> None:
        planned(catalog, 2)

        attempt = claimed(catalog)

        assert (attempt.pipeline, attempt.chunk, attempt.table) == (PIPELINE, 1, TABLE)
        assert attempt.predicate == '{"part": 1}'
        assert (attempt.run, attempt.node, attempt.number) == (RUN, ANNA, 1)
        assert (attempt.claimed_at, attempt.leased_until) == (T0, T0 + TTL)
        assert attempt.place == f"{ANNA}/attempt-1"
        chunk = catalog.chunks.get(PIPELINE, attempt.chunk)
        assert chunk is not None
        assert (chunk.status, chunk.holder, chunk.leased_until) == (ChunkStatus.RUNNING, ANNA, T0 + TTL)
        assert (chunk.run, chunk.attempts, chunk.seq, chunk.started_at) == (RUN, 1, attempt.seq, T0)

    @pytest.mark.spec("HP-127")
    def test_claims_take_the_lowest_pending_id_until_there_is_none(self, catalog: Catalog) -> None:
        planned(catalog, 4)
        catalog.chunks.skip(PIPELINE, [ChunkId(2)], T0)
        catalog.queue.give_back(claimed(catalog), T0)

        taken = [claimed(catalog).chunk for _ in range(3)]

        assert taken == [1, 3, 4]
        assert catalog.queue.claim(PIPELINE, RUN, ANNA, T0, ttl=TTL) is None

    def test_a_pipeline_without_chunks_gives_none(self, catalog: Catalog) -> None:
        planned(catalog, 0)
        planned(catalog, 3, OTHER_PIPELINE)

        assert catalog.queue.claim(PIPELINE, RUN, ANNA, T0, ttl=TTL) is None

    @pytest.mark.spec("HP-122")
    @pytest.mark.spec("AD-019")
    @upholds(Invariant.CHUNKS_ONCE)
    def test_a_chunk_is_claimed_again_when_its_lease_is_over_and_not_a_tick_before(
        self, catalog: Catalog
    ) -> None:
        planned(catalog, 1)
        dead = claimed(catalog)

        early = catalog.queue.claim(PIPELINE, run_id(2), BEN, dead.leased_until - TICK, ttl=TTL)
        again = catalog.queue.claim(PIPELINE, run_id(2), BEN, dead.leased_until, ttl=TTL)

        assert early is None
        assert again is not None
        assert (again.chunk, again.number, again.node, again.run) == (1, 2, BEN, run_id(2))
        assert again.seq > dead.seq
        assert again.nonce != dead.nonce
        assert again.place == f"{BEN}/attempt-2"

    @pytest.mark.spec("HP-122")
    def test_an_expired_chunk_comes_before_pending_ones_with_higher_ids(self, catalog: Catalog) -> None:
        planned(catalog, 3)
        claimed(catalog, ttl=SECOND)
        claimed(catalog, ttl=HOUR)

        taken = [claimed(catalog, at=T0 + SECOND) for _ in range(2)]

        assert [(attempt.chunk, attempt.number) for attempt in taken] == [(1, 2), (3, 1)]

    @pytest.mark.spec("HP-129")
    def test_no_more_chunks_are_worked_on_than_the_parallelism_allows(self, catalog: Catalog) -> None:
        planned(catalog, 5)

        def claim(parallelism: int | None, now: datetime = T0) -> int | None:
            attempt = catalog.queue.claim(PIPELINE, RUN, ANNA, now, ttl=TTL, parallelism=parallelism)
            return attempt.chunk if attempt else None

        assert [claim(2), claim(2), claim(2)] == [1, 2, None]
        assert claim(3) == 3
        assert claim(None) == 4
        assert claim(4) is None

    @pytest.mark.spec("HP-129")
    def test_holders_whose_lease_is_over_do_not_count(self, catalog: Catalog) -> None:
        planned(catalog, 4)
        claimed(catalog)
        claimed(catalog, ttl=HOUR)

        def claim(now: datetime) -> int | None:
            attempt = catalog.queue.claim(PIPELINE, RUN, BEN, now, ttl=HOUR, parallelism=2)
            return attempt.chunk if attempt else None

        assert claim(T0 + TTL - TICK) is None
        assert claim(T0 + TTL) == 1
        assert claim(T0 + TTL) is None

    @pytest.mark.spec("HP-129")
    @upholds(Invariant.CHUNKS_ONCE)
    def test_many_at_once_do_not_get_past_the_parallelism(self, catalog: Catalog, opener: Opener) -> None:
        planned(catalog, 20)
        with opener.open() as other:
            handles = (catalog, other)
            taken = at_once(
                lambda n: handles[n % 2].queue.claim(PIPELINE, RUN, ANNA, T0, ttl=TTL, parallelism=3)
            )

        assert sorted(attempt.chunk for attempt in taken if attempt) == [1, 2, 3]
        assert catalog.chunks.tally(PIPELINE).running == 3

    @pytest.mark.spec("HC-103")
    @pytest.mark.parametrize("kind", [CursorKind.OPAQUE_TOKEN, CursorKind.SNAPSHOT_ID])
    def test_chunks_of_a_leased_kind_are_claimed_under_the_lease_only(
        self, catalog: Catalog, kind: CursorKind
    ) -> None:
        planned(catalog, 1, kind=kind)
        lost = catalog.leases.acquire(PIPELINE, ANNA, T0, TTL)
        held = catalog.leases.acquire(PIPELINE, BEN, T0 + TTL, TTL)

        with pytest.raises(LeaseRequired):
            catalog.queue.claim(PIPELINE, RUN, BEN, T0, ttl=TTL)
        with pytest.raises(LeaseLost):
            catalog.queue.claim(PIPELINE, RUN, ANNA, T0, ttl=TTL, under=lost)
        assert catalog.chunks.tally(PIPELINE) == ChunkTally(pending=1)
        assert catalog.queue.claim(PIPELINE, RUN, BEN, T0, ttl=TTL, under=held) is not None

    def test_the_time_of_claims_does_not_go_back_when_a_clock_does(self, catalog: Catalog) -> None:
        planned(catalog, 3)

        attempts = [claimed(catalog, at=T0 + ahead) for ahead in (timedelta(), -HOUR, MINUTE)]

        assert [attempt.claimed_at for attempt in attempts] == [T0, T0, T0 + MINUTE]
        assert attempts[1].leased_until == T0 - HOUR + TTL

    def test_the_number_of_claims_grows_over_all_pipelines(self, catalog: Catalog) -> None:
        planned(catalog, 3)
        planned(catalog, 3, OTHER_PIPELINE)
        pipelines = (PIPELINE, OTHER_PIPELINE, OTHER_PIPELINE, PIPELINE)

        seqs = [claimed(catalog, pipeline=pipeline, at=T0 - HOUR).seq for pipeline in pipelines]

        assert seqs == sorted(set(seqs))

    def test_the_number_of_claims_grows_over_all_handles(self, catalog: Catalog, opener: Opener) -> None:
        planned(catalog, 4)
        with opener.open() as other:
            seqs = [claimed(handle).seq for handle in (catalog, other, other, catalog)]

        assert seqs == sorted(set(seqs))

    def test_a_renewed_chunk_is_held_longer(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        attempt = claimed(catalog)

        renewed = catalog.queue.renew(attempt, T0 + MINUTE, TTL)

        assert renewed == replace(attempt, leased_until=T0 + MINUTE + TTL)
        assert catalog.queue.claim(PIPELINE, RUN, BEN, attempt.leased_until, ttl=TTL) is None
        assert catalog.queue.claim(PIPELINE, RUN, BEN, renewed.leased_until, ttl=TTL) is not None

    def test_renewing_never_shortens_the_lease_of_a_chunk(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        attempt = claimed(catalog)

        assert catalog.queue.renew(attempt, T0 - HOUR, TTL) == attempt

    def test_an_expired_chunk_that_nobody_took_is_renewed(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        attempt = claimed(catalog)

        assert catalog.queue.renew(attempt, T0 + HOUR, TTL).leased_until == T0 + HOUR + TTL

    def test_a_chunk_that_a_later_attempt_has_is_not_renewed(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        lost = claimed(catalog)
        later = claimed(catalog, at=T0 + TTL, node=BEN)

        with pytest.raises(LeaseLost) as raised:
            catalog.queue.renew(lost, T0 + TTL, TTL)

        assert raised.value.fence == lost.number
        chunk = catalog.chunks.get(PIPELINE, later.chunk)
        assert chunk is not None
        assert (chunk.holder, chunk.leased_until) == (BEN, later.leased_until)

    def test_a_chunk_that_is_done_is_not_renewed(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        attempt = committed(catalog)

        with pytest.raises(LeaseLost):
            catalog.queue.renew(attempt, T0, TTL)

    def test_a_chunk_given_back_is_pending_again(self, catalog: Catalog) -> None:
        planned(catalog, 2)

        catalog.queue.give_back(claimed(catalog), T0, ChunkError(kind="Timeout", message="after 30 s"))

        chunk = catalog.chunks.get(PIPELINE, ChunkId(1))
        assert chunk is not None
        assert (chunk.status, chunk.holder, chunk.leased_until) == (ChunkStatus.PENDING, None, None)
        assert (chunk.error_kind, chunk.error_message) == ("Timeout", "after 30 s")
        again = claimed(catalog, node=BEN)
        assert (again.chunk, again.number) == (1, 2)

    def test_a_chunk_that_failed_waits_until_someone_decides(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        catalog.queue.give_back(claimed(catalog), T0, retry=False)

        assert catalog.queue.claim(PIPELINE, RUN, BEN, T0 + HOUR, ttl=TTL) is None
        catalog.chunks.reopen(PIPELINE, [ChunkId(1)], T0)
        assert claimed(catalog, node=BEN).number == 2

    @pytest.mark.parametrize("retry", [True, False])
    def test_giving_back_what_was_lost_changes_nothing(self, catalog: Catalog, *, retry: bool) -> None:
        planned(catalog, 2)
        lost = claimed(catalog)
        claimed(catalog, at=T0 + TTL, node=BEN)
        won = committed(catalog)
        before = catalog.chunks.page(PIPELINE)

        for attempt in (lost, won):
            catalog.queue.give_back(attempt, T0, ChunkError(kind="Late", message=""), retry=retry)

        assert catalog.chunks.page(PIPELINE) == before

    def test_a_chunk_given_back_is_lost(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        attempt = claimed(catalog)
        catalog.queue.give_back(attempt, T0)

        with pytest.raises(LeaseLost):
            catalog.queue.renew(attempt, T0, TTL)
        with pytest.raises(LeaseLost):
            catalog.queue.commit(attempt, done(), T0)

        assert catalog.chunks.tally(PIPELINE) == ChunkTally(pending=1)

    @pytest.mark.spec("AD-003")
    @upholds(Invariant.CHUNKS_ONCE)
    def test_of_many_who_claim_one_chunk_at_once_one_gets_it(self, catalog: Catalog, opener: Opener) -> None:
        planned(catalog, 1)
        with opener.open() as other:
            handles = (catalog, other)

            def race(now: datetime) -> list[int]:
                taken = at_once(lambda n: handles[n % 2].queue.claim(PIPELINE, RUN, ANNA, now, ttl=TTL))
                return [attempt.number for attempt in taken if attempt]

            numbers = [race(T0 + number * TTL) for number in range(4)]

        assert numbers == [[1], [2], [3], [4]]

    @pytest.mark.spec("AD-003")
    @upholds(Invariant.CHUNKS_ONCE)
    def test_many_at_once_share_the_chunks_without_a_double(self, catalog: Catalog, opener: Opener) -> None:
        planned(catalog, 40)
        with opener.open() as other:
            handles = (catalog, other)
            taken = at_once(lambda n: [claimed(handles[n % 2]) for _ in range(5)])

        attempts = [attempt for some in taken for attempt in some]
        assert sorted(attempt.chunk for attempt in attempts) == list(range(1, 41))
        assert len({attempt.seq for attempt in attempts}) == 40
        for some in taken:
            assert [attempt.chunk for attempt in some] == sorted(attempt.chunk for attempt in some)

    @pytest.mark.spec("AD-003")
    @upholds(Invariant.CHUNKS_ONCE)
    def test_the_store_gives_no_chunk_to_two(self, catalog: Catalog, vandal: Vandal) -> None:
        planned(catalog, 2)
        won, running = committed(catalog), claimed(catalog)

        refuses_all(
            [
                lambda: vandal.claim_twice(running, BEN),
                lambda: vandal.claim_early(running, BEN),
                lambda: vandal.delete_chunk(running),
                lambda: vandal.change_winner(won, BEN),
                lambda: vandal.undo_chunk(won),
                lambda: vandal.delete_chunk(won),
            ],
            lambda: (catalog.chunks.page(PIPELINE), catalog.chunks.tally(PIPELINE)),
        )
