"""Tests of `catalog.queue`: several chunks claimed or renewed in one step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkAttempt, ChunkStatus, ChunkTally
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
    OTHER_TABLE,
    PIPELINE,
    RUN,
    SECOND,
    T0,
    TABLE,
    TTL,
    at_once,
    claimed,
    claimed_some,
    done,
    planned,
    planned_in,
    run_id,
)
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import TableName

THIRD_TABLE = TableName("third")


def ids(attempts: tuple[ChunkAttempt, ...]) -> list[int]:
    return [attempt.chunk for attempt in attempts]


class BatchClaimContract(Contract):
    """Taking several chunks, and holding on to them."""

    def test_some_claims_are_claims(self, catalog: Catalog) -> None:
        planned(catalog, 3)
        planned(catalog, 3, OTHER_PIPELINE)
        one_by_one = [claimed(catalog, pipeline=OTHER_PIPELINE) for _ in range(2)]

        attempts = claimed_some(catalog, 2)

        for single, attempt in zip(one_by_one, attempts, strict=True):
            assert attempt == replace(single, pipeline=PIPELINE, nonce=attempt.nonce, seq=attempt.seq)
            chunk = catalog.chunks.get(PIPELINE, attempt.chunk)
            assert chunk is not None
            assert (chunk.status, chunk.holder, chunk.seq) == (ChunkStatus.RUNNING, ANNA, attempt.seq)
        assert catalog.chunks.tally(PIPELINE) == ChunkTally(pending=1, running=2)

    def test_some_claims_have_numbers_in_the_order_of_their_chunks(self, catalog: Catalog) -> None:
        planned(catalog, 12)
        earlier = claimed(catalog)

        attempts = claimed_some(catalog, 10)
        later = claimed(catalog)

        assert ids(attempts) == list(range(2, 12))
        seqs = [attempt.seq for attempt in (earlier, *attempts, later)]
        assert seqs == sorted(set(seqs))
        assert len({attempt.nonce for attempt in attempts}) == 10

    def test_no_more_are_claimed_than_there_are(self, catalog: Catalog) -> None:
        planned(catalog, 2)

        assert ids(claimed_some(catalog, 0)) == []
        assert ids(claimed_some(catalog, 5)) == [1, 2]
        assert ids(claimed_some(catalog, 5)) == []

    def test_a_pipeline_without_chunks_gives_no_some(self, catalog: Catalog) -> None:
        planned(catalog, 0)
        planned(catalog, 3, OTHER_PIPELINE)

        assert claimed_some(catalog, 5) == ()

    def test_chunks_of_one_table_are_claimed_at_a_time(self, catalog: Catalog) -> None:
        planned_in(catalog, TABLE, OTHER_TABLE, TABLE, TABLE, OTHER_TABLE)

        taken = [ids(claimed_some(catalog, 2)) for _ in range(4)]

        assert taken == [[1, 3], [2, 5], [4], []]

    def test_only_chunks_of_the_tables_that_are_named_are_claimed(self, catalog: Catalog) -> None:
        planned_in(catalog, TABLE, OTHER_TABLE, THIRD_TABLE, OTHER_TABLE, THIRD_TABLE)

        def claim(*tables: TableName) -> list[int]:
            attempts = catalog.queue.claim_some(PIPELINE, RUN, ANNA, T0, ttl=TTL, limit=9, tables=tables)
            return ids(attempts)

        assert claim() == []
        assert claim(TableName("unknown")) == []
        assert claim(THIRD_TABLE, OTHER_TABLE) == [2, 4]
        assert claim(THIRD_TABLE, OTHER_TABLE) == [3, 5]
        assert claim(THIRD_TABLE, OTHER_TABLE) == []
        assert claim(TABLE, TABLE) == [1]

    @pytest.mark.spec("HP-122")
    def test_expired_chunks_are_claimed_among_the_pending_ones(self, catalog: Catalog) -> None:
        planned_in(catalog, OTHER_TABLE, TABLE, TABLE, TABLE, TABLE)
        dead = claimed(catalog, ttl=SECOND)
        catalog.queue.claim_some(PIPELINE, RUN, ANNA, T0, ttl=SECOND, limit=1, tables=[TABLE])
        lasting = claimed(catalog, ttl=HOUR)
        assert (dead.chunk, lasting.chunk) == (1, 3)

        def claim(tables: list[TableName] | None) -> list[tuple[int, int]]:
            attempts = catalog.queue.claim_some(
                PIPELINE, run_id(2), BEN, T0 + SECOND, ttl=TTL, limit=2, tables=tables
            )
            return [(attempt.chunk, attempt.number) for attempt in attempts]

        assert claim([TABLE]) == [(2, 2), (4, 1)]
        assert claim(None) == [(1, 2)]
        assert claim(None) == [(5, 1)]

    @pytest.mark.spec("HP-129")
    def test_no_more_are_claimed_than_the_parallelism_leaves(self, catalog: Catalog) -> None:
        planned(catalog, 9)

        def claim(parallelism: int, limit: int = 9) -> list[int]:
            return ids(
                catalog.queue.claim_some(
                    PIPELINE, RUN, ANNA, T0, ttl=TTL, limit=limit, parallelism=parallelism
                )
            )

        assert claim(3, limit=2) == [1, 2]
        assert claim(3) == [3]
        assert claim(3) == []
        assert claim(1) == []
        assert claim(5) == [4, 5]

    @pytest.mark.spec("HP-129")
    @upholds(Invariant.CHUNKS_ONCE)
    def test_many_who_claim_some_at_once_share_what_the_parallelism_leaves(
        self, catalog: Catalog, opener: Opener
    ) -> None:
        planned(catalog, 40)
        with opener.open() as other:
            handles = (catalog, other)
            taken = at_once(
                lambda n: handles[n % 2].queue.claim_some(
                    PIPELINE, RUN, ANNA, T0, ttl=TTL, limit=4, parallelism=14
                )
            )

        assert sorted(chunk for some in taken for chunk in ids(some)) == list(range(1, 15))
        assert sorted(map(len, taken)) == [0, 0, 0, 0, 2, 4, 4, 4]

    @pytest.mark.spec("HC-103")
    def test_some_chunks_of_a_leased_kind_are_claimed_under_the_lease_only(self, catalog: Catalog) -> None:
        planned(catalog, 2, kind=CursorKind.OPAQUE_TOKEN)
        lost = catalog.leases.acquire(PIPELINE, ANNA, T0, TTL)
        held = catalog.leases.acquire(PIPELINE, BEN, T0 + TTL, TTL)

        with pytest.raises(LeaseRequired):
            claimed_some(catalog, 2)
        with pytest.raises(LeaseLost):
            catalog.queue.claim_some(PIPELINE, RUN, ANNA, T0, ttl=TTL, limit=2, under=lost)
        assert catalog.chunks.tally(PIPELINE) == ChunkTally(pending=2)
        attempts = catalog.queue.claim_some(PIPELINE, RUN, BEN, T0, ttl=TTL, limit=2, under=held)
        assert ids(attempts) == [1, 2]

    def test_the_time_of_some_claims_does_not_go_back(self, catalog: Catalog) -> None:
        planned(catalog, 3)
        claimed(catalog)

        attempts = catalog.queue.claim_some(PIPELINE, RUN, ANNA, T0 - HOUR, ttl=TTL, limit=2)

        assert [attempt.claimed_at for attempt in attempts] == [T0, T0]
        assert [attempt.leased_until for attempt in attempts] == [T0 - HOUR + TTL] * 2

    def test_those_that_are_still_held_are_renewed(self, catalog: Catalog) -> None:
        planned(catalog, 4)
        planned(catalog, 1, OTHER_PIPELINE)
        elsewhere = claimed(catalog, pipeline=OTHER_PIPELINE)
        first, second, third, fourth = claimed_some(catalog, 4)
        catalog.queue.give_back(second, T0)
        again = claimed(catalog, node=BEN)
        catalog.queue.commit(third, done(), T0)

        renewed = catalog.queue.renew_some([fourth, second, elsewhere, third, first], T0 + MINUTE, TTL)

        until = T0 + MINUTE + TTL
        assert renewed == tuple(replace(each, leased_until=until) for each in (fourth, elsewhere, first))
        chunks = {chunk.chunk: chunk.leased_until for chunk in catalog.chunks.page(PIPELINE)}
        assert chunks == {1: until, 2: again.leased_until, 3: None, 4: until}
        assert catalog.queue.renew_some([], T0, TTL) == ()

    def test_renewing_some_never_shortens_a_lease(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        attempts = claimed_some(catalog, 2)

        assert catalog.queue.renew_some(attempts, T0 - HOUR, TTL) == attempts
