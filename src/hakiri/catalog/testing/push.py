"""Tests of `catalog.push`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

import pytest

from hakiri.catalog.contract import Catalog
from hakiri.catalog.contract.push import (
    Answer,
    Change,
    ChangeKey,
    PushBatch,
    PushState,
    PushTally,
    QueuedChange,
    Route,
    Verdict,
)
from hakiri.catalog.errors import AnswerMissing, LeaseLost, UnstorableText
from hakiri.catalog.testing.base import Contract, Opener
from hakiri.catalog.testing.samples import ANNA, BEN, HOUR, MINUTE, T0, TICK, TTL, at_once
from hakiri.core.ids import NodeId, SnapshotId

ROUTE = Route(sink="crm", model="customers")
OTHER_ROUTE = Route(sink="crm", model="orders")
PRE, POST = "update_preimage", "update_postimage"


def change(row: int, change_type: str = "insert", *, snapshot: int = 1, payload: str = "") -> Change:
    return Change(
        key=ChangeKey(row, change_type),
        snapshot=SnapshotId(f"snapshot {snapshot}"),
        payload=payload or f'{{"row":  {row}, "name": "ü"}}',
    )


def taken(
    catalog: Catalog, *, limit: int = 100, node: NodeId = ANNA, at: datetime = T0, route: Route = ROUTE
) -> PushBatch:
    batch = catalog.push.claim(route, node, at, limit=limit, ttl=TTL)
    assert batch is not None
    return batch


def answers(batch: PushBatch, verdict: Verdict = Verdict.OK) -> dict[ChangeKey, Answer]:
    return {each.key: Answer(verdict=verdict, message=f"said {verdict}") for each in batch.changes}


def queued(catalog: Catalog, state: PushState) -> list[Change]:
    return [each.change for each in catalog.push.page(ROUTE, state)]


def counted(catalog: Catalog, delivered: int) -> PushTally:
    """The tally by counting every change that is queued."""
    counts = {state.value: len(catalog.push.page(ROUTE, state)) for state in PushState}
    return PushTally(**counts, delivered=delivered)


def rows(changes: Iterable[Change]) -> list[int]:
    return [each.key.row for each in changes]


class PushContract(Contract):
    """Changes on their way to an outside API."""

    def test_queued_changes_wait(self, catalog: Catalog) -> None:
        changes = [change(2), change(1), change(1, "delete")]

        assert catalog.push.enqueue(ROUTE, iter(changes), T0) == 3

        assert catalog.push.page(ROUTE, PushState.PENDING) == tuple(
            QueuedChange(change=each, state=PushState.PENDING, attempts=0, message=None, updated_at=T0)
            for each in (change(1, "delete"), change(1), change(2))
        )
        assert catalog.push.tally(ROUTE) == PushTally(pending=3)
        assert catalog.push.tally(OTHER_ROUTE) == PushTally()

    def test_a_change_that_waits_is_replaced_by_a_newer_one(self, catalog: Catalog) -> None:
        catalog.push.enqueue(ROUTE, [change(1), change(2)], T0)
        newer = change(1, snapshot=2, payload="newer")

        assert catalog.push.enqueue(ROUTE, [newer], T0) == 1

        assert queued(catalog, PushState.PENDING) == [newer, change(2)]
        assert catalog.push.tally(ROUTE) == counted(catalog, 0) == PushTally(pending=2)

    def test_a_change_that_was_delivered_is_left_out(self, catalog: Catalog) -> None:
        catalog.push.enqueue(ROUTE, [change(1)], T0)
        batch = taken(catalog)
        catalog.push.settle(batch, answers(batch), T0)

        assert catalog.push.enqueue(ROUTE, [change(1), change(1, snapshot=2), change(2)], T0) == 2

        assert queued(catalog, PushState.PENDING) == [change(1, snapshot=2), change(2)]

    def test_no_changes_are_none(self, catalog: Catalog) -> None:
        assert catalog.push.enqueue(ROUTE, [], T0) == 0
        assert catalog.push.claim(ROUTE, ANNA, T0, limit=10, ttl=TTL) is None

    def test_changes_are_queued_all_or_none(self, catalog: Catalog) -> None:
        with pytest.raises(UnstorableText):
            catalog.push.enqueue(ROUTE, [change(1), change(2, payload="\0")], T0)

        assert catalog.push.tally(ROUTE) == counted(catalog, 0) == PushTally()

    def test_a_batch_takes_those_who_wait_longest(self, catalog: Catalog) -> None:
        catalog.push.enqueue(ROUTE, [change(9), change(3)], T0)
        catalog.push.enqueue(ROUTE, [change(1)], T0 - HOUR)

        batch = taken(catalog, limit=2)

        assert batch.changes == (change(9), change(3))
        assert (batch.route, batch.node, batch.leased_until) == (ROUTE, ANNA, T0 + TTL)
        assert batch.job is None
        assert catalog.push.tally(ROUTE) == counted(catalog, 0) == PushTally(pending=1, in_flight=2)
        assert [each.attempts for each in catalog.push.page(ROUTE, PushState.IN_FLIGHT)] == [1, 1]
        assert rows(taken(catalog, node=BEN).changes) == [1]
        assert catalog.push.claim(ROUTE, BEN, T0, limit=2, ttl=TTL) is None

    def test_routes_have_queues_of_their_own(self, catalog: Catalog) -> None:
        catalog.push.enqueue(ROUTE, [change(1)], T0)
        catalog.push.enqueue(OTHER_ROUTE, [change(1, payload="other")], T0)

        assert taken(catalog, route=OTHER_ROUTE).changes == (change(1, payload="other"),)
        assert catalog.push.tally(ROUTE) == PushTally(pending=1)

    @pytest.mark.parametrize("limit", [2, 3, 5])
    def test_both_images_of_an_update_go_in_one_batch(self, catalog: Catalog, limit: int) -> None:
        updates = [change(row, kind) for row in (1, 2, 3) for kind in (PRE, POST)]
        catalog.push.enqueue(ROUTE, [change(7), *updates, change(8)], T0)

        batches = []
        while batch := catalog.push.claim(ROUTE, ANNA, T0, limit=limit, ttl=TTL):
            assert 1 <= len(batch.changes) <= limit
            batches.append(batch.changes)

        for changes in batches:
            kinds = {(each.key.row, each.key.change_type) for each in changes}
            assert {row for row, kind in kinds if kind == PRE} == {row for row, kind in kinds if kind == POST}
        assert sorted(rows(each for changes in batches for each in changes)) == [1, 1, 2, 2, 3, 3, 7, 8]

    def test_a_batch_of_one_takes_one_image(self, catalog: Catalog) -> None:
        catalog.push.enqueue(ROUTE, [change(1, PRE), change(1, POST)], T0)

        assert len(taken(catalog, limit=1).changes) == 1

    def test_a_batch_whose_lease_ran_out_is_taken_as_it_was(self, catalog: Catalog) -> None:
        catalog.push.enqueue(ROUTE, [change(1), change(2), change(3)], T0)
        dead = catalog.push.note_job(taken(catalog, limit=2), "job-17", T0, TTL)

        early = taken(catalog, node=BEN, at=dead.leased_until - TICK)
        late = taken(catalog, node=BEN, at=dead.leased_until, limit=1)

        assert rows(early.changes) == [3]
        assert late == replace(
            dead, node=BEN, fence=late.fence, leased_until=dead.leased_until + TTL, job="job-17"
        )
        assert late.fence > dead.fence

    def test_a_job_is_kept_with_a_longer_lease(self, catalog: Catalog) -> None:
        catalog.push.enqueue(ROUTE, [change(1)], T0)
        batch = taken(catalog)

        noted = catalog.push.note_job(batch, "job-17", T0 + MINUTE, TTL)

        assert noted == replace(batch, job="job-17", leased_until=T0 + MINUTE + TTL)
        assert catalog.push.claim(ROUTE, BEN, batch.leased_until, limit=9, ttl=TTL) is None

    def test_a_batch_that_another_took_over_is_lost(self, catalog: Catalog) -> None:
        catalog.push.enqueue(ROUTE, [change(1)], T0)
        lost = taken(catalog)
        late = taken(catalog, node=ANNA, at=T0 + TTL)

        with pytest.raises(LeaseLost):
            catalog.push.note_job(lost, "job-17", T0, TTL)
        with pytest.raises(LeaseLost):
            catalog.push.settle(lost, answers(lost), T0)
        assert catalog.push.tally(ROUTE) == counted(catalog, 0) == PushTally(in_flight=1)

        catalog.push.settle(late, answers(late), T0)
        with pytest.raises(LeaseLost):
            catalog.push.settle(lost, answers(lost, Verdict.ERROR), T0)
        assert catalog.push.tally(ROUTE) == PushTally(delivered=1)

    @pytest.mark.parametrize("verdict", [Verdict.OK, Verdict.WARN])
    def test_delivered_changes_are_noted_and_leave(self, catalog: Catalog, verdict: Verdict) -> None:
        catalog.push.enqueue(ROUTE, [change(1)], T0)
        assert not catalog.push.was_delivered(ROUTE, change(1))
        batch = taken(catalog)

        catalog.push.settle(batch, answers(batch, verdict), T0)

        assert catalog.push.was_delivered(ROUTE, change(1))
        assert not catalog.push.was_delivered(ROUTE, change(1, snapshot=2))
        assert not catalog.push.was_delivered(ROUTE, change(1, "delete"))
        assert not catalog.push.was_delivered(OTHER_ROUTE, change(1))
        assert catalog.push.tally(ROUTE) == counted(catalog, 1) == PushTally(delivered=1)

    def test_changes_with_an_error_wait_again(self, catalog: Catalog) -> None:
        catalog.push.enqueue(ROUTE, [change(1)], T0)
        batch = taken(catalog)

        catalog.push.settle(batch, answers(batch, Verdict.ERROR), T0 + MINUTE)

        [waiting] = catalog.push.page(ROUTE, PushState.PENDING)
        assert (waiting.change, waiting.attempts, waiting.message) == (change(1), 1, "said error")
        assert waiting.updated_at == T0 + MINUTE
        again = taken(catalog, node=BEN)
        assert again.changes == batch.changes
        assert again.batch != batch.batch

    def test_rejected_changes_stay_aside_until_they_are_replayed(self, catalog: Catalog) -> None:
        catalog.push.enqueue(ROUTE, [change(1)], T0)
        batch = taken(catalog)
        catalog.push.settle(batch, answers(batch, Verdict.REJECT), T0)

        assert catalog.push.claim(ROUTE, ANNA, T0 + HOUR, limit=9, ttl=TTL) is None
        [rejected] = catalog.push.page(ROUTE, PushState.REJECTED)
        assert (rejected.change, rejected.message) == (change(1), "said reject")
        assert catalog.push.tally(ROUTE) == PushTally(rejected=1)

        assert catalog.push.replay(ROUTE, T0) == 1
        assert catalog.push.replay(ROUTE, T0) == 0
        assert catalog.push.tally(ROUTE) == counted(catalog, 0) == PushTally(pending=1)
        assert taken(catalog).changes == batch.changes

    def test_verdicts_of_one_batch_are_acted_on_together(self, catalog: Catalog) -> None:
        catalog.push.enqueue(ROUTE, [change(row) for row in (1, 2, 3, 4)], T0)
        batch = taken(catalog)
        verdicts = dict(zip((1, 2, 3, 4), Verdict, strict=True))

        catalog.push.settle(
            batch, {each.key: Answer(verdict=verdicts[each.key.row]) for each in batch.changes}, T0
        )

        assert catalog.push.tally(ROUTE) == PushTally(delivered=2, pending=1, rejected=1)
        assert catalog.push.tally(ROUTE) == counted(catalog, 2)
        assert rows(queued(catalog, PushState.PENDING)) == [3]
        assert rows(queued(catalog, PushState.REJECTED)) == [4]

    def test_every_change_of_a_batch_needs_an_answer(self, catalog: Catalog) -> None:
        catalog.push.enqueue(ROUTE, [change(1), change(2)], T0)
        batch = taken(catalog)

        with pytest.raises(AnswerMissing):
            catalog.push.settle(batch, {change(1).key: Answer(verdict=Verdict.OK)}, T0)

        assert catalog.push.tally(ROUTE) == counted(catalog, 0) == PushTally(in_flight=2)
        assert not catalog.push.was_delivered(ROUTE, change(1))

    def test_the_same_batch_twice_is_one(self, catalog: Catalog) -> None:
        catalog.push.enqueue(ROUTE, [change(1), change(2)], T0)
        batch = taken(catalog)
        catalog.push.settle(batch, answers(batch, Verdict.ERROR), T0)
        taken(catalog, node=BEN)

        catalog.push.settle(batch, answers(batch), T0)

        assert catalog.push.tally(ROUTE) == counted(catalog, 0) == PushTally(in_flight=2)

    def test_a_newer_change_queued_while_one_is_on_its_way_is_not_lost(self, catalog: Catalog) -> None:
        catalog.push.enqueue(ROUTE, [change(1)], T0)
        batch = taken(catalog)
        newer = change(1, snapshot=2)
        assert catalog.push.enqueue(ROUTE, [newer], T0) == 1

        catalog.push.settle(batch, answers(batch), T0)

        assert catalog.push.was_delivered(ROUTE, change(1))
        assert taken(catalog).changes == (newer,)

    def test_changes_come_by_row_and_type_page_by_page(self, catalog: Catalog) -> None:
        catalog.push.enqueue(ROUTE, [change(row, kind) for row in (10, 9, -1) for kind in (POST, PRE)], T0)

        pages, after = [], None
        while page := catalog.push.page(ROUTE, PushState.PENDING, after=after, limit=4):
            pages.append([each.change.key for each in page])
            after = page[-1].change.key

        assert [len(page) for page in pages] == [4, 2]
        assert [key for page in pages for key in page] == [
            ChangeKey(row, kind) for row in (-1, 9, 10) for kind in (POST, PRE)
        ]

    def test_many_who_claim_at_once_share_the_changes_without_a_double(
        self, catalog: Catalog, opener: Opener
    ) -> None:
        catalog.push.enqueue(ROUTE, [change(row) for row in range(24)], T0)
        with opener.open() as other:
            handles = (catalog, other)
            batches = at_once(lambda n: taken(handles[n % 2], limit=3))

        assert sorted(row for batch in batches for row in rows(batch.changes)) == list(range(24))
        assert catalog.push.tally(ROUTE) == PushTally(in_flight=24)
