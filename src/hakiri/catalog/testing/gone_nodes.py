"""Tests of what nodes leave behind that are gone: runs, chunks and leases."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.chunks import ChunkStatus
from hakiri.catalog.contract.runs import Run, RunStatus
from hakiri.catalog.errors import LeaseLost
from hakiri.catalog.testing.base import Contract
from hakiri.catalog.testing.samples import (
    ANNA,
    BEN,
    HOUR,
    MINUTE,
    OTHER_PIPELINE,
    PIPELINE,
    RUN,
    SUCCESS,
    T0,
    TICK,
    TTL,
    claimed,
    claimed_some,
    done,
    ended_run,
    planned,
    run_id,
)
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import NodeId


def started(
    catalog: Catalog, number: int = 1, node: NodeId = ANNA, *, kind: CursorKind = CursorKind.MONOTONIC
) -> Run:
    catalog.pipelines.declare(PIPELINE, kind, T0)
    return catalog.runs.start(run_id(number), PIPELINE, node, T0, ttl=TTL).run


class AbandonedRunContract(Contract):
    """Runs that nobody seems to work on any more."""

    def test_a_run_is_abandoned_when_it_is_running_for_longer_than_the_ttl(self, catalog: Catalog) -> None:
        run = started(catalog)
        started(catalog, 2)
        catalog.runs.end(run_id(2), SUCCESS, T0)

        def abandoned(after: timedelta) -> tuple[Run, ...]:
            return catalog.runs.abandoned(PIPELINE, T0 + after, ttl=TTL)

        assert [abandoned(after) for after in (timedelta(), TTL, TTL + TICK)] == [(), (), (run,)]
        assert catalog.runs.abandoned(OTHER_PIPELINE, T0 + HOUR, ttl=TTL) == ()

    def test_a_run_that_holds_a_chunk_is_not_abandoned(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        run = started(catalog)
        other = started(catalog, 2)
        attempt = claimed(catalog, at=T0 + HOUR)

        assert catalog.runs.abandoned(PIPELINE, T0 + HOUR, ttl=TTL) == (other,)
        assert catalog.runs.abandoned(PIPELINE, attempt.leased_until - TICK, ttl=TTL) == (other,)
        assert catalog.runs.abandoned(PIPELINE, attempt.leased_until, ttl=TTL) == (run, other)

    def test_a_run_whose_chunks_are_done_or_given_back_is_abandoned(self, catalog: Catalog) -> None:
        planned(catalog, 2)
        run = started(catalog)
        first, second = claimed_some(catalog, 2)
        catalog.queue.commit(first, done(), T0)
        catalog.queue.give_back(second, T0)

        assert catalog.runs.abandoned(PIPELINE, T0 + MINUTE, ttl=MINUTE / 2) == (run,)

    def test_a_run_that_holds_the_lease_is_not_abandoned(self, catalog: Catalog) -> None:
        run = started(catalog, kind=CursorKind.OPAQUE_TOKEN)
        lease = catalog.leases.current(PIPELINE)
        assert lease is not None
        renewed = catalog.leases.renew(lease, T0 + HOUR, TTL)

        assert catalog.runs.abandoned(PIPELINE, T0 + HOUR, ttl=TTL) == ()
        assert catalog.runs.abandoned(PIPELINE, renewed.expires_at, ttl=TTL) == (run,)
        catalog.leases.release(renewed)
        assert catalog.runs.abandoned(PIPELINE, T0 + HOUR, ttl=TTL) == (run,)

    def test_a_run_is_abandoned_when_another_of_its_node_has_the_lease(self, catalog: Catalog) -> None:
        dead = started(catalog, kind=CursorKind.OPAQUE_TOKEN)

        later = catalog.runs.start(run_id(2), PIPELINE, ANNA, T0 + TTL, ttl=HOUR)

        assert later.lease is not None
        assert catalog.runs.abandoned(PIPELINE, T0 + TTL + MINUTE, ttl=MINUTE / 2) == (dead,)

    def test_a_lease_that_was_acquired_apart_from_a_run_is_held_by_every_run_of_its_node(
        self, catalog: Catalog
    ) -> None:
        mine = started(catalog)
        theirs = catalog.runs.start(run_id(2), PIPELINE, BEN, T0, ttl=TTL).run
        catalog.leases.acquire(PIPELINE, BEN, T0, 2 * HOUR)

        assert catalog.runs.abandoned(PIPELINE, T0 + HOUR, ttl=TTL) == (mine,)
        assert catalog.runs.abandoned(PIPELINE, T0 + 2 * HOUR, ttl=TTL) == (mine, theirs)

    def test_a_run_of_another_replica_keeps_nobody_here_waiting_and_is_ended_by_that_replica(
        self, catalog: Catalog
    ) -> None:
        ended = ended_run(1)
        theirs = replace(ended, status=RunStatus.RUNNING, ended_at=None, rows=None, bytes=None)
        catalog.runs.adopt(theirs, T0)

        assert catalog.runs.abandoned(theirs.pipeline, theirs.started_at + TTL, ttl=TTL) == ()
        assert catalog.runs.abandoned(theirs.pipeline, theirs.started_at + HOUR, ttl=TTL) == (theirs,)

        assert catalog.runs.adopt(ended, T0)
        assert catalog.runs.abandoned(theirs.pipeline, theirs.started_at + HOUR, ttl=TTL) == ()
        assert catalog.runs.get(ended.run) == ended

    def test_looking_for_abandoned_runs_changes_nothing(self, catalog: Catalog) -> None:
        started(catalog)
        before = catalog.runs.latest()

        catalog.runs.abandoned(PIPELINE, T0 + HOUR, ttl=TTL)

        assert catalog.runs.latest() == before


class ReleaseContract(Contract):
    """Taking at once what a node held that is known to be gone."""

    @pytest.mark.spec("HP-122")
    def test_chunks_of_a_node_that_is_gone_are_claimed_at_once(self, catalog: Catalog) -> None:
        planned(catalog, 4)
        gone, stays = started(catalog), started(catalog, 2, BEN)
        lost = claimed(catalog)
        kept = claimed(catalog, node=BEN, run=stays.run)
        won = claimed(catalog)
        catalog.queue.commit(won, done(), T0)

        assert catalog.queue.release_node(ANNA, T0 + MINUTE) == (gone.run,)

        statuses = [chunk.status for chunk in catalog.chunks.page(PIPELINE)]
        assert statuses[:3] == [ChunkStatus.PENDING, ChunkStatus.RUNNING, ChunkStatus.DONE]
        again = claimed(catalog, node=BEN, run=stays.run)
        assert (again.chunk, again.number) == (lost.chunk, 2)
        assert catalog.queue.renew(kept, T0 + MINUTE, TTL).chunk == kept.chunk

    def test_a_node_that_was_not_gone_after_all_loses_its_attempts(self, catalog: Catalog) -> None:
        planned(catalog, 1)
        started(catalog)
        attempt = claimed(catalog)

        catalog.queue.release_node(ANNA, T0)

        with pytest.raises(LeaseLost):
            catalog.queue.commit(attempt, done(), T0)

    def test_the_lease_of_a_node_that_is_gone_is_taken_at_once(self, catalog: Catalog) -> None:
        started(catalog, kind=CursorKind.OPAQUE_TOKEN)
        held = catalog.leases.current(PIPELINE)
        assert held is not None

        assert catalog.queue.release_node(BEN, T0) == ()
        assert catalog.leases.acquire(PIPELINE, BEN, T0, TTL) is None
        catalog.queue.release_node(ANNA, T0)

        taken = catalog.leases.acquire(PIPELINE, BEN, T0, TTL)
        assert taken is not None
        assert taken.fence == held.fence + 1
        with pytest.raises(LeaseLost):
            catalog.leases.renew(held, T0, TTL)

    def test_all_pipelines_in_which_it_left_a_run_open_are_freed(self, catalog: Catalog) -> None:
        for number, pipeline in enumerate((PIPELINE, OTHER_PIPELINE), start=1):
            planned(catalog, 1, pipeline)
            catalog.runs.start(run_id(number), pipeline, ANNA, T0, ttl=TTL)
            claimed(catalog, pipeline=pipeline)
        catalog.runs.start(run_id(3), PIPELINE, ANNA, T0, ttl=TTL)
        catalog.runs.end(run_id(3), SUCCESS, T0)

        assert catalog.queue.release_node(ANNA, T0) == (run_id(1), run_id(2))
        assert [catalog.chunks.tally(pipeline).pending for pipeline in (PIPELINE, OTHER_PIPELINE)] == [1, 1]

    def test_its_runs_are_left_for_the_caller_to_end(self, catalog: Catalog) -> None:
        run = started(catalog)

        catalog.queue.release_node(ANNA, T0)

        assert catalog.runs.get(RUN) == run
